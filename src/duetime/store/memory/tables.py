"""The rows of a MemoryStore, and the way back to how they were before a verb failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

from duetime.errors import ActionNotFound
from duetime.model.actions.action import Record, StoredRun
from duetime.model.actions.claim import Presence
from duetime.model.audit import AuditEntry
from duetime.model.filter import Filter
from duetime.model.jobs.job import JobRecord
from duetime.model.state import State
from duetime.model.tenant import Scope, sees
from duetime.store.memory.lanes import Lanes, Row

K = TypeVar("K")
V = TypeVar("V")
Slot = tuple[str | None, str, str]


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker, and when it came and was seen last."""

    presence: Presence
    started_at: int
    seen_at: int


class Rows:
    """Every table of the store. Read them freely; change them through the verbs below."""

    def __init__(self) -> None:
        self.unfinished: dict[UUID, Row] = {}
        self.finished: dict[UUID, Record] = {}
        # Earlier runs only: the current or last one is told by the action's own row.
        self.runs: dict[UUID, tuple[StoredRun, ...]] = {}
        self.audit: dict[str, tuple[AuditEntry, ...]] = {}
        self.workers: dict[str, Seen] = {}
        self.jobs: dict[str, JobRecord] = {}
        self.ticks: dict[tuple[str, int], bool] = {}
        self.lanes = Lanes()
        self._holders: dict[Slot, UUID] = {}
        self._children: dict[UUID, set[UUID]] = {}
        self._undo: list[Callable[[], None]] = []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside stays, or, if anything is raised, nothing of it."""
        try:
            yield
        except BaseException:
            while self._undo:
                self._undo.pop()()
            raise
        finally:
            self._undo.clear()

    # -- reading ---------------------------------------------------------------------

    def record(self, action_id: UUID) -> Record | None:
        row = self.unfinished.get(action_id)
        return row.record if row else self.finished.get(action_id)

    def visible(self, action_id: UUID, tenant: Scope) -> Record:
        record = self.record(action_id)
        if record is None or not sees(tenant, record.tenant):
            raise ActionNotFound(action_id)
        return record

    def matching(self, wanted: Filter) -> list[Record]:
        """Every action that fits, newest first; `before` and `limit` are the caller's."""
        rows = [row.record for row in self.unfinished.values()]
        found = (record for record in (*rows, *self.finished.values()) if _fits(record, wanted))
        return sorted(found, key=lambda record: record.id, reverse=True)

    def holder(self, tenant: str | None, kind: str, key: str | None) -> Row | None:
        """The unfinished action that holds a key."""
        action_id = None if key is None else self._holders.get((tenant, kind, key))
        return None if action_id is None else self.unfinished[action_id]

    def parents(self) -> list[UUID]:
        """Those for which children wait."""
        return sorted(self._children)

    def orphans(self, parent: UUID) -> list[Record]:
        """The children that wait for this one though it is no longer unfinished."""
        if parent in self.unfinished:
            return []
        return [self.unfinished[child].record for child in self._children.get(parent, ())]

    def waits_for(self, action_id: UUID) -> UUID | None:
        row = self.unfinished.get(action_id)
        return row.record.after if row and row.record.waits else None

    def expired(self, now: int, due_by: int) -> list[Record]:
        """Running actions whose lease has run out, the longest ago first."""
        held = (self.unfinished[action_id].record for action_id in self.lanes.held())
        found = (r for r in held if has_expired(r, now) and (r.due_at or 0) <= due_by)
        return sorted(found, key=lambda r: (r.lease_until or 0, r.id))

    def finished_before(self, instant: int, failed_instant: int) -> list[Record]:
        """Finished actions from before an instant, oldest first; failed ones have their own."""
        limits = {State.failed: failed_instant}
        old = (
            record
            for record in self.finished.values()
            if (record.finished_at or 0) < limits.get(record.state, instant)
        )
        return sorted(old, key=lambda r: (r.finished_at or 0, r.id))

    # -- writing ---------------------------------------------------------------------

    def put(self, row: Row) -> None:
        self._place(row.record.id, row)

    def finish(self, record: Record) -> None:
        """From the unfinished to the finished, in one."""
        self._place(record.id, None)
        self.add_finished(record)

    def add_finished(self, record: Record) -> None:
        self._set(self.finished, record.id, record)

    def revive(self, row: Row) -> None:
        """The way back."""
        self._set(self.finished, row.record.id, None)
        self.put(row)

    def forget(self, action_id: UUID) -> None:
        self._set(self.finished, action_id, None)
        self._set(self.runs, action_id, None)

    def add_run(self, run: StoredRun) -> None:
        self._set(self.runs, run.action_id, (*self.runs.get(run.action_id, ()), run))

    def add_audit(self, entry: AuditEntry) -> None:
        entries = self.audit.get(entry.subject_id, ())
        self._set(self.audit, entry.subject_id, (*entries, entry))

    def set_job(self, job: JobRecord) -> None:
        self._set(self.jobs, job.name, job)

    def add_tick(self, job: str, tick: int) -> bool:
        """Whether it was not dealt with before."""
        fresh = (job, tick) not in self.ticks
        self._set(self.ticks, (job, tick), True)
        return fresh

    def forget_tick(self, job: str, tick: int) -> None:
        self._set(self.ticks, (job, tick), None)

    def greet(self, presence: Presence, now: int) -> Seen:
        """It lives. Once introduced, it does not say again what it runs."""
        old = self.workers.get(presence.id)
        if presence.introduced:
            kinds, jobs = (old.presence.kinds, old.presence.jobs) if old else ((), ())
            presence = replace(presence, kinds=kinds, jobs=jobs)
        seen = Seen(presence, old.started_at if old else now, now)
        self._set(self.workers, presence.id, seen)
        return seen

    def dismiss(self, worker: str) -> None:
        self._set(self.workers, worker, None)

    def _set(self, table: dict[K, V], key: K, value: V | None) -> None:
        old = table.get(key)
        self._undo.append(lambda: _store(table, key, old))
        _store(table, key, value)

    def _place(self, action_id: UUID, row: Row | None) -> None:
        old = self.unfinished.get(action_id)
        self._undo.append(lambda: self._swap(action_id, old))
        self._swap(action_id, row)

    def _swap(self, action_id: UUID, row: Row | None) -> None:
        """Put one row in place of what is there, its lane and key with it."""
        old = self.unfinished.get(action_id)
        if old is not None:
            self.lanes.remove(old)
            _store(self._holders, _slot(old.record), None)
            self._forget_child(old.record)
        if row is not None:
            self.lanes.add(row)
            _store(self._holders, _slot(row.record), action_id)
            if row.record.waits and row.record.after is not None:
                self._children.setdefault(row.record.after, set()).add(action_id)
        _store(self.unfinished, action_id, row)

    def _forget_child(self, record: Record) -> None:
        if record.waits and record.after is not None:
            self._children[record.after].discard(record.id)
            if not self._children[record.after]:
                del self._children[record.after]


def has_expired(record: Record, now: int) -> bool:
    return record.lease_until is not None and record.lease_until <= now


def _store(table: dict[K, V], key: K | None, value: V | None) -> None:
    if key is None:
        return
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _slot(record: Record) -> Slot | None:
    return None if record.key is None else (record.tenant, record.kind, record.key)


def _fits(record: Record, wanted: Filter) -> bool:
    equal = ("state", "kind", "queue", "correlation_id", "key")
    return (
        all(getattr(wanted, name) in (None, getattr(record, name)) for name in equal)
        and sees(wanted.tenant, record.tenant)
        and _due_within(record.due_at, wanted)
    )


def _due_within(due_at: int | None, wanted: Filter) -> bool:
    if due_at is None:
        return wanted.due_from is None and wanted.due_before is None
    return (wanted.due_from is None or wanted.due_from <= due_at) and (
        wanted.due_before is None or due_at < wanted.due_before
    )
