"""The store in memory: the executable specification of `base.py`.

Plain code under one lock. Every verb reads, checks and writes `Rows`; if it raises, `Rows`
takes back what was written.
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
from duetime.model.actions.action import Added, Found, NewAction, Record, StoredRun, current_run
from duetime.model.actions.chain import CIRCLE, end_of, settled, would_wait_for_itself
from duetime.model.actions.claim import Claim, Claimed, ClaimOrder, Lease, Presence, Renewed, Swept
from duetime.model.actions.completion import Completed, Ending, Finish
from duetime.model.actions.inserted import born
from duetime.model.actions.new_actions import IfExists
from duetime.model.actions.state_changes import (
    cancelled,
    home_of,
    replaced,
    rescheduled,
    revived,
    told,
)
from duetime.model.audit import AuditEntry
from duetime.model.clock import Clock, SystemClock, to_micros
from duetime.model.filter import Filter
from duetime.model.health.stats import Counted
from duetime.model.ids import NewId, TimeOrderedIds
from duetime.model.state import State
from duetime.model.tenant import ANY, Scope
from duetime.store.base import Listener, OnWake
from duetime.store.flow import Flow, Wake, immediate, played
from duetime.store.listeners import Listeners
from duetime.store.memory import changes as moves
from duetime.store.memory.jobs import MemoryJobs
from duetime.store.memory.lanes import Row
from duetime.store.memory.stats import count, living
from duetime.store.memory.tables import Rows, has_expired

T = TypeVar("T")


class MemoryStore(MemoryJobs):
    """Actions live as long as this object. Threads may share it, processes cannot."""

    def __init__(
        self, *, clock: Clock | None = None, tokens: NewId = uuid4, ids: NewId | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._tokens = tokens
        self._ids = ids or TimeOrderedIds(self._clock)
        self._rows = Rows()
        self._listeners = Listeners()
        self._lock = threading.Lock()
        self._wakes: list[Wake] = []

    # -- performing ------------------------------------------------------------------

    async def perform(self, flow: Flow[T]) -> T:
        return self.perform_blocking(flow)

    def perform_blocking(self, flow: Flow[T]) -> T:
        with self._transaction() as wakes:
            result = played(flow, wakes)
        self._listeners.tell(wakes)
        return result

    @contextmanager
    def _transaction(self) -> Iterator[list[Wake]]:
        with self._lock:
            self._wakes = []
            with self._rows.transaction():
                yield self._wakes

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        """There is nothing to let go of: the actions stay."""

    def listen(self, on_wake: OnWake) -> AbstractAsyncContextManager[Listener]:
        return self._listeners.listen(on_wake)

    # -- the client's verbs ----------------------------------------------------------

    @immediate
    def add(self, new: Sequence[NewAction], if_exists: IfExists) -> Sequence[Added]:
        now = self._now()
        for one in new:
            self._require_parent(one)
        stored = [self._add_one(one, if_exists, now) for one in new]
        # Read at the end: a later one of the same call may have replaced an earlier one.
        return [
            Found(self._rows.visible(action_id, ANY), created=action_id == one.id)
            for one, action_id in zip(new, stored, strict=True)
        ]

    def _add_one(self, new: NewAction, if_exists: IfExists, now: int) -> UUID:
        """The id under which it is stored now."""
        if self._rows.record(new.id) is not None:
            return new.id
        holder = self._rows.holder(new.tenant, new.kind, new.key)
        due_at = None if new.after else moves.due_time(new.due_at, new.delay, now)
        if holder is None:
            self._make_due(moves.row_of(born(new, due_at, now), new.lane))
            return new.id
        if if_exists == "raise":
            raise DuplicateKey(str(new.key), new.kind, holder.record.id)
        if if_exists == "replace":
            moves.require("replace", holder.record, State.scheduled)
            self._refuse_circle(holder.record.id, new)
            self._make_due(moves.row_of(replaced(holder.record, new, due_at, now), new.lane))
        return holder.record.id

    def _require_parent(self, new: NewAction) -> None:
        """Sent again after a lost reply, it had its parent at the first sending."""
        if new.after is not None and self._rows.record(new.id) is None:
            self._rows.visible(new.after, new.tenant)

    def _refuse_circle(self, action_id: UUID, new: NewAction) -> None:
        if new.after and would_wait_for_itself(action_id, new.after, self._rows.waits_for):
            raise InvalidArgument("after", str(new.after), CIRCLE)

    @immediate
    def get(self, action_id: UUID, tenant: Scope) -> Record:
        return self._rows.visible(action_id, tenant)

    @immediate
    def find(self, wanted: Filter) -> list[Record]:
        before = wanted.before
        found = self._rows.matching(wanted)
        return [r for r in found if before is None or r.id < before][: wanted.limit]

    @immediate
    def runs(self, action_id: UUID, tenant: Scope) -> list[StoredRun]:
        last = current_run(self._rows.visible(action_id, tenant))
        return [*self._rows.runs.get(action_id, ()), *([last] if last else [])]

    @immediate
    def cancel(self, action_id: UUID, tenant: Scope, by: str, *, running: bool) -> Record:
        record = self._rows.visible(action_id, tenant)
        if running and record.state is State.running:
            return self._ask_to_stop(record, by)
        allowed = (State.scheduled, State.running) if running else (State.scheduled,)
        moves.require("cancel", record, *allowed)
        return self._cancel(record, by)

    def _cancel(self, record: Record, by: str) -> Record:
        after = cancelled(record, by, self._now())
        self._rows.finish(after)
        self._audit("cancel", by, _subject(record), record.tenant, told(record), told(after))
        return after

    def _ask_to_stop(self, record: Record, by: str) -> Record:
        row = self._rows.unfinished[record.id]
        self._rows.put(replace(row, stop_by=by))
        before, after = ({"state": record.state, "stop_by": who} for who in (row.stop_by, by))
        self._audit("cancel", by, _subject(record), record.tenant, before, after)
        return record

    @immediate
    def reschedule(
        self, action_id: UUID, tenant: Scope, by: str, *, due_at: int | None, delay: int | None
    ) -> Record:
        now = self._now()
        before = self._rows.visible(action_id, tenant)
        moves.require("reschedule", before, State.scheduled)
        due = moves.due_time(due_at, delay, now)
        after = rescheduled(before, due, by, now)
        self._make_due(replace(self._rows.unfinished[action_id], record=after))
        self._audit("reschedule", by, _subject(before), before.tenant, told(before), told(after))
        return after

    @immediate
    def retry(self, action_id: UUID, tenant: Scope, by: str) -> Record:
        record = self._rows.visible(action_id, tenant)
        moves.require("retry", record, State.failed)
        holder = self._rows.holder(record.tenant, record.kind, record.key)
        if holder is not None:
            raise DuplicateKey(str(record.key), record.kind, holder.record.id)
        return self._retry(record, by)

    def _retry(self, record: Record, by: str) -> Record:
        failed = current_run(record)
        if failed is not None:
            self._rows.add_run(failed)
        after = self._in_turn(revived(record, by, self._now()))
        row = moves.row_of(after, home_of(after))
        self._rows.revive(row)
        self._wake(row)
        self._audit("retry", by, _subject(record), record.tenant, told(record), told(after))
        return after

    @immediate
    def cancel_many(self, wanted: Filter, by: str) -> list[Record]:
        found = self._rows.matching(wanted)
        return [self._cancel(r, by) for r in found if r.state is State.scheduled]

    @immediate
    def retry_many(self, wanted: Filter, by: str) -> list[Record]:
        failed = [r for r in self._rows.matching(wanted) if r.state is State.failed]
        # Asked one by one: the first of two with one key takes it, and the second stays.
        return [
            self._retry(r, by) for r in failed if self._rows.holder(r.tenant, r.kind, r.key) is None
        ]

    @immediate
    def audit(self, subject_id: str, limit: int) -> list[AuditEntry]:
        return [*reversed(self._rows.audit.get(subject_id, ()))][:limit]

    @immediate
    def stats(self, tenant: Scope, *, alive: int, limit: int) -> Counted:
        return count(self._rows, tenant, self._now(), alive, limit)

    @immediate
    def workers(self, alive: int) -> list[tuple[Presence, int]]:
        return living(self._rows, self._now(), alive)

    # -- the worker's verbs ----------------------------------------------------------

    @immediate
    def claim(self, order: ClaimOrder) -> Claimed:
        now = self._now()
        claims: list[Claim] = []
        for span in order.spans:
            free = filter(lambda one: self._is_for(order, one), self._rows.lanes.due(span, now))
            due = list(islice(free, order.limit - len(claims)))
            claims += [self._claim_one(action_id, order, now) for action_id in due]
        return Claimed(now, claims)

    def _is_for(self, order: ClaimOrder, action_id: UUID) -> bool:
        return self._rows.unfinished[action_id].record.tenant not in order.apart

    def _claim_one(self, action_id: UUID, order: ClaimOrder, now: int) -> Claim:
        row = self._rows.unfinished[action_id]
        token = self._tokens()
        record = moves.claimed(row.record, token, order.worker, now + order.lease, now)
        taken = replace(row, record=record)
        self._rows.put(taken)
        return moves.claim_of(taken, token)

    @immediate
    def complete(
        self, endings: Sequence[Ending], *, rescuing: bool = False, impatient: bool = False
    ) -> Completed:
        now = self._now()
        again = [] if rescuing else [one for one in endings if self._had_ended(one)]
        told = self._retold(again)
        fresh = [ending for ending in endings if self._end(ending, now, rescuing)]
        jobs, earlier = self._end_jobs(fresh), {one.id for one in again}
        ended = {ending.id for ending in fresh} | earlier
        parents = {one for one in ended if self._rows.orphans(one)}
        return Completed(ended, parents, jobs, told, earlier)

    def _end(self, ending: Ending, now: int, rescuing: bool) -> bool:
        row = self._rows.unfinished.get(ending.id)
        if row is None or row.record.token != ending.token:
            return False
        if rescuing and not has_expired(row.record, now):
            return False
        if isinstance(ending, Finish):
            self._rows.finish(moves.finished(row.record, ending, now))
            return True
        run = moves.run_of(row.record, ending, now)
        if run is not None:
            self._rows.add_run(run)
        self._make_due(moves.again(row, ending, now))
        return True

    def _had_ended(self, ending: Ending) -> bool:
        """Was this very ending sent before? A rescuer's ending of the run is another one."""
        record = self._rows.finished.get(ending.id)
        last = current_run(record) if record else None
        runs = (*self._rows.runs.get(ending.id, ()), *([last] if last else []))
        return any(r.id == ending.token and r.outcome == ending.outcome for r in runs)

    @immediate
    def settle(self, parents: Sequence[UUID], limit: int) -> list[Record]:
        waiting = [child for parent in {*parents} for child in self._rows.orphans(parent)]
        return [self._settle_one(one) for one in sorted(waiting, key=lambda r: r.id)[:limit]]

    def _settle_one(self, child: Record) -> Record:
        parent = self._rows.finished.get(child.after) if child.after else None
        after = settled(child, end_of(parent) if parent else None, self._now())
        if after.state is State.cancelled:
            self._rows.finish(after)
        else:
            self._make_due(moves.row_of(after, home_of(after)))
        return after

    @immediate
    def renew(self, leases: Sequence[Lease], lease: int) -> Renewed:
        now = self._now()
        kept: dict[UUID, str | None] = {}
        for held in leases:
            row = self._held(held)
            if row is not None:
                self._rows.put(replace(row, record=replace(row.record, lease_until=now + lease)))
                kept[held.id] = row.stop_by
        return Renewed(now, kept, frozenset(held.id for held in leases) - kept.keys())

    @immediate
    def progress(self, held: Lease, progress: str) -> None:
        row = self._held(held)
        if row is None:
            raise LeaseLost(held.id)
        self._rows.put(replace(row, record=replace(row.record, progress=progress)))

    @immediate
    def look(self, app: str | None = None) -> Swept:
        next_tick = None if app is None else self._next_tick(app)
        return Swept(self._now(), self._rows.lanes.heads(), [], next_tick=next_tick)

    @immediate
    def look_from(self, since: Mapping[str, int]) -> Swept:
        heads = [self._rows.lanes.head(lane, time) for lane, time in since.items()]
        return Swept(self._now(), heads, [])

    @immediate
    def sweep(self, presence: Presence, ahead: int, limit: int) -> Swept:
        now = self._now()
        known = presence.id in self._rows.workers or not presence.introduced
        seen = self._rows.greet(presence, now)
        expired = self._rows.expired(now, now + ahead)[:limit]
        gone = [moves.expired_of(r, r.token) for r in expired if r.token is not None]
        parents = [one for one in self._rows.parents() if self._rows.orphans(one)]
        return Swept(
            now,
            self._rows.lanes.heads(),
            gone,
            parents,
            self._next_tick(presence.app),
            known,
            self._is_youngest(seen, now - presence.alive),
        )

    @immediate
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> int:
        now = self._now()
        old = self._rows.finished_before(now - keep, now - keep_failed)[:limit]
        for record in old:
            self._rows.forget(record.id)
        for job, tick in [key for key in self._rows.ticks if key[1] < now - max(keep, keep_failed)]:
            self._rows.forget_tick(job, tick)
        return len(old)

    @immediate
    def leave(self, worker: str) -> None:
        self._rows.dismiss(worker)

    # -- their steps -----------------------------------------------------------------

    def _now(self) -> int:
        return to_micros(self._clock.now())

    def _held(self, held: Lease) -> Row | None:
        row = self._rows.unfinished.get(held.id)
        return row if row is not None and row.record.token == held.token else None

    def _make_due(self, row: Row) -> None:
        self._rows.put(row)
        self._wake(row)

    def _wake(self, row: Row) -> None:
        if row.record.due_at is not None and row.lane is not None:
            self._wakes.append(Wake(row.lane, row.record.due_at, self._now()))

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
        self._rows.add_audit(entry)


def _subject(record: Record) -> tuple[str, str]:
    return "action", str(record.id)
