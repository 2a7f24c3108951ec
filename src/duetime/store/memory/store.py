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
from duetime.model.act import SYSTEM_ACT, Act
from duetime.model.actions import expiry
from duetime.model.actions.action import (
    Added,
    AddedRecord,
    NewAction,
    Record,
    StoredRun,
    current_run,
    unknown_run,
)
from duetime.model.actions.action_key import ActionKey, KeyMatch, named_id
from duetime.model.actions.chain import (
    CYCLE_REMEDY,
    NO_TRACES,
    RunTraces,
    parent_end,
    settle_child,
    would_wait_for_itself,
)
from duetime.model.actions.claim import (
    Claim,
    Claimed,
    ClaimOrder,
    Fence,
    RenewResult,
    SeenWorker,
    SweepResult,
    WorkerInfo,
)
from duetime.model.actions.completion import Completion, CompletionResult, Finish
from duetime.model.actions.new_actions import IfExists, new_record
from duetime.model.actions.state_changes import (
    default_lane,
    repeat_snapshots,
    replacement_snapshots,
    to_cancelled,
    to_replaced,
    to_rescheduled,
    to_retried,
)
from duetime.model.clock import Clock, SystemClock, to_micros
from duetime.model.filter import Filter
from duetime.model.health.stats import StoreCounts
from duetime.model.ids import NewId, TimeOrderedIds
from duetime.model.state import FINISHED, State
from duetime.model.tenant import ANY, Scope
from duetime.store.base import Listener, OnWake
from duetime.store.flow import Flow, Wake, immediate, run_in_memory
from duetime.store.listeners import Listeners
from duetime.store.memory import changes
from duetime.store.memory.access import MemoryAccess
from duetime.store.memory.answers import MemoryAnswers
from duetime.store.memory.audit import subject_of
from duetime.store.memory.bulks import MemoryBulks
from duetime.store.memory.damaged import MemoryDamaged
from duetime.store.memory.erasures import MemoryErasures
from duetime.store.memory.expiry import MemoryExpiry
from duetime.store.memory.figures import MemoryFigures
from duetime.store.memory.finding import MemoryFinding
from duetime.store.memory.job_definitions import MemoryJobDefinitions
from duetime.store.memory.jobs import MemoryJobs
from duetime.store.memory.lanes import MemoryRow
from duetime.store.memory.notifications import MemoryNotifications
from duetime.store.memory.queues import MemoryQueues
from duetime.store.memory.stats import count, living
from duetime.store.memory.tables import Tables, has_expired
from duetime.store.memory.timeline import MemoryTimeline
from duetime.store.memory.transitions import MemoryTransitions

T = TypeVar("T")


class MemoryStore(
    MemoryAccess,
    MemoryAnswers,
    MemoryBulks,
    MemoryErasures,
    MemoryDamaged,
    MemoryExpiry,
    MemoryFigures,
    MemoryFinding,
    MemoryJobs,
    MemoryJobDefinitions,
    MemoryNotifications,
    MemoryQueues,
    MemoryTimeline,
    MemoryTransitions,
):
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
    def add(
        self, new: Sequence[NewAction], if_exists: IfExists, act: Act = SYSTEM_ACT
    ) -> Sequence[Added]:
        now = self._now()
        for action in new:
            self._check_new(action, now)
        stored = [self._add_one(action, if_exists, now, act) for action in new]
        # Read at the end: a later action of the same call may have replaced an earlier one.
        return [
            AddedRecord(self._tables.visible(action_id, ANY), created=action_id == action.id)
            for action, action_id in zip(new, stored, strict=True)
        ]

    def _add_one(self, new: NewAction, if_exists: IfExists, now: int, act: Act) -> UUID:
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
            after = to_replaced(holder.record, new, due_at, now)
            self._make_due(changes.to_row(after, new.lane))
            snapshots = replacement_snapshots(holder.record, after)
            actor = replace(act, by=new.by)
            self._audit("replace", actor, subject_of(after), after.tenant, *snapshots)
        return holder.record.id

    def _check_new(self, new: NewAction, now: int) -> None:
        """Refuse an unknown parent and an early expiry, except in a replay: the first sending was
        checked."""
        if self._tables.record(new.id) is None:
            if new.after is not None:
                self._tables.visible(new.after, new.tenant)
            if (error := expiry.early_expiry(new, now)) is not None:
                raise error

    def _refuse_cycle(self, action_id: UUID, new: NewAction) -> None:
        if new.after and would_wait_for_itself(action_id, new.after, self._tables.waits_for):
            raise InvalidArgument("after", str(new.after), CYCLE_REMEDY)

    @immediate
    def get(self, action_id: UUID, tenant: Scope) -> Record:
        return self._tables.visible(action_id, tenant)

    @immediate
    def find_id(self, wanted: ActionKey, tenant: Scope) -> UUID:
        same_key = Filter(kinds=(wanted.kind,), key=wanted.key, tenant=tenant)
        found = self._tables.matching(same_key, self._now())
        named = (record for record in found if wanted.may_name(record.state))
        return named_id(wanted, [KeyMatch(r.id, r.tenant, r.state.finished) for r in named])

    @immediate
    def runs(
        self, action_id: UUID, tenant: Scope, *, limit: int, before: UUID | None = None
    ) -> list[StoredRun]:
        last = current_run(self._tables.visible(action_id, tenant))
        known = [*self._tables.runs.get(action_id, ()), *([last] if last else [])]
        ids = [run.id for run in known]
        if before is not None and before not in ids:
            raise unknown_run(before)
        runs = known[: len(known) if before is None else ids.index(before)][-limit:]
        failed, traceback = self._tables.tracebacks.get(action_id, (None, None))
        return [replace(run, traceback=traceback) if run.id == failed else run for run in runs]

    @immediate
    def cancel(self, action_id: UUID, tenant: Scope, act: Act, *, running: bool) -> Record:
        record = self._tables.visible(action_id, tenant)
        if running and record.state is State.running:
            return self._request_stop(record, act)
        allowed = (State.scheduled, State.running) if running else (State.scheduled,)
        changes.require("cancel", record, *allowed)
        return self._cancel(record, act)

    def _cancel(self, record: Record, act: Act) -> Record:
        after = to_cancelled(record, act.by, self._now())
        self._tables.finish(after)
        self._audit_action("cancel", act, record, after)
        return after

    def _request_stop(self, record: Record, act: Act) -> Record:
        row = self._tables.unfinished[record.id]
        if row.stop_by == act.by:
            return record
        self._tables.put(replace(row, stop_by=act.by))
        before, after = ({"state": record.state, "stop_by": who} for who in (row.stop_by, act.by))
        self._audit("cancel", act, subject_of(record), record.tenant, before, after)
        return record

    @immediate
    def reschedule(
        self, action_id: UUID, tenant: Scope, act: Act, *, due_at: int | None, delay: int | None
    ) -> Record:
        now = self._now()
        before = self._tables.visible(action_id, tenant)
        changes.require("reschedule", before, State.scheduled)
        expiry.refuse_move_beyond_expiry(before, due_at=due_at, delay=delay, now=now)
        due = changes.due_time(due_at, delay, now)
        after = to_rescheduled(before, due, act.by, now)
        self._make_due(replace(self._tables.unfinished[action_id], record=after))
        self._audit_action("reschedule", act, before, after)
        return after

    @immediate
    def retry(self, action_id: UUID, tenant: Scope, act: Act) -> Record:
        record = self._tables.visible(action_id, tenant)
        changes.require("retry", record, State.failed)
        expiry.refuse_expired_retry(record, self._now())
        holder = self._tables.key_holder(record.tenant, record.kind, record.key)
        if holder is not None:
            raise DuplicateKey(str(record.key), record.kind, holder.record.id)
        return self._retry(record, act)

    def _retry(self, record: Record, act: Act) -> Record:
        failed = current_run(record)
        if failed is not None:
            self._tables.add_run(failed)
        after = self._in_turn(to_retried(record, act.by, self._now()))
        row = changes.to_row(after, default_lane(after))
        self._tables.restore(row)
        self._wake(row)
        self._audit_action("retry", act, record, after)
        return after

    @immediate
    def cancel_many(self, wanted: Filter, act: Act) -> list[Record]:
        found = self._tables.matching(wanted, self._now())
        return [self._cancel(r, act) for r in found if r.state is State.scheduled]

    @immediate
    def retry_many(self, wanted: Filter, act: Act) -> list[Record]:
        now = self._now()
        found = self._tables.matching(wanted, now)
        failed = [r for r in found if r.state is State.failed and expiry.can_be_retried(r, now)]
        # Checked one at a time: of two actions with the same key, only the first is retried.
        return [
            self._retry(r, act)
            for r in failed
            if self._tables.key_holder(r.tenant, r.kind, r.key) is None
        ]

    @immediate
    def repeat(self, action_id: UUID, tenant: Scope, act: Act, new: NewAction) -> Record:
        record = self._tables.visible(action_id, tenant)
        changes.require("repeat", record, *sorted(FINISHED))
        self._add_one(new, "return", self._now(), act)
        self._audit(
            "repeat", act, subject_of(record), record.tenant, *repeat_snapshots(record, new)
        )
        return self._tables.visible(new.id, ANY)

    @immediate
    def stats(
        self, tenant: Scope, *, alive: int, limit: int, most: int | None = None
    ) -> StoreCounts:
        return count(self._tables, tenant, self._now(), alive, limit)

    @immediate
    def workers(self, alive: int) -> list[SeenWorker]:
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
        if completion.traceback is not None:
            self._tables.keep_traceback(completion.id, completion.token, completion.traceback)
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
        last = self._tables.finished.get(completion.id)
        if last is not None and last.token == completion.token:
            return last.outcome == completion.outcome
        runs = self._tables.runs.get(completion.id, ())
        return any(r.id == completion.token and r.outcome == completion.outcome for r in runs)

    @immediate
    def settle(
        self, parents: Sequence[UUID], limit: int, run_traces: RunTraces = NO_TRACES
    ) -> list[Record]:
        waiting = [child for parent in {*parents} for child in self._tables.orphans(parent)]
        found = sorted(waiting, key=lambda r: r.id)[:limit]
        return [self._settle_one(child, run_traces) for child in found]

    def _settle_one(self, child: Record, run_traces: RunTraces) -> Record:
        parent = self._tables.finished.get(child.after) if child.after else None
        end = parent_end(parent, run_traces.get(parent.id)) if parent else None
        after = settle_child(child, end, self._now())
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
            row = self._tables.fenced(fence)
            if row is not None:
                self._tables.put(replace(row, record=replace(row.record, lease_until=now + lease)))
                renewed[fence.id] = row.stop_by
        lost = frozenset(fence.id for fence in fences) - renewed.keys()
        return RenewResult(now, renewed, lost)

    @immediate
    def progress(self, fence: Fence, progress: str) -> None:
        row = self._tables.fenced(fence)
        if row is None:
            raise LeaseLost(fence.id)
        self._tables.put(replace(row, record=replace(row.record, progress=progress)))

    @immediate
    def look_ahead(self, app: str | None = None) -> SweepResult:
        next_tick = None if app is None else self._next_tick(app)
        heads = self._tables.lanes.heads()
        return SweepResult(self._now(), heads, [], next_tick=next_tick, paused=self._paused())

    @immediate
    def look_ahead_from(self, since: Mapping[str, int]) -> SweepResult:
        heads = [self._tables.lanes.head(lane, time) for lane, time in since.items()]
        return SweepResult(self._now(), heads, [], paused=self._paused())

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
            self._is_oldest(seen, now - worker.alive),
            self._paused(),
            self._tables.subscriptions_version,
            bool(self._tables.events),
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
        self._prune_bulks()
        return len(old)

    @immediate
    def clear(self) -> None:
        self._tables = Tables()

    @immediate
    def unregister(self, worker: str) -> None:
        self._tables.unregister_worker(worker)

    # -- steps of verbs --------------------------------------------------------------

    def _now(self) -> int:
        return to_micros(self._clock.now())

    def _make_due(self, row: MemoryRow) -> None:
        self._tables.put(row)
        self._wake(row)

    def _wake(self, row: MemoryRow) -> None:
        if row.record.due_at is not None and row.lane is not None:
            self._wakes.append(Wake(row.lane, row.record.due_at, self._now()))
