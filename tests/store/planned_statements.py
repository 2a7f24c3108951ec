"""Statements whose query plans are tested, and the rows that fill the tables for it."""

import json
from typing import Any
from uuid import UUID

from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import ClaimOrder, Fence, LaneSpan, WorkerInfo
from duetime.model.actions.completion import Completion, Finish, Reschedule
from duetime.model.filter import Filter
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow, Mode, Pipeline, Statement, Steps
from duetime.store.sql.flows.claims import worker_params
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore

ROWS = 50_000
NOW = 2_000_000_000_000_000
ONE = UUID(int=1 << 100)

FILL = {
    "actions": """
        INSERT INTO duetime_actions (id, due_at, created_at, version, priority, kind, lane, queue,
                                     correlation_id, key, created_by, payload)
        SELECT {id}, i, 0, 1, 1, 'kind' || i % 10, '1.' || i % 8 || '.q', 'q', 'c' || i % 5000,
               'k' || i, 'me', '{{}}'
        FROM {series}
    """,
    "children": """
        INSERT INTO duetime_actions (id, created_at, version, priority, kind, queue, after,
                                     after_on, after_delay, created_by, payload)
        SELECT {id}, 0, 1, 1, 'kind' || i % 10, 'q', {id}, 'succeeded', 0, 'me', '{{}}'
        FROM {series}
        WHERE i % 10 = 0
    """,
    "history": """
        INSERT INTO duetime_history (id, due_at, finished_at, created_at, version, attempt,
                                     base_attempt, priority, losses, kind, state, queue,
                                     correlation_id, created_by, payload)
        SELECT {id}, i, i, 0, 1, 1, 0, 1, 0, 'kind' || i % 10,
               CASE WHEN i % 100 = 0 THEN 'failed' ELSE 'succeeded' END, 'q', 'c' || i % 5000,
               'me', '{{}}'
        FROM {series}
    """,
}


def finishes(count: int) -> list[Finish]:
    return [
        Finish(id=UUID(int=i), token=ONE, state=State.succeeded, outcome=Outcome.succeeded)
        for i in range(count)
    ]


def reschedules(count: int) -> list[Completion]:
    return [Reschedule(id=UUID(int=i), token=ONE, outcome=Outcome.retried) for i in range(count)]


def news(count: int) -> list[NewAction]:
    fields = ("mail", 1, "{}", "q", 1, None, None, None, "1.0.q", None, 0, "me")
    return [NewAction(UUID(int=i), *fields) for i in range(count)]


PARENTS = [UUID(int=i) for i in range(100)]
FINDS: dict[str, tuple[Filter, set[str]]] = {
    "find": (Filter(), {"actions_pkey", "history_pkey"}),
    "find failed": (Filter(state=State.failed), {"history_state", "history_pkey"}),
    "find scheduled": (Filter(state=State.scheduled), {"actions_pkey"}),
    "find a kind": (Filter(kind="kind3"), {"actions_pkey", "history_kind", "history_pkey"}),
    "find a correlation": (
        Filter(correlation_id="c7"),
        {"actions_correlation", "history_correlation"},
    ),
    "find a page": (Filter(before=ONE), {"actions_pkey", "history_pkey"}),
}


def flows(store: PostgresStore | SqliteStore) -> dict[str, tuple[Flow[Any], set[str]]]:
    """Verbs by name, and the indexes that their first statements may use."""
    spans = [LaneSpan(f"1.{shard}.q", 0, 0) for shard in range(8)]
    fences = [Fence(UUID(int=i), ONE) for i in range(100)]
    return {
        "claim": (
            store.claim(ClaimOrder("w", spans, 500, 1)),
            {"actions_due", "actions_pkey"},
        ),
        "add": (store.add(news(500), "return"), {"history_pkey"}),
        "add one": (store.add(news(1), "return"), {"history_pkey"}),
        "finish": (store.complete(finishes(500)), {"actions_pkey", "actions_after"}),
        "finish one": (store.complete(finishes(1)), {"actions_pkey", "actions_after"}),
        "reschedule": (store.complete(reschedules(500)), {"actions_pkey"}),
        "renew": (store.renew(fences, 1), {"actions_pkey"}),
        "get": (store.get(ONE, ANY), {"actions_pkey", "history_pkey"}),
        "cancel": (store.cancel(ONE, ANY, "me", running=False), {"actions_pkey"}),
        "progress": (store.progress(fences[0], "1"), {"actions_pkey"}),
        "look ahead": (store.look_ahead(), {"actions_due"}),
        "look ahead from": (
            store.look_ahead_from({span.lane: 0 for span in spans}),
            {"actions_due"},
        ),
        "settle": (store.settle(PARENTS, 500), {"actions_after", "actions_pkey", "history_pkey"}),
        **{
            name: (flow_of(statement), indexes)
            for name, (statement, indexes) in later_statements().items()
        },
        **{name: (store.find(wanted), indexes) for name, (wanted, indexes) in FINDS.items()},
    }


def later_statements() -> dict[str, tuple[Statement, set[str]]]:
    """Return statements that verbs send after their first."""
    ids = json.dumps([str(parent) for parent in PARENTS])
    settled = json.dumps([{"settled_id": str(parent)} for parent in PARENTS])
    sweeping = {
        **worker_params(WorkerInfo("w", "a", "h", 1, [], [], 1)),
        "ahead": 0,
        "limit": 500,
        "front": 100,
        "beyond": str(ONE),
        "window": 2000,
        "known": True,
        "started_at": 0,
    }
    return {
        "sweep": (
            Statement("sweep", sweeping),
            {"actions_due", "actions_after", "actions_pkey", "jobs_due"},
        ),
        "settle each": (Statement("settle", {"rows": settled}), {"actions_pkey"}),
        "find parents": (
            Statement("stored_tenants", {"ids": ids}),
            {"actions_pkey", "history_pkey"},
        ),
        "find cycles": (
            Statement("ancestors", {"after": str(ONE)}),
            # Few actions wait, beside the others.
            {"actions_pkey", "actions_after"},
        ),
    }


def flow_of(statement: Statement) -> Flow[Any]:
    def steps() -> Steps[None]:
        yield statement

    return Flow(steps, Mode.write)


COUNTING = {"limit": 1000, "tenant": "t"}
NAMES = [*flows(SqliteStore("never-opened"))]


def first_statement(flow: Flow[Any]) -> Statement:
    """Return the first statement of a flow, apart from reading the clock."""
    steps = flow.start()
    step = next(steps)
    if isinstance(step, Statement) and step.name == "clock":
        step = steps.send([(NOW,)])
    if isinstance(step, Pipeline):
        step = next(iter(step.statements))
    assert isinstance(step, Statement)
    return step
