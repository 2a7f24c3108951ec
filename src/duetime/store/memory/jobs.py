"""The job verbs of a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.actions.claim import SeenWorker
from duetime.model.actions.completion import Completion, Finish
from duetime.model.actions.state_changes import to_cancelled
from duetime.model.jobs.change import (
    AppliedJobChange,
    FoundJob,
    JobChange,
    JobEdit,
    JobEditResult,
    JobUpdate,
    NewOccurrence,
    Unfinished,
)
from duetime.model.jobs.edit import finish_occurrence, replayed_alert
from duetime.model.jobs.job import JobRecord, audit_snapshots
from duetime.model.jobs.job_filter import JobFilter, page_of
from duetime.model.jobs.occurrence import queue_up, relink, to_record
from duetime.model.jobs.occurrence_filter import OccurrenceFilter, newest_of
from duetime.model.jobs.selectors import (
    ArmedTooFarAhead,
    ByName,
    DueJobs,
    JobSearch,
    JobSelector,
    OrphanedJobs,
    Reappeared,
    ToSeed,
)
from duetime.model.jobs.view import JobView
from duetime.model.lane import job_lane
from duetime.model.state import State
from duetime.model.tenant import sees
from duetime.store.base import Store
from duetime.store.flow import Wake, immediate
from duetime.store.memory.lanes import MemoryRow
from duetime.store.memory.tables import Tables


class MemoryJobs(Store, ABC):
    """`jobs`, `occurrences`, `ticks`, `edit_jobs`, and the job updates of completions."""

    _tables: Tables
    _wakes: list[Wake]

    @abstractmethod
    def _now(self) -> int: ...

    @abstractmethod
    def _make_due(self, row: MemoryRow) -> None: ...

    @abstractmethod
    def _audit(
        self,
        verb: str,
        act: Act,
        subject: tuple[str, str],
        tenant: str | None,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> None: ...

    @immediate
    def jobs(self, wanted: JobFilter) -> list[JobView]:
        return page_of(map(self._view, self._tables.jobs.values()), wanted)

    def _view(self, job: JobRecord) -> JobView:
        running = next((action for action in self._unfinished(job.name) if action.running), None)
        finished = self._tables.finished.values()
        dead = sum(r.job == job.name and r.state is State.failed for r in finished)
        return JobView(job, running, dead, self._now())

    @immediate
    def occurrences(self, wanted: OccurrenceFilter) -> list[Record]:
        open_ = (row.record for row in self._tables.unfinished.values())
        records = (*open_, *self._tables.finished.values())
        return newest_of([record for record in records if record.job == wanted.job], wanted)

    @immediate
    def ticks(self, name: str, since: int, before: int) -> list[int]:
        known = (tick for job, tick in self._tables.ticks if job == name)
        return sorted(tick for tick in known if since <= tick < before)

    @immediate
    def edit_jobs(self, which: JobSelector, decide: JobEdit) -> JobEditResult:
        changes = []
        youngest, now = self._may_seed(which), self._now()
        for name in self._selected_names(which):
            job = self._selected(which, name)
            unfinished = self._unfinished(name)
            found = FoundJob(name, job, unfinished, now, youngest, self._is_abandoned(which, job))
            change = decide(found)
            if change is not None:
                changes.append(self._apply_change(found, change))
        if isinstance(which, DueJobs):
            return JobEditResult(
                changes, self._next_tick(which.app, which.excluded_names), self._now()
            )
        for job in (applied.after for applied in changes):
            if job.next_due_at is not None:
                self._wakes.append(Wake(job_lane(job.app), job.next_due_at, self._now()))
        return JobEditResult(changes, None, self._now())

    def _selected(self, which: JobSelector, name: str) -> JobRecord | None:
        job = self._tables.jobs.get(name)
        hidden = (
            isinstance(which, ByName) and job is not None and not sees(which.tenant, job.tenant)
        )
        return None if hidden else job

    def _selected_names(self, which: JobSelector) -> list[str]:
        if isinstance(which, ByName | ToSeed):
            return sorted(which.names)
        jobs = [job for job in self._tables.jobs.values() if job.app == which.app]
        return self._search(which, [job for job in jobs if job.name not in which.excluded_names])

    def _search(self, which: JobSearch, ours: Sequence[JobRecord]) -> list[str]:
        match which:
            case DueJobs(_, limit):
                due = [(job.next_due_at, job.name) for job in ours if self._is_due(job)]
                return [name for _, name in sorted(due)][:limit]
            case OrphanedJobs(app, alive, limit):
                declared_now = self._declared_by_live(app, self._now() - alive)
                declared = [job for job in ours if job.declared]
                lost = [j for j in declared if not (j.retired_at or j.removed_at)]
                return sorted(job.name for job in lost if job.name not in declared_now)[:limit]
            case Reappeared(_, worker, _, limit):
                seen = self._tables.workers.get(worker)
                own = {*seen.worker.jobs} if seen else set()
                declared = [job for job in ours if job.name in own and job.declared]
                back = [job for job in declared if job.retired_at and not job.removed_at]
                return sorted(job.name for job in back)[:limit]
            case ArmedTooFarAhead(_, ahead, after, limit):
                far = [j.name for j in ours if (j.next_due_at or 0) > self._now() + ahead]
                return sorted(name for name in far if name > after)[:limit]

    def _is_abandoned(self, which: JobSelector, job: JobRecord | None) -> bool:
        if not isinstance(which, ToSeed) or job is None or job.app == which.app:
            return False
        return not self._live_workers(job.app, self._now() - which.alive)

    def _may_seed(self, which: JobSelector) -> bool:
        """Return whether the selector's worker is the youngest that declares jobs of its app."""
        if not isinstance(which, ToSeed | Reappeared):
            return True
        seen = self._tables.workers.get(which.worker)
        return seen is None or self._is_youngest(seen, self._now() - which.alive)

    def _is_due(self, job: JobRecord) -> bool:
        return job.next_due_at is not None and job.next_due_at <= self._now()

    def _declared_by_live(self, app: str, since: int) -> set[str]:
        return {name for seen in self._live_workers(app, since) for name in seen.worker.jobs}

    def _live_workers(self, app: str, since: int) -> list[SeenWorker]:
        known = self._tables.workers.values()
        return [seen for seen in known if seen.worker.app == app and seen.seen_at > since]

    def _is_youngest(self, seen: SeenWorker, since: int) -> bool:
        """Return whether no live worker that declares jobs of the same app started later."""
        own = (seen.started_at, seen.worker.id)
        others = self._live_workers(seen.worker.app, since)
        return not any(
            (other.started_at, other.worker.id) > own for other in others if other.worker.jobs
        )

    def _is_oldest(self, seen: SeenWorker, since: int) -> bool:
        """Return whether no live worker of any app started earlier."""
        own = (seen.started_at, seen.worker.id)
        living = (other for other in self._tables.workers.values() if other.seen_at > since)
        return not any((other.started_at, other.worker.id) < own for other in living)

    def _next_tick(self, app: str, excluded: Container[str] = ()) -> int | None:
        ours = (job for job in self._tables.jobs.values() if job.app == app)
        ticks = (job.next_due_at for job in ours if job.name not in excluded)
        return min((tick for tick in ticks if tick is not None), default=None)

    def _unfinished(self, name: str) -> tuple[Unfinished, ...]:
        ours = [row.record for row in self._tables.unfinished.values() if row.record.job == name]
        return tuple(
            Unfinished(
                record.id,
                record.token is not None,
                record.after if record.waits else None,
                record.tick,
                record.triggered_by,
                record.started_at,
            )
            for record in sorted(ours, key=lambda r: (r.created_at, r.id))
        )

    def _apply_change(self, found: FoundJob, change: JobChange) -> AppliedJobChange:
        self._tables.set_job(change.job)
        inserted = self._new_occurrences(change.occurrences)
        for new in inserted:
            self._add_occurrence(new)
        waiting = [self._tables.unfinished.get(action_id) for action_id in change.cancel]
        free = [row.record for row in waiting if row is not None and row.record.token is None]
        cancelled = tuple(to_cancelled(record, change.act.by, found.now) for record in free)
        for record in cancelled:
            self._tables.finish(record)
        if change.verb is not None:
            subject, tenant = ("job", found.name), change.job.tenant
            before, after = audit_snapshots(found.job, change.job)
            self._audit(change.verb, change.act, subject, tenant, before, after)
        return AppliedJobChange(found.job, change.job, inserted, cancelled)

    def _new_occurrences(self, requested: Iterable[NewOccurrence]) -> tuple[NewOccurrence, ...]:
        return tuple(relink(requested, self._is_new))

    def _is_new(self, new: NewOccurrence) -> bool:
        return new.tick is None or self._tables.add_tick(new.job, new.tick)

    def _add_occurrence(self, new: NewOccurrence) -> None:
        record = to_record(new, self._now())
        if record.state.finished:
            self._tables.add_finished(record)
        else:
            self._make_due(MemoryRow(record, None if record.waits else new.action.lane))

    def _in_turn(self, retried: Record) -> Record:
        job = None if retried.job is None else self._tables.jobs.get(retried.job)
        if job is None:
            return retried
        [queued] = queue_up([retried], job, self._unfinished(job.name))
        return queued

    def _end_jobs(self, completions: Iterable[Completion]) -> list[JobUpdate]:
        updates: list[JobUpdate] = []
        for finish, job in self._with_jobs(completions):
            updates.append(JobUpdate(job, finish_occurrence(job, finish, self._now())))
            self._tables.set_job(updates[-1].after)
        return updates

    def _replayed_jobs(self, completions: Iterable[Completion]) -> list[JobUpdate]:
        alerts = (replayed_alert(job, finish) for finish, job in self._with_jobs(completions))
        return [alert for alert in alerts if alert is not None]

    def _with_jobs(self, completions: Iterable[Completion]) -> Iterator[tuple[Finish, JobRecord]]:
        """Yield each Finish of an occurrence with its job, as updated by the ones before it."""
        jobs = self._tables.jobs
        for done in completions:
            if isinstance(done, Finish) and done.job is not None and done.job in jobs:
                yield done, jobs[done.job]
