"""Misfires: what becomes of ticks whose instant passed while nothing could run them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from duetime.errors import InvalidArgument, did_you_mean
from duetime.model.clock import MICROSECOND
from duetime.model.recurrence.base import Recurrence
from duetime.model.validation import check_count, seconds

# A tick that is found so late, in seconds, just runs late.
MISFIRE_AFTER = 10.0
# So many misfires are named one by one; of more, the newest.
LISTED = 100
# And so many are counted.
COUNTED = 1000
MOST = 1_000


class MisfirePolicy(StrEnum):
    skip = "skip"
    once = "once"
    all = "all"


@dataclass(frozen=True, slots=True)
class Misfire:
    """`Misfire.skip()`, `Misfire.once()`, or `Misfire.all(limit=, window=)`."""

    policy: MisfirePolicy
    limit: int = 0
    window: float = 0.0

    @classmethod
    def skip(cls) -> Misfire:
        """Run none of them; they are recorded."""
        return cls(MisfirePolicy.skip)

    @classmethod
    def once(cls) -> Misfire:
        """Run the newest, unless a tick that is not yet a misfire runs now anyway."""
        return cls(MisfirePolicy.once, limit=1)

    @classmethod
    def all(cls, *, limit: int = 100, window: float | timedelta = 86_400) -> Misfire:
        """Run those of the last `window`, the newest `limit` of them, oldest first."""
        most = check_count("limit", limit, MOST)
        return cls(MisfirePolicy.all, most, seconds("window", window))

    @classmethod
    def of(cls, value: str | Misfire) -> Misfire:
        """What was given to a job."""
        if isinstance(value, Misfire):
            return value
        if value in (MisfirePolicy.skip, MisfirePolicy.once):
            return cls.skip() if value == MisfirePolicy.skip else cls.once()
        guess = did_you_mean(value, ["skip", "once"]) if isinstance(value, str) else ""
        remedy = f"give 'skip', 'once' or Misfire.all(limit=, window=){guess}"
        raise InvalidArgument("misfire", value, remedy)

    def to_text(self) -> str:
        """`skip`, `once`, or JSON."""
        if self.policy is not MisfirePolicy.all:
            return self.policy.value
        return json.dumps({"all": {"limit": self.limit, "window": self.window}})

    @classmethod
    def from_text(cls, text: str) -> Misfire:
        try:
            return cls.all(**json.loads(text)["all"]) if text.startswith("{") else cls.of(text)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidArgument(
                "misfire", text, f"it was not written by duetime ({error})"
            ) from error


@dataclass(frozen=True, slots=True)
class Misfired:
    """Ticks that will not run. A million of them cost no more than a thousand."""

    first: datetime
    last: datetime
    ticks: tuple[datetime, ...]  # the newest of them, oldest first
    count: int
    more: bool  # there are more than `count`


@dataclass(frozen=True, slots=True)
class Due:
    """What to do about the ticks that have come."""

    run: tuple[datetime, ...]  # oldest first
    misfired: Misfired | None


def decide(
    rule: Recurrence,
    after: datetime,
    now: datetime,
    misfire: Misfire,
    misfire_after: float | timedelta = MISFIRE_AFTER,
) -> Due:
    """Which ticks in (after, now] run, and which are misfires that do not.

    `after` is the last tick that was dealt with. Each tick of the time between is in one of the
    two; those that run are newer than those that do not.
    """
    late = timedelta(seconds=seconds("misfire_after", misfire_after))
    # A tick that is exactly so late is not a misfire.
    fresh = max(after, now - late - MICROSECOND)
    on_time = _newest(rule, fresh, now)
    made_up = _made_up(rule, after, fresh, now, misfire, on_time)
    run = (*made_up, *on_time)
    return Due(run, _misfired(rule, after, run[0] - MICROSECOND if made_up else fresh))


def _made_up(
    rule: Recurrence,
    after: datetime,
    until: datetime,
    now: datetime,
    misfire: Misfire,
    on_time: tuple[datetime, ...],
) -> tuple[datetime, ...]:
    """The misfires in (after, until] that run nevertheless."""
    match misfire.policy:
        case MisfirePolicy.skip:
            return ()
        case MisfirePolicy.once:
            return () if on_time else _newest(rule, after, until, 1)
        case MisfirePolicy.all:
            window = timedelta(seconds=misfire.window)
            return _newest(rule, max(after, now - window - MICROSECOND), until, misfire.limit)


def _newest(
    rule: Recurrence, after: datetime, until: datetime, limit: int | None = None
) -> tuple[datetime, ...]:
    """The newest ticks in (after, until], oldest first; found from the end."""
    found: list[datetime] = []
    tick = rule.latest(after, until)
    while tick is not None and (limit is None or len(found) < limit):
        found.append(tick)
        before = tick - MICROSECOND
        # Where nothing can lie between, a rule would look far back to say so.
        tick = rule.latest(after, before) if after < before else None
    return tuple(reversed(found))


def _misfired(rule: Recurrence, after: datetime, until: datetime) -> Misfired | None:
    last = rule.latest(after, until) if after < until else None
    if last is None:
        return None
    counted = rule.between(after, until, COUNTED + 1)
    ticks = _newest(rule, after, until, LISTED)
    return Misfired(counted[0], last, ticks, min(len(counted), COUNTED), len(counted) > COUNTED)
