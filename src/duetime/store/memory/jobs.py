"""The jobs of a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping

from duetime.model.actions.action import Record
from duetime.model.actions.completion import Ending, Finish
from duetime.model.actions.state_changes import cancelled
from duetime.model.jobs.change import (
    Change,
    Changed,
    Decide,
    Edited,
    Found,
    JobEnd,
    NewOccurrence,
    Unfinished,
)
from duetime.model.jobs.edit import ended, retold
from duetime.model.jobs.job import JobRecord, told
from duetime.model.jobs.occurrence import happened, in_turn, relinked
from duetime.model.jobs.selectors import (
    Ahead,
    Due,
    JobFilter,
    Named,
    Orphaned,
    Returned,
    Seeding,
    Which,
)
from duetime.model.jobs.view import JobView
from duetime.model.lane import job_lane
from duetime.model.state import State
from duetime.model.tenant import sees
from duetime.store.base import Store
from duetime.store.flow import Wake, immediate
from duetime.store.memory.lanes import Row
from duetime.store.memory.tables import Rows, Seen


class MemoryJobs(Store, ABC):
    """`jobs`, `occurrences`, `edit_jobs`, and what an end makes of a job."""

    _rows: Rows
    _wakes: list[Wake]

    @abstractmethod
    def _now(self) -> int: ...

    @abstractmethod
    def _make_due(self, row: Row) -> None: ...

    @abstractmethod
    def _audit(
        self,
        verb: str,
        by: str,
        subject: tuple[str, str],
        tenant: str | None,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> None: ...

    @immediate
    def jobs(self, wanted: JobFilter) -> list[JobView]:
        found = [job for _, job in sorted(self._rows.jobs.items()) if _fits(job, wanted)]
        return [self._view(job) for job in found[: wanted.limit]]

    def _view(self, job: JobRecord) -> JobView:
        running = next((one for one in self._unfinished(job.name) if one.running), None)
        finished = self._rows.finished.values()
        dead = sum(one.job == job.name and one.state is State.failed for one in finished)
        return JobView(job, running, dead, self._now())

    @immediate
    def occurrences(self, name: str, limit: int) -> list[Record]:
        open_ = (row.record for row in self._rows.unfinished.values())
        found = [one for one in (*open_, *self._rows.finished.values()) if one.job == name]
        return sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)[:limit]

    @immediate
    def ticks(self, name: str, since: int, before: int) -> list[int]:
        known = (tick for job, tick in self._rows.ticks if job == name)
        return sorted(tick for tick in known if since <= tick < before)

    @immediate
    def edit_jobs(self, which: Which, decide: Decide) -> Edited:
        changes = []
        youngest, now = self._seeds(which), self._now()
        for name in self._meant(which):
            job, unfinished = self._rows.jobs.get(name), self._unfinished(name)
            found = Found(name, job, unfinished, now, youngest, self._is_left(which, job))
            change = decide(found)
            if change is not None:
                changes.append(self._change(found, change))
        if isinstance(which, Due):
            return Edited(changes, self._next_tick(which.app, which.but), self._now())
        for one in changes:
            if one.after.next_due_at is not None:
                lane = job_lane(one.after.app)
                self._wakes.append(Wake(lane, one.after.next_due_at, self._now()))
        return Edited(changes, None, self._now())

    def _meant(self, which: Which) -> list[str]:
        match which:
            case Named(names) | Seeding(names):
                return sorted(names)
            case Due(app, limit, but):
                due = [job for job in self._rows.jobs.values() if job.app == app]
                known = [job for job in due if job.name not in but]
                ripe = [(job.next_due_at, job.name) for job in known if self._is_due(job)]
                return [name for _, name in sorted(ripe)][:limit]
            case Orphaned(app, alive, limit):
                declared_now = self._known(app, self._now() - alive)
                declared = [j for j in self._rows.jobs.values() if j.app == app and j.declared]
                lost = [j for j in declared if not (j.retired_at or j.removed_at)]
                return sorted(job.name for job in lost if job.name not in declared_now)[:limit]
            case Returned(app, worker, _, limit):
                seen = self._rows.workers.get(worker)
                own = [self._rows.jobs.get(one) for one in seen.presence.jobs] if seen else []
                ours = [job for job in own if job is not None and job.app == app and job.declared]
                back = [job for job in ours if job.retired_at and not job.removed_at]
                return sorted(job.name for job in back)[:limit]
            case Ahead(app, ahead, after, limit):
                ours = [job for job in self._rows.jobs.values() if job.app == app]
                far = [j.name for j in ours if (j.next_due_at or 0) > self._now() + ahead]
                return sorted(name for name in far if name > after)[:limit]

    def _is_left(self, which: Which, job: JobRecord | None) -> bool:
        if not isinstance(which, Seeding) or job is None or job.app == which.app:
            return False
        return not self._live(job.app, self._now() - which.alive)

    def _seeds(self, which: Which) -> bool:
        """Whether whoever seeds is the youngest that may."""
        if not isinstance(which, Seeding | Returned):
            return True
        seen = self._rows.workers.get(which.worker)
        return seen is None or self._is_youngest(seen, self._now() - which.alive)

    def _is_due(self, job: JobRecord) -> bool:
        return job.next_due_at is not None and job.next_due_at <= self._now()

    def _known(self, app: str, since: int) -> set[str]:
        return {name for one in self._live(app, since) for name in one.presence.jobs}

    def _live(self, app: str, since: int) -> list[Seen]:
        known = self._rows.workers.values()
        return [one for one in known if one.presence.app == app and one.seen_at > since]

    def _is_youngest(self, worker: Seen, since: int) -> bool:
        """Of those that declare jobs of its app."""
        own = (worker.started_at, worker.presence.id)
        others = self._live(worker.presence.app, since)
        return not any(
            (one.started_at, one.presence.id) > own for one in others if one.presence.jobs
        )

    def _next_tick(self, app: str, but: Container[str] = ()) -> int | None:
        ours = (job for job in self._rows.jobs.values() if job.app == app)
        ticks = (job.next_due_at for job in ours if job.name not in but)
        return min((tick for tick in ticks if tick is not None), default=None)

    def _unfinished(self, name: str) -> tuple[Unfinished, ...]:
        ours = [row.record for row in self._rows.unfinished.values() if row.record.job == name]
        return tuple(
            Unfinished(
                one.id,
                one.token is not None,
                one.after if one.waits else None,
                one.tick,
                one.triggered_by,
                one.started_at,
            )
            for one in sorted(ours, key=lambda one: (one.created_at, one.id))
        )

    def _change(self, found: Found, change: Change) -> Changed:
        self._rows.set_job(change.job)
        made = self._fresh(change.occurrences)
        for one in made:
            self._occur(one)
        waiting = [self._rows.unfinished.get(one) for one in change.cancel]
        free = [row.record for row in waiting if row is not None and row.record.token is None]
        gone = tuple(cancelled(record, change.by, found.now) for record in free)
        for record in gone:
            self._rows.finish(record)
        if change.verb is not None:
            subject, tenant = ("job", found.name), change.job.tenant
            before, after = told(found.job), told(change.job)
            self._audit(change.verb, change.by, subject, tenant, before, after)
        return Changed(found.job, change.job, made, gone)

    def _fresh(self, asked: Iterable[NewOccurrence]) -> tuple[NewOccurrence, ...]:
        return tuple(relinked(asked, self._is_fresh))

    def _is_fresh(self, new: NewOccurrence) -> bool:
        return new.tick is None or self._rows.add_tick(new.job, new.tick)

    def _occur(self, new: NewOccurrence) -> None:
        record = happened(new, self._now())
        if record.state.finished:
            self._rows.add_finished(record)
        else:
            self._make_due(Row(record, None if record.waits else new.action.lane))

    def _in_turn(self, back: Record) -> Record:
        job = None if back.job is None else self._rows.jobs.get(back.job)
        if job is None:
            return back
        [turn] = in_turn([back], job, self._unfinished(job.name))
        return turn

    def _end_jobs(self, endings: Iterable[Ending]) -> list[JobEnd]:
        ends: list[JobEnd] = []
        for one, job in self._of_jobs(endings):
            ends.append(JobEnd(job, ended(job, one, self._now())))
            self._rows.set_job(ends[-1].after)
        return ends

    def _retold(self, endings: Iterable[Ending]) -> list[JobEnd]:
        told = (retold(job, one) for one, job in self._of_jobs(endings))
        return [one for one in told if one is not None]

    def _of_jobs(self, endings: Iterable[Ending]) -> Iterator[tuple[Finish, JobRecord]]:
        """Each with its job as it is by then."""
        for one in endings:
            if isinstance(one, Finish) and one.job is not None and one.job in self._rows.jobs:
                yield one, self._rows.jobs[one.job]


def _fits(job: JobRecord, wanted: JobFilter) -> bool:
    return (
        wanted.name in (None, job.name)
        and job.name > wanted.after
        and (wanted.removed or job.removed_at is None)
        and sees(wanted.tenant, job.tenant)
    )
