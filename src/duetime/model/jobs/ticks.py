"""Ticks: which occurrences a job gets when ticks have come, decided under the job's lock.

Jitter makes an occurrence due later than its tick, so that jobs of the same tick do not all start
at once. A backfill makes occurrences of past ticks.
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
from duetime.model.jobs.change import FoundJob, JobChange, NewOccurrence
from duetime.model.jobs.job import JobRecord, Overlap, rule_of
from duetime.model.jobs.misfire import Misfire, Misfired, MisfirePolicy, decide
from duetime.model.jobs.occurrence import new_occurrence
from duetime.model.jobs.view import JobView
from duetime.model.validation import micros


def apply_ticks(
    found: FoundJob, new_id: NewId, misfire_after: float, *, delayed_by_lock: bool = False
) -> JobChange | None:
    """Apply every tick that has come; None if none is due, as another worker applied them.

    Ticks that are late only because the job was locked were not missed: with `delayed_by_lock`,
    the newest of them runs under every policy.
    """
    job, now = found.job, found.now
    if job is None or job.next_due_at is None or job.next_due_at > now:
        return None
    rule, misfire = rule_of(job), Misfire.from_text(job.definition.misfire)
    if delayed_by_lock and misfire.policy is MisfirePolicy.skip:
        misfire = Misfire.once()
    due = decide(rule, from_micros(job.next_due_at - 1), from_micros(now), misfire, misfire_after)
    builder = OccurrenceBuilder(job, found, new_id)
    # Recovered misfires of the policy `all` run one after another where `overlap` would skip them.
    late = due.run and to_micros(due.run[0]) < now - micros_of(misfire_after)
    queued = bool(late) and misfire.policy is MisfirePolicy.all
    occurrences = [*builder.misfired(due.misfired), *builder.run(due.run, queued=queued)]
    ticks = [occurrence.tick for occurrence in occurrences if occurrence.tick is not None]
    following = rule.wake(from_micros(now))
    after = replace(
        job.unpaused(),
        last_tick=max(ticks, default=job.last_tick),
        next_due_at=maybe_micros(following),
    )
    return JobChange(job=after, occurrences=tuple(occurrences))


class OccurrenceBuilder:
    """Builds the occurrences of a job; each knows the ones before it."""

    def __init__(self, job: JobRecord, found: FoundJob, new_id: NewId) -> None:
        self._job = job
        self._new_id = new_id
        self._tail = found.queue_tail
        self._is_waiting = any(occurrence.after is not None for occurrence in found.unfinished)

    def run(self, ticks: Sequence[datetime], *, queued: bool) -> Iterator[NewOccurrence]:
        """Yield the occurrences of ticks that run; with `queued`, they wait for each other where
        they would otherwise be skipped."""
        for tick in map(to_micros, ticks):
            yield self._run(tick, queued=queued)

    def misfired(self, misfired: Misfired | None) -> Iterator[NewOccurrence]:
        """Yield a skipped occurrence for each misfire; of very many, for the newest ones, and one
        for all before them."""
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
        if self._tail is None or overlap is Overlap.allow:
            return self._due(tick, None)
        if queued or (overlap is Overlap.queue and not self._is_waiting):
            return self._due(tick, self._tail)
        waits = " and another waits for it" if overlap is Overlap.queue else ""
        return self._skip(tick, f"skipped: occurrence {self._tail} is unfinished{waits}")

    def _due(self, tick: int, after: UUID | None) -> NewOccurrence:
        due_at = tick + self._jitter(tick)
        new = new_occurrence(self._job, self._new_id(), tick=tick, due_at=due_at, after=after)
        self._tail, self._is_waiting = new.action.id, self._is_waiting or after is not None
        return new

    def _jitter(self, tick: int) -> int:
        spread = seconds_of(self._job.definition.jitter)
        if not spread:
            return 0
        return jitter_of(self._job.name, from_micros(tick), spread) // MICROSECOND

    def _skip(self, tick: int, reason: str) -> NewOccurrence:
        return new_occurrence(self._job, self._new_id(), tick=tick, due_at=tick, skipped=reason)


def jitter_of(job: str, tick: datetime, jitter: float | timedelta) -> timedelta:
    """Return a delay in [0, jitter) that is the same for a job and tick in every process."""
    digest = sha256(f"{job}\n{to_micros(tick)}".encode()).digest()
    fraction = int.from_bytes(digest[:8], "big")
    return timedelta(microseconds=fraction * micros("jitter", jitter) >> 64)


MAX_BACKFILL_TICKS = 1000


def backfill_ticks(view: JobView, first: datetime, last: datetime) -> list[datetime]:
    """Return the ticks in `first <= tick < last`, refused if they are too many or in the future.

    Ticks that have come and are not applied yet are left to the workers.
    """
    if to_micros(last) > view.now:
        remedy = "end must not be in the future; future ticks run by themselves"
        raise InvalidArgument("end", last, remedy)
    due = view.job.next_due_at
    end = last if due is None else min(last, from_micros(due))
    ticks = rule_of(view.job).between(
        first - MICROSECOND, end - MICROSECOND, MAX_BACKFILL_TICKS + 1
    )
    if len(ticks) > MAX_BACKFILL_TICKS:
        raise InvalidArgument(
            "end", last, f"the range has more than {MAX_BACKFILL_TICKS} ticks; backfill it in parts"
        )
    return ticks
