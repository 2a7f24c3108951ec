"""Helpers for tests of the PostgreSQL store: actions, other sessions, faults."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from uuid import UUID

import psycopg

from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import Claim, ClaimOrder, LaneSpan
from duetime.model.actions.completion import Finish
from duetime.model.actions.new_actions import NewActions
from duetime.model.filter import Filter
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.store.sql.postgres.pools import Connection
from duetime.store.sql.postgres.store import PostgresStore
from servers import OwnServer

LANE = lane_of("q", 1, None)
WORKER = "host-3f2a.example.internal:12345:9c1f"
ids = TimeOrderedIds()


@contextmanager
def another(url: str) -> Iterator[Connection]:
    """Open a connection that does not belong to the store."""
    with closing(psycopg.connect(url, autocommit=True, connect_timeout=5)) as connection:
        yield connection


def new(**changes: object) -> NewAction:
    defaults = {
        "id": ids(),
        "kind": "mail",
        "version": 1,
        "payload": "{}",
        "queue": "q",
        "priority": 1,
        "tenant": None,
        "correlation_id": None,
        "key": None,
        "lane": LANE,
        "due_at": None,
        "delay": 0,
        "by": "me",
    }
    return NewAction(**{**defaults, **changes})  # type: ignore[arg-type]


def fresh(count: int, **changes: object) -> NewActions:
    """Return actions as a client makes them for a call, with ids from one batch."""
    listed = NewActions.of([new(**changes) for _ in range(count)])
    return NewActions({**listed.columns, "id": ids.batch(count)}, fresh=True)


async def add(store: PostgresStore, count: int = 1) -> list[UUID]:
    added = await store.perform(store.add([new() for _ in range(count)], "return"))
    return [action.record.id for action in added]


async def find(store: PostgresStore) -> int:
    found = await store.perform(store.find(Filter()))
    return len(found)


async def claim(store: PostgresStore, limit: int = 100) -> Sequence[Claim]:
    order = ClaimOrder(WORKER, [LaneSpan(LANE, 0, 0)], limit, 60_000_000)
    return (await store.perform(store.claim(order))).claims


def finish(claim: Claim, **changes: object) -> Finish:
    fields = {"state": State.succeeded, "outcome": Outcome.succeeded, **changes}
    return Finish(id=claim.id, token=claim.token, **fields)  # type: ignore[arg-type]


def lock(connection: Connection, action: UUID) -> None:
    connection.execute("SELECT 1 FROM duetime_actions WHERE id = %s FOR UPDATE", (action,))


def end_others(url: str) -> None:
    with another(url) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def count_sessions(url: str, condition: str) -> int:
    with another(url) as admin:
        row = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            f"AND pid <> pg_backend_pid() AND {condition}".encode()
        ).fetchone()
    assert row is not None
    return int(row[0])


def sessions(url: str) -> int:
    return count_sessions(url, "application_name = 'duetime'")


def waiting(url: str) -> int:
    return count_sessions(url, "wait_event_type = 'Lock'")


@contextmanager
def frozen(server: OwnServer) -> Iterator[None]:
    """Stop all processes of the server, as on a machine that swaps or lost its disk."""
    pids = [server.pid, *_children(server.pid)]
    _signal(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(pids, signal.SIGCONT)


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # background processes come and go
            os.kill(pid, number)


def _children(parent: int) -> list[int]:
    with open(f"/proc/{parent}/task/{parent}/children") as listed:
        return [int(pid) for pid in listed.read().split()]
