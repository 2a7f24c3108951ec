"""The tables of a MemoryStore, with an undo log for verbs that fail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

from duetime.errors import ActionNotFound
from duetime.model.actions.action import Record, StoredRun
from duetime.model.actions.claim import WorkerInfo
from duetime.model.audit import AuditEntry
from duetime.model.filter import Filter
from duetime.model.jobs.job import JobRecord
from duetime.model.state import State
from duetime.model.tenant import Scope, sees
from duetime.store.memory.lanes import Lanes, MemoryRow
from duetime.store.memory.undo import UndoLog

K = TypeVar("K")
V = TypeVar("V")
KeySlot = tuple[str | None, str, str]


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """A worker, when it started and when it was last seen."""

    worker: WorkerInfo
    started_at: int
    seen_at: int


class Tables:
    """Every table of the store. Read the tables directly; change them only by methods."""

    def __init__(self) -> None:
        self.unfinished: dict[UUID, MemoryRow] = {}
        self.finished: dict[UUID, Record] = {}
        # Earlier runs only: the current or last run is part of the action's record.
        self.runs: dict[UUID, tuple[StoredRun, ...]] = {}
        self.audit: dict[str, tuple[AuditEntry, ...]] = {}
        self.workers: dict[str, SeenWorker] = {}
        self.jobs: dict[str, JobRecord] = {}
        self.ticks: dict[tuple[str, int], bool] = {}
        self.lanes = Lanes()
        self._ids_by_key: dict[KeySlot, UUID] = {}
        self._children: dict[UUID, set[UUID]] = {}
        self._undo = UndoLog()
        self.transaction = self._undo.transaction

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
        """Return every matching action, newest first; the caller applies `before` and `limit`."""
        rows = [row.record for row in self.unfinished.values()]
        found = (record for record in (*rows, *self.finished.values()) if _fits(record, wanted))
        return sorted(found, key=lambda record: record.id, reverse=True)

    def key_holder(self, tenant: str | None, kind: str, key: str | None) -> MemoryRow | None:
        """Return the unfinished action that holds a key."""
        action_id = None if key is None else self._ids_by_key.get((tenant, kind, key))
        return None if action_id is None else self.unfinished[action_id]

    def parents(self) -> list[UUID]:
        """Return the actions for which children wait."""
        return sorted(self._children)

    def orphans(self, parent: UUID) -> list[Record]:
        """Return the children that wait for a parent that is no longer unfinished."""
        if parent in self.unfinished:
            return []
        return [self.unfinished[child].record for child in self._children.get(parent, ())]

    def waits_for(self, action_id: UUID) -> UUID | None:
        row = self.unfinished.get(action_id)
        return row.record.after if row and row.record.waits else None

    def expired(self, now: int, due_by: int) -> list[Record]:
        """Return running actions whose lease has expired, the longest ago first."""
        running = (self.unfinished[action_id].record for action_id in self.lanes.running())
        found = (r for r in running if has_expired(r, now) and (r.due_at or 0) <= due_by)
        return sorted(found, key=lambda r: (r.lease_until or 0, r.id))

    def finished_before(self, instant: int, failed_instant: int) -> list[Record]:
        """Return actions finished before `instant`, failed ones before `failed_instant`, oldest
        first."""
        limits = {State.failed: failed_instant}
        old = (
            record
            for record in self.finished.values()
            if (record.finished_at or 0) < limits.get(record.state, instant)
        )
        return sorted(old, key=lambda r: (r.finished_at or 0, r.id))

    # -- writing ---------------------------------------------------------------------

    def put(self, row: MemoryRow) -> None:
        self._place(row.record.id, row)

    def finish(self, record: Record) -> None:
        """Move an action from the unfinished to the finished."""
        self._place(record.id, None)
        self.add_finished(record)

    def add_finished(self, record: Record) -> None:
        self._set(self.finished, record.id, record)

    def restore(self, row: MemoryRow) -> None:
        """Move an action from the finished back to the unfinished."""
        self._set(self.finished, row.record.id, None)
        self.put(row)

    def delete_finished(self, action_id: UUID) -> None:
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
        """Store a tick and return whether it is new."""
        is_new = (job, tick) not in self.ticks
        self._set(self.ticks, (job, tick), True)
        return is_new

    def delete_tick(self, job: str, tick: int) -> None:
        self._set(self.ticks, (job, tick), None)

    def register_worker(self, worker: WorkerInfo, now: int) -> SeenWorker:
        """Record that a worker is alive; once registered, it omits its kinds and jobs."""
        old = self.workers.get(worker.id)
        if worker.registered:
            kinds, jobs = (old.worker.kinds, old.worker.jobs) if old else ((), ())
            worker = replace(worker, kinds=kinds, jobs=jobs)
        seen = SeenWorker(worker, old.started_at if old else now, now)
        self._set(self.workers, worker.id, seen)
        return seen

    def unregister_worker(self, worker: str) -> None:
        self._set(self.workers, worker, None)

    def _set(self, table: dict[K, V], key: K, value: V | None) -> None:
        old = table.get(key)
        self._undo.add(lambda: _store(table, key, old))
        _store(table, key, value)

    def _place(self, action_id: UUID, row: MemoryRow | None) -> None:
        old = self.unfinished.get(action_id)
        self._undo.add(lambda: self._swap(action_id, old))
        self._swap(action_id, row)

    def _swap(self, action_id: UUID, row: MemoryRow | None) -> None:
        """Replace the row of an action, and update its lane, key and parent indexes."""
        old = self.unfinished.get(action_id)
        if old is not None:
            self.lanes.remove(old)
            _store(self._ids_by_key, _slot(old.record), None)
            self._forget_child(old.record)
        if row is not None:
            self.lanes.add(row)
            _store(self._ids_by_key, _slot(row.record), action_id)
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


def _slot(record: Record) -> KeySlot | None:
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
