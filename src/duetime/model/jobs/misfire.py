"""Misfires: ticks whose instant passed while no worker could run them, and their policies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from duetime.errors import InvalidArgument, did_you_mean
from duetime.model.clock import MICROSECOND
from duetime.model.recurrence.base import Recurrence
from duetime.model.validation import check_count, seconds

# A tick that is found at most this late runs late and is not a misfire.
MISFIRE_AFTER_SECONDS = 10.0
# At most this many misfires are listed, the newest ones.
MAX_LISTED_MISFIRES = 100
# At most this many misfires are counted.
MAX_COUNTED_MISFIRES = 1000
MAX_MISFIRE_LIMIT = 1_000


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
        """Run no misfire; misfires are recorded."""
        return cls(MisfirePolicy.skip)

    @classmethod
    def once(cls) -> Misfire:
        """Run the newest misfire, unless a tick that is not a misfire runs now anyway."""
        return cls(MisfirePolicy.once, limit=1)

    @classmethod
    def all(cls, *, limit: int = 100, window: float | timedelta = 86_400) -> Misfire:
        """Run the newest `limit` misfires of the last `window` seconds, oldest first."""
        checked = check_count("limit", limit, MAX_MISFIRE_LIMIT)
        return cls(MisfirePolicy.all, checked, seconds("window", window))

    @classmethod
    def of(cls, value: str | Misfire) -> Misfire:
        """Return the policy that a caller gave to a job, as a name or as a Misfire."""
        if isinstance(value, Misfire):
            return value
        if value in (MisfirePolicy.skip, MisfirePolicy.once):
            return cls.skip() if value == MisfirePolicy.skip else cls.once()
        guess = did_you_mean(value, ["skip", "once"]) if isinstance(value, str) else ""
        remedy = f"give 'skip', 'once' or Misfire.all(limit=, window=){guess}"
        raise InvalidArgument("misfire", value, remedy)

    def to_text(self) -> str:
        """Return `skip`, `once`, or JSON."""
        if self.policy is not MisfirePolicy.all:
            return self.policy.value
        return json.dumps({"all": {"limit": self.limit, "window": self.window}})

    @classmethod
    def from_text(cls, text: str) -> Misfire:
        """Return the policy that `to_text` wrote."""
        try:
            return cls.all(**json.loads(text)["all"]) if text.startswith("{") else cls.of(text)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidArgument("misfire", text, f"duetime did not write it ({error})") from error


@dataclass(frozen=True, slots=True)
class Misfired:
    """Ticks that will not run; a million of them cost no more than a thousand."""

    first: datetime
    last: datetime
    ticks: tuple[datetime, ...]  # the newest of them, oldest first
    count: int
    more: bool  # there are more than `count`


@dataclass(frozen=True, slots=True)
class DueTicks:
    """The ticks that have come: those that run, and those that do not."""

    run: tuple[datetime, ...]  # oldest first
    misfired: Misfired | None


def decide(
    rule: Recurrence,
    after: datetime,
    now: datetime,
    misfire: Misfire,
    misfire_after: float | timedelta = MISFIRE_AFTER_SECONDS,
) -> DueTicks:
    """Decide which ticks in (after, now] run, and which are misfires that do not.

    `after` is the last tick that was applied. Each later tick either runs or is a misfire, and
    the ticks that run are newer than the misfires.
    """
    late = timedelta(seconds=seconds("misfire_after", misfire_after))
    # A tick that is late by exactly `misfire_after` is not a misfire.
    fresh = max(after, now - late - MICROSECOND)
    on_time = _newest(rule, fresh, now)
    recovered = _recovered(rule, after, fresh, now, misfire, on_time)
    run = (*recovered, *on_time)
    return DueTicks(run, _misfired(rule, after, run[0] - MICROSECOND if recovered else fresh))


def _recovered(
    rule: Recurrence,
    after: datetime,
    until: datetime,
    now: datetime,
    misfire: Misfire,
    on_time: tuple[datetime, ...],
) -> tuple[datetime, ...]:
    """Return the misfires in (after, until] that the policy runs."""
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
    """Return the newest ticks in (after, until], oldest first, searched from the end."""
    ticks: list[datetime] = []
    tick = rule.latest(after, until)
    while tick is not None and (limit is None or len(ticks) < limit):
        ticks.append(tick)
        before = tick - MICROSECOND
        # In an empty range a rule would search far back before it returns None.
        tick = rule.latest(after, before) if after < before else None
    return tuple(reversed(ticks))


def _misfired(rule: Recurrence, after: datetime, until: datetime) -> Misfired | None:
    last = rule.latest(after, until) if after < until else None
    if last is None:
        return None
    ticks = _newest(rule, after, until, MAX_LISTED_MISFIRES)
    # `between` searches from the start, and past very many excluded ticks it may find fewer.
    counted = max(rule.between(after, until, MAX_COUNTED_MISFIRES + 1), list(ticks), key=len)
    count = min(len(counted), MAX_COUNTED_MISFIRES)
    return Misfired(counted[0], last, ticks, count, more=len(counted) > count)
