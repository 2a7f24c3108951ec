"""Flows for which SQLite needs several statements and PostgreSQL one."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, cast
from uuid import UUID

from pydantic_core import from_json

from duetime.model.actions.claim import (
    Claim,
    Claimed,
    ClaimOrder,
    Fence,
    RenewResult,
    SweepResult,
    WorkerInfo,
)
from duetime.model.actions.completion import CompletionResult, Finish, Reschedule
from duetime.model.actions.new_actions import InsertedBatch, NewActions
from duetime.model.bulk import BULK_RETENTION
from duetime.store.flow import Mode, Rows, Statement, Steps, flow
from duetime.store.sql.flows import records
from duetime.store.sql.flows.add import insert_checked
from duetime.store.sql.flows.claims import (
    WORKER_RETENTION_MICROS,
    claim_params,
    clock,
    token_prefix,
    worker_params,
)
from duetime.store.sql.flows.sql_store import SqlStore
from duetime.store.sql.statements import bulk_rows
from duetime.store.sql.statements.access import LATE_INDEXES
from duetime.store.sql.statements.bulk_rows import json_param

# Columns of `claim_candidates.sql`.
ROWID_COLUMN, PAYLOAD_COLUMN = 0, 4
# The column of `sweep.sql` after those that all dialects return.
DAMAGED_TIME_COLUMN = 13
BY_DUE = itemgetter(8)


class SqliteFlows(SqlStore, ABC):
    """Overrides for SQLite, which cannot change rows inside a WITH clause, and has no lateral
    joins."""

    @flow(Mode.claim)
    def claim(self, order: ClaimOrder) -> Steps[Claimed]:
        tokens = token_prefix()
        params = claim_params(order) | {"tokens": _dashed(tokens)}
        claims: list[Claim] = []
        now: int | None = None
        for span in order.spans:
            if len(claims) >= order.limit:
                break
            where = {"lane": span.lane, "since": span.since, "ahead": span.ahead}
            limit = {"limit": order.limit - len(claims)}
            now, due = yield from _candidates(params | where | limit)
            if due:
                rowids = json_param(row[ROWID_COLUMN] for row in due)
                yield Statement("claim", params | {"places": rowids})
                claims += records.numbered_claims(tokens, due)
        return Claimed((yield from clock()) if now is None else now, claims)

    def _ready_indexes(self) -> Steps[frozenset[str]]:
        """Return all: here, migrations build them."""
        return LATE_INDEXES
        yield  # makes this function a generator

    def _insert_fresh(self, new: NewActions) -> Steps[InsertedBatch]:
        return insert_checked(new)

    def _finish(self, finishes: Sequence[Finish], rescuing: bool) -> Steps[CompletionResult]:
        params = bulk_rows.completion_params(finishes) | {"rescuing": rescuing or None}
        yield Statement("finish_history", params)
        ((count, waiting),) = cast("Any", (yield Statement("finish_count", params)))
        if count == len(finishes):
            yield Statement("finish", params)
            applied = {finish.id for finish in finishes}
        else:
            deleted = cast("Any", (yield Statement("finish", params | {"some": True})))
            applied = {UUID(action_id) for (action_id,) in deleted}
        if not waiting:
            return CompletionResult(applied, set())
        found = cast("Any", (yield Statement("awaited_parents", {"ids": json_param(applied)})))
        return CompletionResult(applied, {UUID(parent) for (parent,) in found})

    def _reschedule(self, reschedules: Sequence[Reschedule], rescuing: bool) -> Steps[Rows]:
        params = bulk_rows.completion_params(reschedules) | {"rescuing": rescuing or None}
        yield Statement("requeue_runs", params)
        return (yield Statement("requeue", params))

    def _renew(self, fences: Sequence[Fence], lease: int) -> Steps[RenewResult]:
        now = yield from clock()
        params = {"leases": bulk_rows.fence_rows(fences), "lease": lease, "now": now}
        found = cast("Any", (yield Statement("renew", params)))
        renewed = {UUID(action_id): stop_by for action_id, stop_by in found}
        # The write lock excludes other holders of a row, so a lease that was not renewed is lost.
        return RenewResult(now, renewed, frozenset(fence.id for fence in fences) - renewed.keys())

    @flow(resend=True)
    def sweep(self, worker: WorkerInfo, ahead: int, limit: int) -> Steps[SweepResult]:
        now = yield from clock()
        info = worker_params(worker)
        name = "worker_heartbeat" if worker.registered else "worker_register"
        stored = yield Statement(name, info | {"now": now})
        since = {"known": bool(stored), "started_at": stored[0][0] if stored else 0}
        params = {"ahead": ahead, "limit": limit, "now": now}
        (row,) = yield Statement("sweep", info | params | since | self._child_window())
        if row[DAMAGED_TIME_COLUMN]:
            raise TypeError("lease_until or due_at holds a value that is not an integer")
        return self._sweep_result(row, worker)

    @flow()
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> Steps[int]:
        params = {"keep": keep, "keep_failed": keep_failed, "limit": limit}
        deleted = yield Statement("prune", params)
        if deleted:
            ids = {"ids": json_param(row[0] for row in deleted)}
            yield Statement("prune_runs", ids)
            yield Statement("prune_tracebacks", ids)
        yield Statement("prune_lost_tracebacks", params)
        yield Statement("prune_workers", {"keep_worker": WORKER_RETENTION_MICROS})
        yield Statement("prune_ticks", params)
        yield Statement("prune_bulks", {"keep_bulk": BULK_RETENTION})
        return len(deleted)


def _candidates(params: Mapping[str, object]) -> Steps[tuple[int, list[list[Any]]]]:
    """Return the store's clock, and rows of `claim_candidates.sql` sorted by due time."""
    ((now, found),) = cast("Any", (yield Statement("claim_candidates", params)))
    due = sorted(from_json(found), key=BY_DUE)
    long = [row[ROWID_COLUMN] for row in due if row[PAYLOAD_COLUMN] is None]
    if long:
        found = yield Statement("long_payloads", {"places": json_param(long)})
        payloads = dict(cast("Any", found))
        for row in due:
            row[PAYLOAD_COLUMN] = payloads.get(row[ROWID_COLUMN], row[PAYLOAD_COLUMN])
    return now, due


def _dashed(digits: str) -> str:
    """Return the beginning of a UUID in the text form that SQLite stores."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:]}-"
