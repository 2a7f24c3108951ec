"""The worker's verbs, for all SQL stores: claim, complete, renew, sweep, prune."""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, cast
from uuid import UUID

from duetime.errors import LeaseLost
from duetime.model.actions.claim import (
    Claimed,
    ClaimOrder,
    Expired,
    Fence,
    RenewResult,
    SweepResult,
    WorkerInfo,
)
from duetime.model.actions.completion import Completion, CompletionResult, Finish, Reschedule
from duetime.model.bulk import BULK_RETENTION
from duetime.model.clock import monotonic
from duetime.model.health.worker import health_to_text, slots_to_text
from duetime.model.jobs.change import JobUpdate
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Row, Rows, Statement, Steps, flow, wake
from duetime.store.sql.flows import records
from duetime.store.sql.flows.records import NO_LOCKED_JOBS, LockedJobs
from duetime.store.sql.statements import bulk_rows
from duetime.store.sql.statements.bulk_rows import json_param

# Each sweep checks the leases of this many actions at the front of each lane. The planner's
# estimate must stay low: above a cost of 100,000 the server would JIT-compile the statement.
LANE_FRONT_SIZE = 100
# After a scan of all leases, pause this many times its duration: it takes two percent of a
# worker's time.
FULL_SCAN_PAUSE_FACTOR = 50

# Each sweep checks the parents of this many waiting children.
CHILD_WINDOW_SIZE = 2000
LOWEST_ID = UUID(int=0)

# The columns by which the rows of `claim.sql` are sorted.
TURN_AND_DUE = itemgetter(1, 10)

# A worker that was not seen for an hour is gone: workers send a heartbeat every few seconds.
WORKER_RETENTION_MICROS = 3_600_000_000


class ClaimFlows(Store, ABC):
    """Flows of the worker's verbs.

    They are written for a dialect that can change rows inside a WITH clause. SQLite cannot:
    `sqlite/flows.py` overrides those that need it.
    """

    _next_full_scan = 0.0
    _child_cursor = LOWEST_ID

    @flow(Mode.claim)
    def claim(self, order: ClaimOrder) -> Steps[Claimed]:
        spans = [
            {"turn": turn, "lane": span.lane, "since": span.since, "ahead": span.ahead}
            for turn, span in enumerate(order.spans)
        ]
        params = claim_params(order) | {"rows": json_param(spans), "tokens": token_prefix()}
        found = yield Statement("claim", params)
        # UPDATE returns its rows in any order, so each row has its turn and due time.
        claimed: list[Any] = sorted(found, key=TURN_AND_DUE)
        # The clock is in each row: a separate result for it took a sixth of the time.
        now = claimed[0][0] if claimed else (yield from clock())
        return Claimed(now, records.claims(claimed))

    def complete(
        self,
        completions: Sequence[Completion],
        *,
        rescuing: bool = False,
        skip_busy_jobs: bool = False,
    ) -> Flow[CompletionResult]:
        # The first completion of a run counts, also within a call.
        by_token = {completion.token.int: completion for completion in reversed(completions)}
        unique = [*reversed(by_token.values())]
        finishes = [completion for completion in unique if isinstance(completion, Finish)]
        reschedules = [completion for completion in unique if isinstance(completion, Reschedule)]
        job_finishes = [completion for completion in finishes if completion.job is not None]
        failures = [completion for completion in unique if completion.traceback is not None]
        several = job_finishes or (finishes and reschedules) or failures
        mode = Mode.pinned if several else Mode.hot

        def steps() -> Steps[CompletionResult]:
            # Jobs first: all flows that change a job lock it before its occurrences.
            jobs = NO_LOCKED_JOBS
            if job_finishes:
                jobs = yield from self._lock_jobs(job_finishes, skip_busy_jobs)
            busy = {finish.id for finish in job_finishes if finish.job in jobs.busy}
            free = [finish for finish in finishes if finish.id not in busy] if busy else finishes
            result = yield from self._complete_all(free, reschedules, rescuing)
            stored = [finish for finish in job_finishes if finish.id in result.applied]
            yield from _keep_tracebacks([end for end in failures if end.id in result.applied])
            ends = (yield from self._finish_jobs(stored, jobs)) if stored else []
            result = replace(result, jobs=ends, busy=busy)
            if rescuing or len(result.applied) + len(busy) == len(completions):
                return result
            known = result.applied | busy
            earlier = yield from _applied_earlier([c for c in completions if c.id not in known])
            # The lost reply said whether children wait for these: assume that some do.
            return replace(
                result,
                applied=result.applied | earlier,
                parents=result.parents | earlier,
                replayed_jobs=jobs.replayed_ends(f for f in job_finishes if f.id in earlier),
                applied_earlier=earlier,
            )

        return Flow(steps, mode, resend=True)

    def _complete_all(
        self, finishes: Sequence[Finish], reschedules: Sequence[Reschedule], rescuing: bool
    ) -> Steps[CompletionResult]:
        result = CompletionResult(set(), set())
        if finishes:
            result = yield from self._finish(finishes, rescuing)
        if reschedules:
            moved = yield from self._reschedule(reschedules, rescuing)
            result.applied.update(_applied_ids(reschedules, moved))
            due = [cast("tuple[str, int]", row[1:3]) for row in moved]
            yield from wake(due, cast("int", moved[0][3]) if moved else 0)
        return result

    @abstractmethod
    def _lock_jobs(self, finishes: Sequence[Finish], skip_busy_jobs: bool) -> Steps[LockedJobs]: ...

    @abstractmethod
    def _finish_jobs(
        self, finishes: Sequence[Finish], jobs: LockedJobs
    ) -> Steps[list[JobUpdate]]: ...

    def _finish(self, finishes: Sequence[Finish], rescuing: bool) -> Steps[CompletionResult]:
        params = bulk_rows.completion_params(finishes) | {"rescuing": rescuing or None}
        found = yield Statement("finish", params | {"limit": len(finishes)})
        ((count, applied, parents),) = cast("Any", found)
        # Nearly always all of them; then the statement returns no list of ids.
        if count == len(finishes):
            finished = {finish.id for finish in finishes}
        else:
            finished = records.parse_id_array(applied)
        return CompletionResult(finished, records.parse_id_array(parents))

    def _reschedule(self, reschedules: Sequence[Reschedule], rescuing: bool) -> Steps[Rows]:
        params = bulk_rows.completion_params(reschedules) | {"rescuing": rescuing or None}
        return (yield Statement("requeue", params))

    @flow(Mode.pinned)
    def took_effect(self, completion: Completion) -> Steps[bool]:
        # A transaction that may still apply the completion locks the row: wait for it.
        yield Statement("lock", {"id": str(completion.id)})
        return completion.id in (yield from _applied_earlier([completion]))

    def renew(self, fences: Sequence[Fence], lease: int) -> Flow[RenewResult]:
        return Flow(lambda: self._renew(fences, lease), Mode.hot, resend=True)

    def _renew(self, fences: Sequence[Fence], lease: int) -> Steps[RenewResult]:
        params = {"leases": bulk_rows.fence_rows(fences), "lease": lease}
        found = cast("Any", (yield Statement("renew", params)))
        known = [row[1:] for row in found if row[1] is not None]
        kept = {UUID(action_id): stop_by for action_id, ours, stop_by in known if ours}
        lost = frozenset(UUID(action_id) for action_id, ours, _ in known if not ours)
        return RenewResult(found[0][0], kept, lost)

    @flow(Mode.single, resend=True)
    def progress(self, fence: Fence, progress: str) -> Steps[None]:
        params = {"id": str(fence.id), "token": str(fence.token), "progress": progress}
        if not (yield Statement("progress", params)):
            raise LeaseLost(fence.id)

    @flow(Mode.read)
    def look_ahead(self, app: str | None = None) -> Steps[SweepResult]:
        (row,) = yield Statement("look_ahead", {"app": app})
        next_tick = None if app is None else cast("int | None", row[6])
        return replace(records.sweep_result(row, row[5]), next_tick=next_tick)

    @flow(Mode.read)
    def look_ahead_from(self, since: Mapping[str, int]) -> Steps[SweepResult]:
        lanes = json_param({"lane": lane, "since": time} for lane, time in since.items())
        found = cast("Any", (yield Statement("look_ahead_from", {"rows": lanes})))
        heads = records.lane_heads(row[2:] for row in found)
        return SweepResult(found[0][0], heads, [], paused=records.paused_queues(found[0][1]))

    @flow(Mode.single, resend=True)
    def sweep(self, worker: WorkerInfo, ahead: int, limit: int) -> Steps[SweepResult]:
        limits = {"ahead": ahead, "limit": limit}
        params = worker_params(worker) | self._ping() | limits | {"front": LANE_FRONT_SIZE}
        (row,) = yield Statement("sweep", params | self._child_window())
        result = self._sweep_result(row, worker)
        if row[3] and monotonic() >= self._next_full_scan:
            result = replace(result, expired=(yield from self._scan_expired(limits)))
        return result

    def _child_window(self) -> dict[str, object]:
        """Parameters for the next window of waiting children whose parents a sweep checks; after
        the last window, the first follows again."""
        return {"beyond": str(self._child_cursor), "window": CHILD_WINDOW_SIZE}

    def _sweep_result(self, row: Row, worker: WorkerInfo) -> SweepResult:
        last = cast("str | None", row[5])
        self._child_cursor = LOWEST_ID if last is None else UUID(last)
        next_tick, known, younger, older, paused, version, events = cast("Any", row)[6:13]
        return replace(
            records.sweep_result(row, paused),
            next_tick=next_tick,
            known=known or not worker.registered,
            youngest=not younger,
            oldest=not older,
            subscriptions_version=version,
            events_wait=bool(events),
        )

    def _scan_expired(self, limits: Mapping[str, object]) -> Steps[list[Expired]]:
        """Read expired leases of all actions.

        Running actions are usually at the front of their lanes, where claims begin. But many
        actions that are scheduled for a time in the past come before them.
        """
        before = monotonic()
        found = yield Statement("expired_leases", limits)
        if len(found) < cast("int", limits["limit"]):
            self._next_full_scan = monotonic() + FULL_SCAN_PAUSE_FACTOR * (monotonic() - before)
        return [records.expired_lease(row) for row in found]

    def _ping(self) -> dict[str, object]:
        """Parameters of a notification that the sweep sends to test our own listener."""
        return {}

    @flow(Mode.single)
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> Steps[int]:
        params = {"keep": keep, "keep_failed": keep_failed, "limit": limit}
        fixed = {"keep_worker": WORKER_RETENTION_MICROS, "keep_bulk": BULK_RETENTION}
        ((count,),) = yield Statement("prune", params | fixed)
        return cast("int", count)

    @flow(Mode.single, resend=True)
    def unregister(self, worker: str) -> Steps[None]:
        yield Statement("worker_unregister", {"worker": worker})


def clock() -> Steps[int]:
    """Read the store's clock, where no row contains it."""
    ((now,),) = yield Statement("clock", {})
    return cast("int", now)


def token_prefix() -> str:
    """Return the first 20 digits of a claim's tokens: random, in the form of a UUID of version 8.

    The server appends a number to them: generating each token took a fifth of the claim's time.
    """
    digits = secrets.token_hex(10)
    return f"{digits[:12]}8{digits[13:16]}8{digits[17:]}"


def claim_params(order: ClaimOrder) -> dict[str, object]:
    excluded = json_param(sorted(order.excluded_tenants)) if order.excluded_tenants else None
    return {
        "worker": order.worker,
        "limit": order.limit,
        "lease": order.lease,
        "apart": excluded,
        "ids": None if order.only is None else json_param(order.only),
    }


def _keep_tracebacks(failures: Sequence[Completion]) -> Steps[None]:
    if failures:
        yield Statement("keep_tracebacks", {"rows": bulk_rows.traceback_rows(failures)})


def _applied_earlier(missing: Sequence[Completion]) -> Steps[set[UUID]]:
    """Return the ids of completions that took effect earlier."""
    if not missing:
        return set()
    return _ids((yield Statement("applied_completions", bulk_rows.applied_params(missing))))


def _applied_ids(sent: Sequence[Completion], moved: Rows) -> set[UUID]:
    """Return the ids of completions that were applied: nearly always all, then `moved` is not
    read row by row."""
    return {completion.id for completion in sent} if len(moved) == len(sent) else _ids(moved)


def _ids(found: Rows) -> set[UUID]:
    return {records.as_uuid(cast("UUID | str", row[0])) for row in found}


def worker_params(worker: WorkerInfo) -> dict[str, object]:
    """Return the parameters of a worker's row. Kinds and jobs are sent only when the worker
    registers: ten thousand jobs are a megabyte."""
    new = not worker.registered
    return {
        "worker": worker.id,
        "app": worker.app,
        "host": worker.host,
        "pid": worker.pid,
        "kinds": json.dumps(list(worker.kinds) if new else []),
        "jobs": json.dumps(list(worker.jobs) if new else []),
        "introducing": new or None,
        "alive": worker.alive,
        "queues": json.dumps(list(worker.queues)),
        "concurrency": worker.concurrency,
        "health": health_to_text(worker.health),
        "code_version": worker.version,
        "slots": slots_to_text(worker.pools),
    }
