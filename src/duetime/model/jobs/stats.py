"""Health figures of jobs: how many there are, and which are overdue, failing or unreadable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from duetime.model.clock import seconds_of
from duetime.model.jobs.job import JobRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStats:
    """Figures of all jobs that are not removed: `scheduled`, `paused`, `retired` and `unreadable`
    add up to their number.

    A tick is overdue from its instant on until a worker of its app inserts its occurrence.
    """

    scheduled: int = 0
    paused: int = 0
    retired: int = 0
    overdue: int = 0
    oldest_overdue: float | None = None
    overdue_apps: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()

    def __add__(self, other: JobStats) -> JobStats:
        ages = (self.oldest_overdue, other.oldest_overdue)
        return JobStats(
            scheduled=self.scheduled + other.scheduled,
            paused=self.paused + other.paused,
            retired=self.retired + other.retired,
            overdue=self.overdue + other.overdue,
            oldest_overdue=max((age for age in ages if age is not None), default=None),
            overdue_apps=tuple(sorted({*self.overdue_apps, *other.overdue_apps})),
            failing=self.failing + other.failing,
            unreadable=self.unreadable + other.unreadable,
        )


def job_stats(jobs: Iterable[JobRecord], unreadable: Iterable[str], now: int) -> JobStats:
    """Return the figures of jobs that are not removed, given in the order of their names."""
    readable = list(jobs)
    retired = [job for job in readable if job.retired_at is not None]
    paused = [job for job in readable if job.retired_at is None and job.paused(now)]
    scheduled = [job for job in readable if job.retired_at is None and not job.paused(now)]
    overdue = [job for job in scheduled if job.next_due_at is not None and job.next_due_at <= now]
    oldest = min((job.next_due_at or now for job in overdue), default=None)
    return JobStats(
        scheduled=len(scheduled),
        paused=len(paused),
        retired=len(retired),
        overdue=len(overdue),
        oldest_overdue=None if oldest is None else seconds_of(now - oldest),
        overdue_apps=tuple(sorted({job.app for job in overdue})),
        # A paused or retired job needs no alert: its people paused it or removed its code.
        failing=tuple(job.name for job in scheduled if job.failing_since is not None),
        unreadable=tuple(unreadable),
    )
