"""Backfill: the ticks of the past of which occurrences may still be made."""

from __future__ import annotations

from datetime import datetime

from duetime.errors import InvalidArgument
from duetime.model.clock import MICROSECOND, from_micros, to_micros
from duetime.model.job import rule_of
from duetime.model.job_view import JobView

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
