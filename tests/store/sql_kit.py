"""What the tests of the PostgreSQL store share: actions, strangers, accidents."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from uuid import UUID

import psycopg

from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import Claim, ClaimOrder, Span
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
    """A connection of somebody else."""
    with closing(psycopg.connect(url, autocommit=True, connect_timeout=5)) as connection:
        yield connection


def new(**changes: object) -> NewAction:
    given = {
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
    return NewAction(**{**given, **changes})  # type: ignore[arg-type]


def fresh(count: int, **changes: object) -> NewActions:
    """As many as a client makes for one call, with ids that were made together."""
    several = NewActions.of([new(**changes) for _ in range(count)])
    return NewActions({**several.columns, "id": ids.many(count)}, fresh=True)


async def add(store: PostgresStore, count: int = 1) -> list[UUID]:
    added = await store.perform(store.add([new() for _ in range(count)], "return"))
    return [one.record.id for one in added]


async def find(store: PostgresStore) -> int:
    found = await store.perform(store.find(Filter()))
    return len(found)


async def claim(store: PostgresStore, limit: int = 100) -> Sequence[Claim]:
    order = ClaimOrder(WORKER, [Span(LANE, 0, 0)], limit, 60_000_000)
    return (await store.perform(store.claim(order))).claims


def finish(one: Claim, **changes: object) -> Finish:
    given = {"state": State.succeeded, "outcome": Outcome.succeeded, **changes}
    return Finish(id=one.id, token=one.token, **given)  # type: ignore[arg-type]


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
    """Every process of the server stands still, as on a machine that swaps or lost its disk."""
    family = [server.pid, *_children(server.pid)]
    _signal(family, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(family, signal.SIGCONT)


def _signal(family: Sequence[int], number: signal.Signals) -> None:
    for pid in family:
        with suppress(ProcessLookupError):  # some of them come and go
            os.kill(pid, number)


def _children(parent: int) -> list[int]:
    with open(f"/proc/{parent}/task/{parent}/children") as listed:
        return [int(pid) for pid in listed.read().split()]
