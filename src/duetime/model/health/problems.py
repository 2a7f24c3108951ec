"""Problems: what somebody should look at now, found in figures, queues, jobs and a diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from duetime.model.health.checks import (
    CLOCK_WARNING,
    DISK_FAILURE_BYTES,
    DISK_WARNING_BYTES,
    OVERDUE_FAILURE,
    OVERDUE_WARNING,
    Level,
    is_old_snapshot,
)
from duetime.model.health.diagnosis import Diagnosis
from duetime.model.health.queues import Queue
from duetime.model.health.stats import LivingWorker, Stats
from duetime.model.notifications.delivery import is_notifier

ProblemName = Literal[
    "no_worker",
    "worker_stalled",
    "worker_reports",
    "wakes_refused",
    "overdue",
    "ticks_overdue",
    "leases_expired",
    "job_failing",
    "job_unreadable",
    "kind_unknown",
    "version_unknown",
    "queue_paused",
    "snapshot_held",
    "disk_full",
    "clock_differs",
    "unreachable",
]
# A living worker that missed so many sweeps is stalled, or was ended without a word.
SWEEPS_STALLED = 2


@dataclass(frozen=True, slots=True)
class FailingJob:
    """A job that failed several times in a row, without its payload and error."""

    name: str
    failures: int
    last_failed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, with what (a worker, job, kind or queue), since when, and how much of it.

    `details` says more in words that are not ours: a note, what a worker reports.
    """

    name: ProblemName
    level: Level = Level.warning
    subject: str = ""
    since: datetime | None = None
    count: int = 0
    seconds: float | None = None
    by: str | None = None
    until: datetime | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFacts:
    """What problems are found in; `sweep` is the pause between sweeps of workers, in seconds."""

    stats: Stats
    sweep: float
    queues: Sequence[Queue] = ()
    failing: Sequence[FailingJob] = ()
    diagnosis: Diagnosis = field(default_factory=Diagnosis)


def problems_of(facts: ProblemFacts) -> list[Problem]:
    """Return the problems: failures before warnings, else in the order of ProblemName."""
    found = [
        *_of_workers(facts),
        *_of_work(facts.stats),
        *_of_jobs(facts),
        *_of_parked(facts.stats),
        *_of_queues(facts),
        *_of_database(facts),
    ]
    return sorted(found, key=lambda problem: problem.level is not Level.failure)


def is_stalled(worker: LivingWorker, at: datetime, sweep: float) -> bool:
    """Return whether a worker that counts as alive has missed its sweeps."""
    return at - worker.seen_at > timedelta(seconds=SWEEPS_STALLED * sweep)


def _of_workers(facts: ProblemFacts) -> Iterator[Problem]:
    stats = facts.stats
    if all(is_notifier(worker.queues) for worker in stats.workers):
        waits = stats.overdue > 0
        level = Level.failure if waits else Level.warning
        yield Problem(name="no_worker", level=level, since=_oldest(stats), count=stats.overdue)
    for worker in stats.workers:
        if is_stalled(worker, stats.at, facts.sweep):
            yield Problem(name="worker_stalled", subject=worker.id, since=worker.seen_at)
        if worker.health.problems:
            yield Problem(
                name="worker_reports",
                level=Level.failure,
                subject=worker.id,
                details=worker.health.problems,
            )
        if worker.health.refused_wakes:
            refused = worker.health.refused_wakes
            yield Problem(name="wakes_refused", subject=worker.id, count=refused)


def _oldest(stats: Stats) -> datetime | None:
    return _ago(stats, stats.oldest_overdue)


def _ago(stats: Stats, seconds: float | None) -> datetime | None:
    return None if seconds is None else stats.at - timedelta(seconds=seconds)


def _of_work(stats: Stats) -> Iterator[Problem]:
    oldest = stats.oldest_overdue or 0.0
    if stats.overdue and oldest >= OVERDUE_WARNING:
        yield Problem(
            name="overdue",
            level=overdue_level(oldest),
            since=_oldest(stats),
            count=stats.overdue,
            seconds=oldest,
        )
    if stats.expired_leases:
        yield Problem(name="leases_expired", count=stats.expired_leases)
    if stats.unreachable:
        yield Problem(name="unreachable", level=Level.failure, count=stats.unreachable)


def overdue_level(seconds: float) -> Level:
    """Judge how long the oldest overdue work has waited."""
    if seconds < OVERDUE_WARNING:
        return Level.ok
    return Level.failure if seconds >= OVERDUE_FAILURE else Level.warning


def _of_jobs(facts: ProblemFacts) -> Iterator[Problem]:
    stats, jobs = facts.stats, facts.stats.jobs
    oldest = jobs.oldest_overdue or 0.0
    if jobs.overdue and oldest >= OVERDUE_WARNING:
        since = _ago(stats, jobs.oldest_overdue)
        yield Problem(
            name="ticks_overdue",
            level=overdue_level(oldest),
            since=since,
            count=jobs.overdue,
            details=jobs.overdue_apps,
        )
    known = {job.name: job for job in facts.failing}
    for name in jobs.failing:
        job = known.get(name, FailingJob(name, 0, None))
        since, failures = job.last_failed_at, job.failures
        yield Problem(name="job_failing", subject=name, since=since, count=failures)
    for name in jobs.unreadable:
        yield Problem(name="job_unreadable", subject=name)


def _of_parked(stats: Stats) -> Iterator[Problem]:
    for group in stats.parked_kinds:
        unknown = group.kind in stats.unknown_kinds
        yield Problem(
            name="kind_unknown" if unknown else "version_unknown",
            subject=group.kind,
            count=group.count,
            details=(str(group.version),),
        )


def _of_queues(facts: ProblemFacts) -> Iterator[Problem]:
    """Find queues that are paused and hold work; who sees no queues sees only their names."""
    known = {queue.name: queue for queue in facts.queues if queue.paused_at is not None}
    for name in facts.stats.paused_queues:
        queue = known.get(name, Queue(name=name))
        yield Problem(
            name="queue_paused",
            subject=name,
            since=queue.paused_at,
            count=queue.scheduled,
            by=queue.paused_by,
            until=queue.paused_until,
            details=() if queue.pause_note is None else (queue.pause_note,),
        )


def _of_database(facts: ProblemFacts) -> Iterator[Problem]:
    stats, file = facts.stats, facts.diagnosis.file
    for holder in facts.diagnosis.snapshot_holders or ():
        if is_old_snapshot(holder):
            since = _ago(stats, holder.seconds)
            yield Problem(
                name="snapshot_held",
                subject=holder.name,
                since=since,
                count=holder.transactions or 0,
            )
    free = None if file is None else file.free_bytes
    if free is not None and free < DISK_WARNING_BYTES:
        level = Level.failure if free < DISK_FAILURE_BYTES else Level.warning
        yield Problem(name="disk_full", level=level, count=free)
    if abs(stats.clock_offset) >= CLOCK_WARNING:
        yield Problem(name="clock_differs", seconds=abs(stats.clock_offset))
