"""Ticks: which occurrences a job gets when its time has come. Decided under its lock.

Jitter: how much later than its tick an occurrence is due, so that herds spread.

Backfill: the ticks of the past of which occurrences may still be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from duetime.errors import InvalidArgument
from duetime.model.clock import (
    MICROSECOND,
    from_micros,
    maybe_micros,
    micros_of,
    seconds_of,
    to_micros,
)
from duetime.model.ids import NewId
from duetime.model.jobs.change import Change, Found, NewOccurrence
from duetime.model.jobs.job import JobRecord, Overlap, rule_of
from duetime.model.jobs.misfire import Misfire, Misfired, MisfirePolicy, decide
from duetime.model.jobs.occurrence import occurrence
from duetime.model.jobs.view import JobView
from duetime.model.validation import micros


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


def jitter_of(job: str, tick: datetime, jitter: float | timedelta) -> timedelta:
    """In [0, jitter), and the same in every process: a tick is due at one instant only."""
    digest = sha256(f"{job}\n{to_micros(tick)}".encode()).digest()
    chance = int.from_bytes(digest[:8], "big")
    return timedelta(microseconds=chance * micros("jitter", jitter) >> 64)


MOST_BACKFILL = 1000


def missed(view: JobView, first: datetime, last: datetime) -> list[datetime]:
    """The ticks of a range in the past, if they are not too many. What has come and is not dealt
    with yet is left to the workers: they would make later ones wait for what they cannot add."""
    if to_micros(last) > view.now:
        raise InvalidArgument("end", last, "it has not come yet; the ticks to come will come")
    due = view.job.next_due_at
    end = last if due is None else min(last, from_micros(due))
    ticks = rule_of(view.job).between(first - MICROSECOND, end - MICROSECOND, MOST_BACKFILL + 1)
    if len(ticks) > MOST_BACKFILL:
        raise InvalidArgument(
            "end", last, f"more than {MOST_BACKFILL} ticks lie in that range; take it in parts"
        )
    return ticks
