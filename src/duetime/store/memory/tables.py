"""The tables of a MemoryStore, with an undo log for verbs that fail."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TypeVar
from uuid import UUID

from duetime.errors import ActionNotFound
from duetime.model.access.api_keys import StoredApiKey
from duetime.model.access.grants import StoredGrant
from duetime.model.access.sessions import StoredLink, StoredSession
from duetime.model.actions.action import Record, StoredRun
from duetime.model.actions.claim import Fence, SeenWorker, WorkerInfo
from duetime.model.answer import StoredAnswer
from duetime.model.audit import AuditFilter, StoredAuditEntry
from duetime.model.bulk import StoredBulk
from duetime.model.filter import Filter
from duetime.model.health.figures import FigureKey
from duetime.model.jobs.job import JobRecord
from duetime.model.kept_report import StoredReport
from duetime.model.notifications.episodes import Episode
from duetime.model.notifications.event import StoredEvent
from duetime.model.notifications.notification import StoredNotification
from duetime.model.notifications.subscription import StoredSubscription
from duetime.model.pause import QueuePause, paused_queues
from duetime.model.state import State
from duetime.model.tenant import Scope, sees
from duetime.store.memory.lanes import Lanes, MemoryRow
from duetime.store.memory.matching import fits
from duetime.store.memory.undo import UndoLog

K = TypeVar("K")
V = TypeVar("V")
KeySlot = tuple[str | None, str, str]


class Tables:
    """Every table of the store. Read the tables directly; change them only by methods."""

    def __init__(self) -> None:
        self.unfinished: dict[UUID, MemoryRow] = {}
        self.finished: dict[UUID, Record] = {}
        # Earlier runs only: the current or last run is part of the action's record.
        self.runs: dict[UUID, tuple[StoredRun, ...]] = {}
        # By action: the run that failed last, and its traceback.
        self.tracebacks: dict[UUID, tuple[UUID, str]] = {}
        self.audit: dict[str, tuple[StoredAuditEntry, ...]] = {}
        self.workers: dict[str, SeenWorker] = {}
        self.jobs: dict[str, JobRecord] = {}
        self.ticks: dict[tuple[str, int], bool] = {}
        self.grants: dict[UUID, StoredGrant] = {}
        self.api_keys: dict[UUID, StoredApiKey] = {}
        self.links: dict[UUID, StoredLink] = {}
        self.sessions: dict[UUID, StoredSession] = {}
        # With when their last step was taken.
        self.bulks: dict[UUID, tuple[StoredBulk, int]] = {}
        self.pauses: dict[str, QueuePause] = {}
        self.reports: dict[str, StoredReport] = {}
        self.figures: dict[FigureKey, int] = {}
        # By worker: the number of the last batch of figures that was added.
        self.figure_batches: dict[str, int] = {}
        # When an answer was stored, and the answer, by the id of its key.
        self.answers: dict[str, tuple[int, StoredAnswer]] = {}
        self.subscriptions: dict[UUID, StoredSubscription] = {}
        # How often the subscriptions have changed.
        self.notifier: dict[str, int] = {}
        self.events: dict[UUID, StoredEvent] = {}
        self.notifications: dict[UUID, StoredNotification] = {}
        # By reader and notification.
        self.reads: dict[tuple[str, UUID], bool] = {}
        self.episodes: dict[tuple[str, str], Episode] = {}
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

    def matching(self, wanted: Filter, now: int) -> list[Record]:
        """Return every action that the filter matches at `now`, newest first; the caller makes
        pages of them."""
        finished = (MemoryRow(record, None) for record in self.finished.values())
        rows = chain(self.unfinished.values(), finished)
        paused = paused_queues(self.pauses.values(), now)
        found = (row.record for row in rows if fits(row, wanted, paused, now))
        return sorted(found, key=lambda record: record.id, reverse=True)

    def matching_audit(self, wanted: AuditFilter) -> list[StoredAuditEntry]:
        """Return every matching audit entry, newest first; the caller applies `limit`."""
        entries = (entry for entries in self.audit.values() for entry in entries)
        found = (entry for entry in entries if _audit_fits(entry, wanted))
        return sorted(found, key=lambda entry: (entry.at, entry.id), reverse=True)

    def audit_before(self, instant: int) -> list[StoredAuditEntry]:
        """Return the audit entries that were written before an instant, oldest first."""
        entries = (entry for entries in self.audit.values() for entry in entries)
        old = (entry for entry in entries if entry.at < instant)
        return sorted(old, key=lambda entry: (entry.at, entry.id))

    def key_holder(self, tenant: str | None, kind: str, key: str | None) -> MemoryRow | None:
        """Return the unfinished action that holds a key."""
        action_id = None if key is None else self._ids_by_key.get((tenant, kind, key))
        return None if action_id is None else self.unfinished[action_id]

    def claimable(self, action_id: UUID) -> MemoryRow | None:
        """Return the row of a scheduled action that waits for no parent."""
        row = self.unfinished.get(action_id)
        if row is None or row.record.token is not None or row.record.waits:
            return None
        return row

    def fenced(self, fence: Fence) -> MemoryRow | None:
        """Return the row of a running action if the fence names its token."""
        row = self.unfinished.get(fence.id)
        return row if row is not None and row.record.token == fence.token else None

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
        self.delete_runs(action_id)

    def add_run(self, run: StoredRun) -> None:
        self._set(self.runs, run.action_id, (*self.runs.get(run.action_id, ()), run))

    def keep_traceback(self, action_id: UUID, run_id: UUID, traceback: str) -> None:
        self._set(self.tracebacks, action_id, (run_id, traceback))

    def add_audit(self, entry: StoredAuditEntry) -> None:
        entries = self.audit.get(entry.subject_id, ())
        self._set(self.audit, entry.subject_id, (*entries, entry))

    def delete_audit(self, entry: StoredAuditEntry) -> None:
        kept = tuple(other for other in self.audit[entry.subject_id] if other.id != entry.id)
        self._set(self.audit, entry.subject_id, kept or None)

    def set_grant(self, grant_id: UUID, grant: StoredGrant | None) -> None:
        self._set(self.grants, grant_id, grant)

    def set_api_key(self, key_id: UUID, key: StoredApiKey | None) -> None:
        self._set(self.api_keys, key_id, key)

    def set_link(self, link_id: UUID, link: StoredLink | None) -> None:
        self._set(self.links, link_id, link)

    def set_session(self, session_id: UUID, session: StoredSession | None) -> None:
        self._set(self.sessions, session_id, session)

    def set_report(self, report: StoredReport) -> None:
        self._set(self.reports, report.app, report)

    def set_job(self, job: JobRecord) -> None:
        self._set(self.jobs, job.name, job)

    def add_tick(self, job: str, tick: int) -> bool:
        """Store a tick and return whether it is new."""
        is_new = (job, tick) not in self.ticks
        self._set(self.ticks, (job, tick), True)
        return is_new

    def delete_tick(self, job: str, tick: int) -> None:
        self._set(self.ticks, (job, tick), None)

    def set_bulk(self, bulk: StoredBulk, now: int) -> None:
        self._set(self.bulks, bulk.id, (bulk, now))

    def delete_bulk(self, bulk_id: UUID) -> None:
        self._set(self.bulks, bulk_id, None)

    def delete_runs(self, action_id: UUID) -> None:
        self._set(self.runs, action_id, None)
        self._set(self.tracebacks, action_id, None)

    def set_pause(self, queue: str, pause: QueuePause | None) -> None:
        self._set(self.pauses, queue, pause)

    def set_answer(self, key_id: str, answer: tuple[int, StoredAnswer] | None) -> None:
        self._set(self.answers, key_id, answer)

    def set_subscription(self, place: UUID, subscription: StoredSubscription | None) -> None:
        self._set(self.subscriptions, place, subscription)

    def advance_notifier(self) -> None:
        self._set(self.notifier, "version", self.subscriptions_version + 1)

    @property
    def subscriptions_version(self) -> int:
        return self.notifier.get("version", 0)

    def set_event(self, event_id: UUID, event: StoredEvent | None) -> None:
        self._set(self.events, event_id, event)

    def set_notification(self, place: UUID, notification: StoredNotification | None) -> None:
        self._set(self.notifications, place, notification)

    def set_read(self, reader: str, notification_id: UUID, read: bool | None) -> None:
        self._set(self.reads, (reader, notification_id), read)

    def set_episode(self, key: tuple[str, str], episode: Episode | None) -> None:
        self._set(self.episodes, key, episode)

    def set_figure(self, key: FigureKey, runs: int | None) -> None:
        self._set(self.figures, key, runs)

    def note_figure_batch(self, worker: str, number: int) -> None:
        self._set(self.figure_batches, worker, number)

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
        self._set(self.figure_batches, worker, None)

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


def _audit_fits(entry: StoredAuditEntry, wanted: AuditFilter) -> bool:
    equal = ("subject_id", "by", "verb")
    return (
        all(getattr(wanted, name) in (None, getattr(entry, name)) for name in equal)
        and sees(wanted.tenant, entry.tenant)
        and (wanted.since is None or wanted.since <= entry.at)
        and (wanted.before is None or entry.at < wanted.before)
        and (wanted.follows is None or (entry.at, entry.id) < wanted.follows)
    )
