"""Recurrences: rules that say at which instants, the ticks, a job is due.

A rule is a value. `next` is strictly increasing and skips nothing; `latest` and `between` agree
with it. Ticks are aware datetimes in UTC.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from duetime.errors import InvalidRecurrence
from duetime.model.clock import EPOCH, MICROSECOND
from duetime.model.recurrence.cron_calendar import EPOCH_DAY
from duetime.model.recurrence.zone import DAY, Span, zone
from duetime.model.validation import instant

SECOND = timedelta(seconds=1)
BEGINNING = datetime.min.replace(tzinfo=UTC)
END = datetime.max.replace(tzinfo=UTC)
# So many excluded ticks are looked at in one go. That an exclusion leaves nothing of two endless
# rules can only be guessed: after so many goes.
PATIENCE = 10_000
GOES = 10


class Grid(NamedTuple):
    """From `start` until before `end`, in seconds, ticks lie on whole multiples of `step` only."""

    step: int
    start: int
    end: int


class Recurrence(ABC):
    """A rule. Join rules with `|`, exclude dates, instants or another rule's ticks with `-`."""

    __slots__ = ()

    @abstractmethod
    def next(self, after: datetime) -> datetime | None:
        """The first tick strictly after `after`; None when there is none up to year 9999."""

    def wake(self, after: datetime) -> datetime | None:
        """The next tick; or, where very many in a row are excluded, an instant before it, from
        which to go on. None only if there is none."""
        return self.next(after)

    @abstractmethod
    def latest(self, after: datetime, until: datetime) -> datetime | None:
        """The newest tick in (after, until]; found from its end, however long that is."""

    @abstractmethod
    def describe(self) -> str:
        """The rule in words."""

    @property
    @abstractmethod
    def zones(self) -> frozenset[str]:
        """The zones by which it reads local clocks."""

    @property
    def tz(self) -> str:
        """Its zone, where it has one; excluded dates are dates there."""
        return next(iter(self.zones)) if len(self.zones) == 1 else "UTC"

    def between(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """The first ticks in (after, until], oldest first, `limit` of them at most."""
        end = instant("until", until)
        found: list[datetime] = []
        tick = self.next(after)
        while tick is not None and tick <= end and len(found) < limit:
            found.append(tick)
            tick = self.next(tick)
        return found

    def __contains__(self, tick: datetime) -> bool:
        return self.latest(tick - MICROSECOND, tick) is not None

    def __or__(self, other: Recurrence) -> Recurrence:
        return AnyOf((self, other)) if isinstance(other, Recurrence) else NotImplemented

    def __sub__(self, excluded: Excluded | Iterable[Excluded]) -> Recurrence:
        exclusions = _sorted_out(excluded)
        if exclusions == Exclusions():
            return self
        left = self._without(exclusions)
        if left.next(BEGINNING) is None:
            raise InvalidRecurrence(
                "recurrence", excluded, f"excluding it leaves no tick of: {self.describe()}"
            )
        return left

    def _without(self, excluded: Exclusions) -> Recurrence:
        return Without(self, excluded)

    # Long exclusions are passed in large steps, where two rules allow it.

    def _grid(self, second: int) -> Grid | None:
        """Where its ticks around this one lie."""
        return None

    def _filled(self, second: int, step: int) -> tuple[int, int] | None:
        """Around one of its ticks: from when until before when it has every multiple of `step`."""
        return None


Excluded = date | datetime | Recurrence


@dataclass(frozen=True, slots=True, init=False)
class AnyOf(Recurrence):
    """A union: every tick of every rule, once."""

    rules: tuple[Recurrence, ...]

    def __init__(self, rules: Iterable[Recurrence]) -> None:
        flat = [
            one for rule in rules for one in (rule.rules if isinstance(rule, AnyOf) else [rule])
        ]
        object.__setattr__(self, "rules", tuple(dict.fromkeys(flat)))

    def next(self, after: datetime) -> datetime | None:
        ticks = [rule.next(after) for rule in self.rules]
        return min((tick for tick in ticks if tick is not None), default=None)

    def wake(self, after: datetime) -> datetime | None:
        wakes = [rule.wake(after) for rule in self.rules]
        return min((wake for wake in wakes if wake is not None), default=None)

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        ticks = [rule.latest(after, until) for rule in self.rules]
        return max((tick for tick in ticks if tick is not None), default=None)

    def describe(self) -> str:
        return "; and ".join(rule.describe() for rule in self.rules)

    @property
    def zones(self) -> frozenset[str]:
        return frozenset[str]().union(*(rule.zones for rule in self.rules))

    def _without(self, excluded: Exclusions) -> Recurrence:
        # Each rule by itself: an excluded date is a date in the zone of the rule it is taken from.
        return AnyOf(rule._without(excluded) for rule in self.rules)

    def _filled(self, second: int, step: int) -> tuple[int, int] | None:
        tick = EPOCH + timedelta(seconds=second)
        filled = (rule._filled(second, step) for rule in self.rules if tick in rule)
        return next((stretch for stretch in filled if stretch is not None), None)


@dataclass(frozen=True, slots=True)
class Exclusions:
    """What a rule leaves out: local dates, single instants, the ticks of other rules."""

    dates: frozenset[date] = frozenset()
    instants: frozenset[datetime] = frozenset()
    rules: tuple[Recurrence, ...] = ()

    def __or__(self, other: Exclusions) -> Exclusions:
        return Exclusions(
            self.dates | other.dates,
            self.instants | other.instants,
            tuple(dict.fromkeys((*self.rules, *other.rules))),
        )


@dataclass(frozen=True, slots=True)
class Without(Recurrence):
    """A rule without some of its ticks."""

    rule: Recurrence
    excluded: Exclusions

    def next(self, after: datetime) -> datetime | None:
        for _ in range(GOES):
            tick = self.wake(after)
            if tick is None or self._skipped(tick) is None:
                return tick
            after = tick
        return None

    def wake(self, after: datetime) -> datetime | None:
        tick = self.rule.next(after)
        for _ in range(PATIENCE):
            if tick is None or (skipped := self._skipped(tick)) is None:
                return tick
            tick = self.rule.next(skipped[1])
        return tick

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        tick = self.rule.latest(after, until)
        for _ in range(PATIENCE * GOES):
            if tick is None or (skipped := self._skipped(tick)) is None:
                return tick
            tick = self.rule.latest(after, skipped[0])
        return None

    def describe(self) -> str:
        days = [day.isoformat() for day in sorted(self.excluded.dates)]
        moments = [moment.isoformat() for moment in sorted(self.excluded.instants)]
        rules = [f"({rule.describe()})" for rule in self.excluded.rules]
        return f"{self.rule.describe()}, except {', '.join([*days, *moments, *rules])}"

    @property
    def zones(self) -> frozenset[str]:
        return self.rule.zones.union(*(rule.zones for rule in self.excluded.rules))

    @property
    def tz(self) -> str:
        return self.rule.tz

    def _without(self, excluded: Exclusions) -> Recurrence:
        return Without(self.rule, self.excluded | excluded)

    def _skipped(self, tick: datetime) -> tuple[datetime, datetime] | None:
        """Around an excluded tick: where to go on looking, backward and forward."""
        if self.excluded.dates:
            seconds = (tick - EPOCH) // SECOND
            span = zone(self.tz).span(seconds)
            day = (seconds + span.offset) // DAY
            if date.fromordinal(day + EPOCH_DAY) in self.excluded.dates:
                return _around(day, span)
        if tick in self.excluded.instants:
            return tick - MICROSECOND, tick
        rule = next((rule for rule in self.excluded.rules if tick in rule), None)
        return None if rule is None else self._passed(tick, rule)

    def _passed(self, tick: datetime, excluded: Recurrence) -> tuple[datetime, datetime]:
        """With its neighbours, if they are all excluded too."""
        second = (tick - EPOCH) // SECOND
        grid = self.rule._grid(second)
        filled = None if grid is None else excluded._filled(second, grid.step)
        if grid is None or filled is None:
            return tick - MICROSECOND, tick
        start, end = max(filled[0], grid.start), min(filled[1], grid.end)
        return _before(start), _before(end)


def _around(day: int, span: Span) -> tuple[datetime, datetime]:
    """Just before and at the end of a day: of the part that lies in one span, because the clock
    may then be set back to the day before, which is not excluded."""
    start = max(day * DAY - span.offset, span.start)
    end = min((day + 1) * DAY - span.offset, span.end)
    return _before(start), _before(end)


def _before(second: int) -> datetime:
    """The last instant before it, as far as the calendar goes."""
    try:
        return EPOCH + timedelta(seconds=second) - MICROSECOND
    except OverflowError:
        return BEGINNING if second < 0 else END


def _sorted_out(excluded: Excluded | Iterable[Excluded]) -> Exclusions:
    given = [excluded] if isinstance(excluded, date | Recurrence) else excluded
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _no_exclusion(excluded)
    dates: set[date] = set()
    instants: set[datetime] = set()
    rules: dict[Recurrence, None] = {}
    for one in given:
        match one:
            case datetime():
                instants.add(instant("excluded", one))
            case date():
                dates.add(one)
            case Recurrence():
                rules[one] = None
            case _:
                raise _no_exclusion(one)
    return Exclusions(frozenset(dates), frozenset(instants), tuple(rules))


def _no_exclusion(value: object) -> InvalidRecurrence:
    return InvalidRecurrence(
        "excluded", value, "exclude dates, aware datetimes, a rule, or a list of them"
    )
