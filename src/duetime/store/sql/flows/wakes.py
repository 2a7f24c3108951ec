"""Whom a commit wakes."""

from __future__ import annotations

from collections.abc import Iterable

from duetime.model.jobs.job import JobRecord
from duetime.model.lane import job_lane
from duetime.store.flow import Steps, Wake


def wake(due: Iterable[tuple[str | None, int | None]], now: int) -> Steps[None]:
    """One wake per lane, for the earliest of its (lane, due_at).

    What waits for its parent is not due, so nobody need wake for it.
    """
    earliest: dict[str, int] = {}
    for lane, due_at in due:
        if lane is not None and due_at is not None:
            earliest[lane] = min(due_at, earliest.get(lane, due_at))
    for lane, due_at in earliest.items():
        yield Wake(lane, due_at, now)


def wake_jobs(jobs: Iterable[JobRecord], now: int) -> Steps[None]:
    """One wake per app, for its earliest tick."""
    yield from wake([(job_lane(job.app), job.next_due_at) for job in jobs], now)
