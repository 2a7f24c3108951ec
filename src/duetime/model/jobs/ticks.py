"""Ticks: which occurrences a job gets when ticks have come, decided under the job's lock.

A backfill makes occurrences of past ticks.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from duetime.errors import InvalidArgument
from duetime.model.clock import (
    MICROSECOND,
    from_micros,
    maybe_micros,
    micros_of,
    to_micros,
)
from duetime.model.ids import NewId
from duetime.model.jobs.change import FoundJob, JobChange
from duetime.model.jobs.job import misfire_after_of, rule_of
from duetime.model.jobs.misfire import Misfire, MisfirePolicy, decide
from duetime.model.jobs.occurrence import OccurrenceBuilder
from duetime.model.jobs.view import JobView


def apply_ticks(
    found: FoundJob, new_id: NewId, misfire_after: float, *, delayed_by_lock: bool = False
) -> JobChange | None:
    """Apply every tick that has come; None if none is due, as another worker applied them.
    `misfire_after` is for jobs that have none of their own.

    Ticks that are late only because the job was locked were not missed: with `delayed_by_lock`,
    the newest of them runs under every policy.
    """
    job, now = found.job, found.now
    if job is None or job.next_due_at is None or job.next_due_at > now:
        return None
    rule, misfire = rule_of(job), Misfire.from_text(job.definition.misfire)
    if delayed_by_lock and misfire.policy is MisfirePolicy.skip:
        misfire = Misfire.once()
    late_after = misfire_after_of(job, misfire_after)
    due = decide(rule, from_micros(job.next_due_at - 1), from_micros(now), misfire, late_after)
    builder = OccurrenceBuilder(job, found, new_id)
    # Recovered misfires of the policy `all` run one after another where `overlap` would skip them.
    late = due.run and to_micros(due.run[0]) < now - micros_of(late_after)
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
