"""The in-memory store: the executable specification of `base.py`.

Plain code under one lock. Every verb reads, checks and writes `Tables`; if it raises, `Tables`
undoes its writes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from itertools import islice
from typing import TypeVar
from uuid import UUID, uuid4

from duetime.errors import DuplicateKey, InvalidArgument, LeaseLost
from duetime.model.actions.action import (
    Added,
    AddedRecord,
    NewAction,
    Record,
    StoredRun,
    current_run,
)
from duetime.model.actions.chain import (
    CYCLE_REMEDY,
    parent_end,
    settle_child,
    would_wait_for_itself,
)
from duetime.model.actions.claim import (
    Claim,
    Claimed,
    ClaimOrder,
    Fence,
    LaneSpan,
    RenewResult,
    SweepResult,
    WorkerInfo,
)
from duetime.model.actions.completion import Completion, CompletionResult, Finish
from duetime.model.actions.new_actions import IfExists, new_record
from duetime.model.actions.state_changes import (
    audit_snapshot,
    default_lane,
    to_cancelled,
    to_replaced,
    to_rescheduled,
    to_retried,
)
from duetime.model.audit import AuditEntry
from duetime.model.clock import Clock, SystemClock, to_micros
from duetime.model.filter import Filter
from duetime.model.health.stats import StoreCounts
from duetime.model.ids import NewId, TimeOrderedIds
from duetime.model.lane import DAMAGED_LANE
from duetime.model.state import State
from duetime.model.tenant import ANY, Scope
from duetime.store.base import Listener, OnWake
from duetime.store.flow import Flow, Wake, immediate, run_in_memory
from duetime.store.listeners import Listeners
from duetime.store.memory import changes
from duetime.store.memory.jobs import MemoryJobs
from duetime.store.memory.lanes import MemoryRow
from duetime.store.memory.stats import count, living
from duetime.store.memory.tables import Tables, has_expired

T = TypeVar("T")


class MemoryStore(MemoryJobs):
    """A store whose data lives as long as this object. Threads may share it, processes cannot."""

    def __init__(
        self, *, clock: Clock | None = None, tokens: NewId = uuid4, ids: NewId | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._tokens = tokens
        self._ids = ids or TimeOrderedIds(self._clock)
        self._tables = Tables()
        self._listeners = Listeners()
        self._lock = threading.Lock()
        self._wakes: list[Wake] = []

    # -- performing ------------------------------------------------------------------

    async def perform(self, flow: Flow[T]) -> T:
        return self.perform_blocking(flow)

    def perform_blocking(self, flow: Flow[T]) -> T:
        with self._transaction() as wakes:
            result = run_in_memory(flow, wakes)
        self._listeners.notify(wakes)
        return result

    @contextmanager
    def _transaction(self) -> Iterator[list[Wake]]:
        with self._lock:
            self._wakes = []
            with self._tables.transaction():
                yield self._wakes

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: there are no connections, and the actions stay."""

    def listen(self, on_wake: OnWake) -> AbstractAsyncContextManager[Listener]:
        return self._listeners.listen(on_wake)

    # -- the client's verbs ----------------------------------------------------------

    @immediate
    def add(self, new: Sequence[NewAction], if_exists: IfExists) -> Sequence[Added]:
        now = self._now()
        for action in new:
            self._require_parent(action)
        stored = [self._add_one(action, if_exists, now) for action in new]
        # Read at the end: a later action of the same call may have replaced an earlier one.
        return [
            AddedRecord(self._tables.visible(action_id, ANY), created=action_id == action.id)
            for action, action_id in zip(new, stored, strict=True)
        ]

    def _add_one(self, new: NewAction, if_exists: IfExists, now: int) -> UUID:
        """Add one action, and return the id under which it is stored."""
        if self._tables.record(new.id) is not None:
            return new.id
        holder = self._tables.key_holder(new.tenant, new.kind, new.key)
        due_at = None if new.after else changes.due_time(new.due_at, new.delay, now)
        if holder is None:
            self._make_due(changes.to_row(new_record(new, due_at, now), new.lane))
            return new.id
        if if_exists == "raise":
            raise DuplicateKey(str(new.key), new.kind, holder.record.id)
        if if_exists == "replace":
            changes.require("replace", holder.record, State.scheduled)
            self._refuse_cycle(holder.record.id, new)
            self._make_due(changes.to_row(to_replaced(holder.record, new, due_at, now), new.lane))
        return holder.record.id

    def _require_parent(self, new: NewAction) -> None:
        """Refuse an unknown parent, except in a replay: the first sending had its parent."""
        if new.after is not None and self._tables.record(new.id) is None:
            self._tables.visible(new.after, new.tenant)

    def _refuse_cycle(self, action_id: UUID, new: NewAction) -> None:
        if new.after and would_wait_for_itself(action_id, new.after, self._tables.waits_for):
            raise InvalidArgument("after", str(new.after), CYCLE_REMEDY)

    @immediate
    def get(self, action_id: UUID, tenant: Scope) -> Record:
        return self._tables.visible(action_id, tenant)

    @immediate
    def find(self, wanted: Filter) -> list[Record]:
        before = wanted.before
        found = self._tables.matching(wanted)
        return [r for r in found if before is None or r.id < before][: wanted.limit]

    @immediate
    def runs(self, action_id: UUID, tenant: Scope) -> list[StoredRun]:
        last = current_run(self._tables.visible(action_id, tenant))
        return [*self._tables.runs.get(action_id, ()), *([last] if last else [])]

    @immediate
    def cancel(self, action_id: UUID, tenant: Scope, by: str, *, running: bool) -> Record:
        record = self._tables.visible(action_id, tenant)
        if running and record.state is State.running:
            return self._request_stop(record, by)
        allowed = (State.scheduled, State.running) if running else (State.scheduled,)
        changes.require("cancel", record, *allowed)
        return self._cancel(record, by)

    def _cancel(self, record: Record, by: str) -> Record:
        after = to_cancelled(record, by, self._now())
        self._tables.finish(after)
        self._audit_action("cancel", by, record, after)
        return after

    def _request_stop(self, record: Record, by: str) -> Record:
        row = self._tables.unfinished[record.id]
        if row.stop_by == by:
            return record
        self._tables.put(replace(row, stop_by=by))
        before, after = ({"state": record.state, "stop_by": who} for who in (row.stop_by, by))
        self._audit("cancel", by, _subject(record), record.tenant, before, after)
        return record

    @immediate
    def reschedule(
        self, action_id: UUID, tenant: Scope, by: str, *, due_at: int | None, delay: int | None
    ) -> Record:
        now = self._now()
        before = self._tables.visible(action_id, tenant)
        changes.require("reschedule", before, State.scheduled)
        due = changes.due_time(due_at, delay, now)
        after = to_rescheduled(before, due, by, now)
        self._make_due(replace(self._tables.unfinished[action_id], record=after))
        self._audit_action("reschedule", by, before, after)
        return after

    @immediate
    def retry(self, action_id: UUID, tenant: Scope, by: str) -> Record:
        record = self._tables.visible(action_id, tenant)
        changes.require("retry", record, State.failed)
        holder = self._tables.key_holder(record.tenant, record.kind, record.key)
        if holder is not None:
            raise DuplicateKey(str(record.key), record.kind, holder.record.id)
        return self._retry(record, by)

    def _retry(self, record: Record, by: str) -> Record:
        failed = current_run(record)
        if failed is not None:
            self._tables.add_run(failed)
        after = self._in_turn(to_retried(record, by, self._now()))
        row = changes.to_row(after, default_lane(after))
        self._tables.restore(row)
        self._wake(row)
        self._audit_action("retry", by, record, after)
        return after

    @immediate
    def cancel_many(self, wanted: Filter, by: str) -> list[Record]:
        found = self._tables.matching(wanted)
        return [self._cancel(r, by) for r in found if r.state is State.scheduled]

    @immediate
    def retry_many(self, wanted: Filter, by: str) -> list[Record]:
        failed = [r for r in self._tables.matching(wanted) if r.state is State.failed]
        # Checked one at a time: of two actions with the same key, only the first is retried.
        return [
            self._retry(r, by)
            for r in failed
            if self._tables.key_holder(r.tenant, r.kind, r.key) is None
        ]

    @immediate
    def audit(self, subject_id: str, limit: int) -> list[AuditEntry]:
        return [*reversed(self._tables.audit.get(subject_id, ()))][:limit]

    @immediate
    def stats(self, tenant: Scope, *, alive: int, limit: int) -> StoreCounts:
        return count(self._tables, tenant, self._now(), alive, limit)

    @immediate
    def workers(self, alive: int) -> list[tuple[WorkerInfo, int]]:
        return living(self._tables, self._now(), alive)

    # -- the worker's verbs ----------------------------------------------------------

    @immediate
    def claim(self, order: ClaimOrder) -> Claimed:
        now = self._now()
        claims: list[Claim] = []
        for span in order.spans:
            due = self._tables.lanes.due(span, now)
            free = (action_id for action_id in due if self._is_claimable(order, action_id))
            taken = list(islice(free, order.limit - len(claims)))
            claims += [self._claim_one(action_id, order, now) for action_id in taken]
        return Claimed(now, claims)

    def _is_claimable(self, order: ClaimOrder, action_id: UUID) -> bool:
        if order.only is not None and action_id not in order.only:
            return False
        return self._tables.unfinished[action_id].record.tenant not in order.excluded_tenants

    def _claim_one(self, action_id: UUID, order: ClaimOrder, now: int) -> Claim:
        row = self._tables.unfinished[action_id]
        token = self._tokens()
        record = changes.to_claimed(row.record, token, order.worker, now + order.lease, now)
        taken = replace(row, record=record)
        self._tables.put(taken)
        return changes.to_claim(taken, token)

    @immediate
    def claimable_ids(self, span: LaneSpan, limit: int) -> list[UUID]:
        return list(islice(self._tables.lanes.due(span, self._now()), limit))

    @immediate
    def fail_damaged(self, action_id: UUID, reason: str, *, without_data: bool = False) -> bool:
        row = self._claimable_row(action_id)
        if row is not None:
            failed = changes.to_failed(row.record, reason, self._now())
            dropped = replace(failed, payload="null", progress=None)
            self._tables.finish(dropped if without_data else failed)
        return row is not None

    @immediate
    def withdraw_damaged(self, action_id: UUID, reason: str) -> bool:
        row = self._claimable_row(action_id)
        if row is not None:
            withdrawn = replace(row.record, error=reason)
            self._tables.put(replace(row, record=withdrawn, lane=DAMAGED_LANE))
        return row is not None

    def _claimable_row(self, action_id: UUID) -> MemoryRow | None:
        """Return the row of a scheduled action that waits for no parent."""
        row = self._tables.unfinished.get(action_id)
        if row is None or row.record.token is not None or row.record.waits:
            return None
        return row

    @immediate
    def complete(
        self,
        completions: Sequence[Completion],
        *,
        rescuing: bool = False,
        skip_busy_jobs: bool = False,
    ) -> CompletionResult:
        now = self._now()
        replayed = [] if rescuing else [done for done in completions if self._applied_before(done)]
        replayed_jobs = self._replayed_jobs(replayed)
        fresh = [done for done in completions if self._apply(done, now, rescuing)]
        jobs, earlier = self._end_jobs(fresh), {done.id for done in replayed}
        applied = {done.id for done in fresh} | earlier
        parents = {action_id for action_id in applied if self._tables.orphans(action_id)}
        return CompletionResult(applied, parents, jobs, replayed_jobs, earlier)

    def _apply(self, completion: Completion, now: int, rescuing: bool) -> bool:
        row = self._tables.unfinished.get(completion.id)
        if row is None or row.record.token != completion.token:
            return False
        if rescuing and not has_expired(row.record, now):
            return False
        if isinstance(completion, Finish):
            self._tables.finish(changes.to_finished(row.record, completion, now))
            return True
        run = changes.completed_run(row.record, completion, now)
        if run is not None:
            self._tables.add_run(run)
        self._make_due(changes.to_rescheduled_row(row, completion, now))
        return True

    def _applied_before(self, completion: Completion) -> bool:
        """Return whether this very completion was applied before; a rescuer's does not count."""
        record = self._tables.finished.get(completion.id)
        last = current_run(record) if record else None
        runs = (*self._tables.runs.get(completion.id, ()), *([last] if last else []))
        return any(r.id == completion.token and r.outcome == completion.outcome for r in runs)

    @immediate
    def settle(self, parents: Sequence[UUID], limit: int) -> list[Record]:
        waiting = [child for parent in {*parents} for child in self._tables.orphans(parent)]
        return [self._settle_one(child) for child in sorted(waiting, key=lambda r: r.id)[:limit]]

    def _settle_one(self, child: Record) -> Record:
        parent = self._tables.finished.get(child.after) if child.after else None
        after = settle_child(child, parent_end(parent) if parent else None, self._now())
        if after.state is State.cancelled:
            self._tables.finish(after)
        else:
            self._make_due(changes.to_row(after, default_lane(after)))
        return after

    @immediate
    def renew(self, fences: Sequence[Fence], lease: int) -> RenewResult:
        now = self._now()
        renewed: dict[UUID, str | None] = {}
        for fence in fences:
            row = self._fenced_row(fence)
            if row is not None:
                self._tables.put(replace(row, record=replace(row.record, lease_until=now + lease)))
                renewed[fence.id] = row.stop_by
        lost = frozenset(fence.id for fence in fences) - renewed.keys()
        return RenewResult(now, renewed, lost)

    @immediate
    def progress(self, fence: Fence, progress: str) -> None:
        row = self._fenced_row(fence)
        if row is None:
            raise LeaseLost(fence.id)
        self._tables.put(replace(row, record=replace(row.record, progress=progress)))

    @immediate
    def look_ahead(self, app: str | None = None) -> SweepResult:
        next_tick = None if app is None else self._next_tick(app)
        return SweepResult(self._now(), self._tables.lanes.heads(), [], next_tick=next_tick)

    @immediate
    def look_ahead_from(self, since: Mapping[str, int]) -> SweepResult:
        heads = [self._tables.lanes.head(lane, time) for lane, time in since.items()]
        return SweepResult(self._now(), heads, [])

    @immediate
    def sweep(self, worker: WorkerInfo, ahead: int, limit: int) -> SweepResult:
        now = self._now()
        known = worker.id in self._tables.workers or not worker.registered
        seen = self._tables.register_worker(worker, now)
        expired = self._tables.expired(now, now + ahead)[:limit]
        gone = [changes.to_expired(r, r.token) for r in expired if r.token is not None]
        parents = [parent for parent in self._tables.parents() if self._tables.orphans(parent)]
        return SweepResult(
            now,
            self._tables.lanes.heads(),
            gone,
            parents,
            self._next_tick(worker.app),
            known,
            self._is_youngest(seen, now - worker.alive),
        )

    @immediate
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> int:
        now = self._now()
        old = self._tables.finished_before(now - keep, now - keep_failed)[:limit]
        for record in old:
            self._tables.delete_finished(record.id)
        oldest_tick = now - max(keep, keep_failed)
        for job, tick in [key for key in self._tables.ticks if key[1] < oldest_tick]:
            self._tables.delete_tick(job, tick)
        return len(old)

    @immediate
    def unregister(self, worker: str) -> None:
        self._tables.unregister_worker(worker)

    # -- steps of verbs --------------------------------------------------------------

    def _now(self) -> int:
        return to_micros(self._clock.now())

    def _fenced_row(self, fence: Fence) -> MemoryRow | None:
        row = self._tables.unfinished.get(fence.id)
        return row if row is not None and row.record.token == fence.token else None

    def _make_due(self, row: MemoryRow) -> None:
        self._tables.put(row)
        self._wake(row)

    def _wake(self, row: MemoryRow) -> None:
        if row.record.due_at is not None and row.lane is not None:
            self._wakes.append(Wake(row.lane, row.record.due_at, self._now()))

    def _audit_action(self, verb: str, by: str, before: Record, after: Record) -> None:
        snapshots = audit_snapshot(before), audit_snapshot(after)
        self._audit(verb, by, _subject(before), before.tenant, *snapshots)

    def _audit(
        self,
        verb: str,
        by: str,
        subject: tuple[str, str],
        tenant: str | None,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> None:
        entry = AuditEntry(self._ids(), self._now(), by, tenant, verb, *subject, before, after)
        self._tables.add_audit(entry)


def _subject(record: Record) -> tuple[str, str]:
    return "action", str(record.id)
