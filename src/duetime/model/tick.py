"""Ticks: which occurrences a job gets when its time has come. Decided under its lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from duetime.model.clock import (
    MICROSECOND,
    from_micros,
    maybe_micros,
    micros_of,
    seconds_of,
    to_micros,
)
from duetime.model.ids import NewId
from duetime.model.jitter import jitter_of
from duetime.model.job import JobRecord, Overlap, rule_of
from duetime.model.job_change import Change, Found, NewOccurrence
from duetime.model.misfire import Misfire, Misfired, MisfirePolicy, decide
from duetime.model.occurrence import occurrence


def ticked(
    found: Found, new_id: NewId, misfire_after: float, *, held: bool = False
) -> Change | None:
    """Deal with every tick that has come; None if somebody else did meanwhile. What is late only
    since somebody `held` the job was not missed: the newest of it runs under every policy."""
    job, now = found.job, found.now
    if job is None or job.next_due_at is None or job.next_due_at > now:
        return None
    rule, misfire = rule_of(job), Misfire.from_text(job.definition.misfire)
    if held and misfire.policy is MisfirePolicy.skip:
        misfire = Misfire.once()
    due = decide(rule, from_micros(job.next_due_at - 1), from_micros(now), misfire, misfire_after)
    making = Making(job, found, new_id)
    # Ticks that are made up run one after another: that is what they are made up for.
    late = due.run and to_micros(due.run[0]) < now - micros_of(misfire_after)
    queued = bool(late) and misfire.policy is MisfirePolicy.all
    occurrences = [*making.misfired(due.misfired), *making.run(due.run, queued=queued)]
    ticks = [one.tick for one in occurrences if one.tick is not None]
    following = rule.wake(from_micros(now))
    after = replace(
        job.unpaused(),
        last_tick=max(ticks, default=job.last_tick),
        next_due_at=maybe_micros(following),
    )
    return Change(job=after, occurrences=tuple(occurrences))


class Making:
    """Makes the occurrences of one job, each aware of those before it."""

    def __init__(self, job: JobRecord, found: Found, new_id: NewId) -> None:
        self._job = job
        self._new_id = new_id
        self._last = found.last
        self._one_waits = any(one.after is not None for one in found.unfinished)

    def run(self, ticks: Sequence[datetime], *, queued: bool) -> Iterator[NewOccurrence]:
        """`queued`, they wait for each other where others would be skipped."""
        for tick in map(to_micros, ticks):
            yield self._run(tick, queued=queued)

    def misfired(self, misfired: Misfired | None) -> Iterator[NewOccurrence]:
        """Each leaves its record; of very many, the newest, and one for all before them."""
        if misfired is None:
            return
        others = misfired.count - len(misfired.ticks)
        if others > 0:
            many = f"more than {others}" if misfired.more else f"{others}"
            until = misfired.ticks[0].isoformat()
            yield self._skip(to_micros(misfired.first), f"misfired, one of {many} before {until}")
        for tick in misfired.ticks:
            yield self._skip(to_micros(tick), "misfired: nothing ran it at its time")

    def _run(self, tick: int, *, queued: bool) -> NewOccurrence:
        overlap = self._job.definition.overlap
        if self._last is None or overlap is Overlap.allow:
            return self._due(tick, None)
        if queued or (overlap is Overlap.queue and not self._one_waits):
            return self._due(tick, self._last)
        waits = " and another waits for it" if overlap is Overlap.queue else ""
        return self._skip(tick, f"skipped: occurrence {self._last} is unfinished{waits}")

    def _due(self, tick: int, after: UUID | None) -> NewOccurrence:
        due_at = tick + self._late(tick)
        made = occurrence(self._job, self._new_id(), tick=tick, due_at=due_at, after=after)
        self._last, self._one_waits = made.action.id, self._one_waits or after is not None
        return made

    def _late(self, tick: int) -> int:
        spread = seconds_of(self._job.definition.jitter)
        if not spread:
            return 0
        return jitter_of(self._job.name, from_micros(tick), spread) // MICROSECOND

    def _skip(self, tick: int, reason: str) -> NewOccurrence:
        return occurrence(self._job, self._new_id(), tick=tick, due_at=tick, skipped=reason)
