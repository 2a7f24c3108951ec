"""Statements whose query plans are tested, and the rows that fill the tables for it."""

import json
from typing import Any
from uuid import UUID

from duetime.model.act import Act
from duetime.model.actions.action import NewAction
from duetime.model.actions.action_key import ActionKey
from duetime.model.actions.claim import ClaimOrder, Fence, LaneSpan, WorkerInfo
from duetime.model.actions.completion import Completion, Finish, Reschedule
from duetime.model.audit import AuditFilter
from duetime.model.health.figures import MINUTE, FigureFilter
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow, Mode, Pipeline, Statement, Steps
from duetime.store.sql.flows.claims import worker_params
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.store.sql.statements.bulk_rows import json_param

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
    "audit": """
        INSERT INTO duetime_audit (id, at, "by", verb, subject, subject_id, before, after)
        SELECT {id}, i, 'u' || i % 10, 'cancel', 'action', 's' || i % 5000, '{{}}', '{{}}'
        FROM {series}
    """,
    "figures": """
        INSERT INTO duetime_figures (minute, queue, kind, tenant, outcome, lateness, duration, runs)
        SELECT CAST(i / 50 AS bigint) * 60000000, 'q', 'kind' || i % 50, 't' || i % 7, 'succeeded',
               1000, 1000, 1
        FROM {series}
        WHERE true
        ON CONFLICT DO NOTHING
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


TIMELINE = {"since": 0, "until": ROWS, "examined": 100, "limit": 100, "tenant": "t"}
LANES_SINCE = json_param({"lane": f"1.{shard}.q", "since": 0} for shard in range(8))
PARENTS = [UUID(int=i) for i in range(100)]


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
        "find an id": (
            store.find_id(ActionKey("kind3", "k7", "any"), None),
            {"actions_key", "history_kind", "history_key"},
        ),
        "find an unfinished id": (
            store.find_id(ActionKey("kind3", "k7", "unfinished"), "t"),
            {"actions_key"},
        ),
        "find a failed id": (
            store.find_id(ActionKey("kind3", "k7", "failed"), ANY),
            {"history_kind", "history_key", "history_state"},
        ),
        "cancel": (store.cancel(ONE, ANY, Act("me"), running=False), {"actions_pkey"}),
        "cancel expired": (store.cancel_expired([ONE]), {"actions_pkey"}),
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
        **audit_flows(store),
        **figure_flows(store),
    }


def audit_flows(store: PostgresStore | SqliteStore) -> dict[str, tuple[Flow[Any], set[str]]]:
    filters = {
        "audit": (AuditFilter(), "audit_at"),
        "audit a page": (AuditFilter(follows=(NOW, ONE)), "audit_at"),
        "audit since": (AuditFilter(since=NOW, before=NOW + 1), "audit_at"),
        "audit a subject": (AuditFilter(subject_id="s7"), "audit_subject"),
    }
    return {name: (store.audit(wanted), {index}) for name, (wanted, index) in filters.items()}


def figure_flows(store: PostgresStore | SqliteStore) -> dict[str, tuple[Flow[Any], set[str]]]:
    of_tenant = FigureFilter(since=0, until=60 * MINUTE, step=MINUTE, tenant="t1")
    by_kind = FigureFilter(since=0, until=60 * MINUTE, step=MINUTE, by="kind")
    return {
        "sum figures": (store.figures(of_tenant), {"figures_pkey"}),
        "sum figures by kind": (store.figures(by_kind), {"figures_pkey"}),
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
            {
                "actions_due",
                "actions_after",
                "actions_pkey",
                "jobs_due",
                "notifier_pkey",
                "events_pkey",
            },
        ),
        "timeline of finished": (
            Statement("timeline_finished", {"state": "succeeded"} | TIMELINE),
            {"history_state"},
        ),
        "timeline of unfinished": (
            Statement("timeline_unfinished", {"rows": LANES_SINCE} | TIMELINE),
            {"actions_due", "actions_pkey"},
        ),
        "figures of the rest": (
            Statement("figures_rest", {"since": 0, "until": 60 * MINUTE}),
            {"figures_pkey"},
        ),
        "settle each": (Statement("settle", {"rows": settled}), {"actions_pkey"}),
        "traceback": (Statement("traceback", {"id": str(ONE)}), {"tracebacks_pkey"}),
        "find parents": (
            Statement("stored_tenants", {"ids": ids, "names": json_param(["acme"])}),
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
