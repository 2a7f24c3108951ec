"""Recurrences: rules that name instants, the ticks, at which a job is due.

A rule is a value. `next` is strictly increasing and skips no tick; `latest` and `between` agree
with `next`. Ticks are aware datetimes in UTC.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from duetime.errors import InvalidArgument, InvalidRecurrence, NaiveDatetime
from duetime.model.clock import EPOCH, MICROSECOND
from duetime.model.recurrence.cron_calendar import EPOCH_DAY
from duetime.model.recurrence.zone import DAY, Span, zone
from duetime.model.validation import instant
from duetime.words.languages import language_of
from duetime.words.phrase import phrase

SECOND = timedelta(seconds=1)
BEGINNING = datetime.min.replace(tzinfo=UTC)
END = datetime.max.replace(tzinfo=UTC)
# One call of `wake` compares excluded ticks with rules at most this many times. Whether one endless
# rule leaves any tick of another cannot be known: a search ends after this many wakes.
MAX_CHECKS_PER_WAKE = 10_000
MAX_WAKES_PER_SEARCH = 10
# Of that bound, one step of a patient search may take this part.
SEARCH_SHARE = 100


class Grid(NamedTuple):
    """Around a tick, in seconds `start <= t < end`: all ticks are whole `step`s away from it."""

    step: int
    start: int
    end: int


class Recurrence(ABC):
    """A rule. Join rules with `|`; exclude dates, instants or another rule's ticks with `-`."""

    __slots__ = ()

    @abstractmethod
    def next(self, after: datetime) -> datetime | None:
        """Return the first tick strictly after `after`; None if there is none up to year 9999."""

    def wake(self, after: datetime, share: int = 1) -> datetime | None:
        """Return the next tick, or an earlier instant from which to search on if very many ticks
        in a row are excluded. None only if there is no later tick.

        `share` is the number of rules that share the bound of one search.
        """
        return self.next(after)

    @abstractmethod
    def latest(self, after: datetime, until: datetime) -> datetime | None:
        """Return the newest tick in (after, until], searched backwards from `until`."""

    @abstractmethod
    def describe(self, language: str = "en") -> str:
        """Return the rule in words: English, or those of another language, as "fr"."""

    @property
    @abstractmethod
    def zones(self) -> frozenset[str]:
        """The zones whose local clocks the rule reads."""

    @property
    def tz(self) -> str:
        """The rule's only zone, else UTC; excluded dates are dates in this zone."""
        return next(iter(self.zones)) if len(self.zones) == 1 else "UTC"

    def between(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """Return the first ticks in (after, until], oldest first, at most `limit`."""
        end = instant("until", until)
        ticks: list[datetime] = []
        tick = self.next(after)
        while tick is not None and tick <= end and len(ticks) < limit:
            ticks.append(tick)
            tick = self.next(tick)
        return ticks

    def search(
        self, after: datetime, until: datetime, limit: int, patience: int
    ) -> tuple[list[datetime], int]:
        """Return the first ticks in (after, until], oldest first, at most `limit`; and how much of
        the patience is left. Each part of a search that finds no tick costs one; with none left,
        there may be more ticks."""
        ticks: list[datetime] = []
        wake = self.wake(after, SEARCH_SHARE)
        while wake is not None and wake <= until and len(ticks) < limit and patience:
            if self._is_tick(wake):
                ticks.append(wake)
            else:
                patience -= 1
            wake = self.wake(wake, SEARCH_SHARE)
        return ticks, patience

    def _is_tick(self, wake: datetime) -> bool:
        """Return whether what `wake` returned is a tick, as it always is of most rules."""
        return True

    def __contains__(self, tick: datetime) -> bool:
        if not isinstance(tick, datetime):
            raise InvalidArgument("tick", tick, phrase("give an aware datetime"))
        if tick.utcoffset() is None:
            raise NaiveDatetime("tick", tick)
        try:
            at = tick.astimezone(UTC)
            before = at - MICROSECOND
        except OverflowError:
            # Every tick lies strictly after the first instant of the calendar.
            return False
        return self.latest(before, at) is not None

    def __or__(self, other: Recurrence) -> Recurrence:
        return AnyOf((self, other)) if isinstance(other, Recurrence) else NotImplemented

    def __sub__(self, excluded: Excluded | Iterable[Excluded]) -> Recurrence:
        exclusions = _exclusions_of(excluded)
        if exclusions == Exclusions():
            return self
        left = self._without(exclusions)
        if left.next(BEGINNING) is None:
            remedy = phrase("the exclusion leaves no tick of: {rule}", rule=self.describe())
            raise InvalidRecurrence("recurrence", excluded, remedy)
        return left

    def _without(self, excluded: Exclusions) -> Recurrence:
        return Without(self, excluded)

    @property
    def _rule_count(self) -> int:
        """How many plain rules a search for one tick asks."""
        return 1

    # Where both rules allow it, a search passes a long exclusion in one step.

    def _grid(self, second: int) -> Grid | None:
        """Return the grid on which the ticks around the tick `second` lie, if there is one."""
        return None

    def _filled(self, second: int, step: int) -> tuple[int, int] | None:
        """Return the range (start, end) around the tick `second` in which every second that is
        whole `step`s away from it is a tick, if there is one."""
        return None


Excluded = date | datetime | Recurrence


@dataclass(frozen=True, slots=True, init=False)
class AnyOf(Recurrence):
    """A union: every tick of every rule, once."""

    rules: tuple[Recurrence, ...]

    def __init__(self, rules: Iterable[Recurrence]) -> None:
        flat = [
            plain for rule in rules for plain in (rule.rules if isinstance(rule, AnyOf) else [rule])
        ]
        object.__setattr__(self, "rules", tuple(dict.fromkeys(flat)))

    def next(self, after: datetime) -> datetime | None:
        for _ in range(MAX_WAKES_PER_SEARCH):
            tick = self.wake(after)
            if tick is None or self._is_tick(tick):
                return tick
            after = tick
        return None

    def wake(self, after: datetime, share: int = 1) -> datetime | None:
        wakes = [rule.wake(after, share * len(self.rules)) for rule in self.rules]
        return min((wake for wake in wakes if wake is not None), default=None)

    def _is_tick(self, wake: datetime) -> bool:
        return wake in self

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        ticks = [rule.latest(after, until) for rule in self.rules]
        return max((tick for tick in ticks if tick is not None), default=None)

    def describe(self, language: str = "en") -> str:
        grammar = language_of(language).rules
        return grammar.union([rule.describe(language) for rule in self.rules])

    @property
    def zones(self) -> frozenset[str]:
        return frozenset[str]().union(*(rule.zones for rule in self.rules))

    def _without(self, excluded: Exclusions) -> Recurrence:
        # Rule by rule, because an excluded date is a date in the zone of each rule.
        return AnyOf(rule._without(excluded) for rule in self.rules)

    @property
    def _rule_count(self) -> int:
        return sum(rule._rule_count for rule in self.rules)

    def _filled(self, second: int, step: int) -> tuple[int, int] | None:
        tick = EPOCH + timedelta(seconds=second)
        for rule in self.rules:
            filled = rule._filled(second, step)
            if filled is not None and tick in rule:
                return filled
        return None


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The ticks that a rule leaves out: by local date, by instant, or as ticks of other rules."""

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
        for _ in range(MAX_WAKES_PER_SEARCH):
            tick = self.wake(after)
            if tick is None or self._is_tick(tick):
                return tick
            after = tick
        return None

    def wake(self, after: datetime, share: int = 1) -> datetime | None:
        tick = self.rule.next(after)
        for _ in range(self._max_stretches(share)):
            if tick is None or (stretch := self._stretch(tick)) is None:
                return tick
            tick = self.rule.next(stretch[1])
        return tick

    def _is_tick(self, wake: datetime) -> bool:
        return self._stretch(wake) is None

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        tick = self.rule.latest(after, until)
        for _ in range(self._max_stretches() * MAX_WAKES_PER_SEARCH):
            if tick is None or (stretch := self._stretch(tick)) is None:
                return tick
            tick = self.rule.latest(after, stretch[0])
        return tick if tick is not None and self._stretch(tick) is None else None

    def describe(self, language: str = "en") -> str:
        return language_of(language).rules.without(
            self.rule.describe(language),
            sorted(self.excluded.dates),
            sorted(self.excluded.instants),
            [rule.describe(language) for rule in self.excluded.rules],
        )

    @property
    def zones(self) -> frozenset[str]:
        return self.rule.zones.union(*(rule.zones for rule in self.excluded.rules))

    @property
    def tz(self) -> str:
        return self.rule.tz

    def _without(self, excluded: Exclusions) -> Recurrence:
        return Without(self.rule, self.excluded | excluded)

    @property
    def _rule_count(self) -> int:
        return self.rule._rule_count + sum(rule._rule_count for rule in self.excluded.rules)

    def _max_stretches(self, share: int = 1) -> int:
        """Return how many excluded stretches one wake passes: the fewer, the more rules each of
        them asks."""
        excluded = sum(rule._rule_count for rule in self.excluded.rules)
        checks = share * max(1, excluded, self.rule._rule_count)
        return max(1, MAX_CHECKS_PER_WAKE // checks)

    def _stretch(self, tick: datetime) -> tuple[datetime, datetime] | None:
        """Return where to search on around an excluded tick, backward and forward; None if the
        tick is not excluded."""
        if self.excluded.dates:
            seconds = (tick - EPOCH) // SECOND
            span = zone(self.tz).span(seconds)
            day = (seconds + span.offset) // DAY
            if date.fromordinal(day + EPOCH_DAY) in self.excluded.dates:
                return _day_within(span, day)
        if tick in self.excluded.instants:
            return tick - MICROSECOND, tick
        rule = next((rule for rule in self.excluded.rules if tick in rule), None)
        return None if rule is None else self._stretch_of(rule, tick)

    def _stretch_of(self, excluded: Recurrence, tick: datetime) -> tuple[datetime, datetime]:
        """Return the stretch around `tick` in which all ticks are excluded by one rule."""
        second = (tick - EPOCH) // SECOND
        grid = self.rule._grid(second)
        filled = None if grid is None else excluded._filled(second, grid.step)
        if grid is None or filled is None:
            return tick - MICROSECOND, tick
        start, end = max(filled[0], grid.start), min(filled[1], grid.end)
        return _just_before(start), _just_before(end)


def _day_within(span: Span, day: int) -> tuple[datetime, datetime]:
    """Return the instants just before a local day and at its end, clipped to the span: the next
    span may set the clock back to the day before, which is not excluded."""
    start = max(day * DAY - span.offset, span.start)
    end = min((day + 1) * DAY - span.offset, span.end)
    return _just_before(start), _just_before(end)


def _just_before(second: int) -> datetime:
    """Return the last instant before `second`, clipped to the calendar."""
    try:
        return EPOCH + timedelta(seconds=second) - MICROSECOND
    except OverflowError:
        return BEGINNING if second < 0 else END


def _exclusions_of(excluded: Excluded | Iterable[Excluded]) -> Exclusions:
    """Sort dates, instants and rules; refuse everything else."""
    items = [excluded] if isinstance(excluded, date | Recurrence) else excluded
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise _not_excludable(excluded)
    dates: set[date] = set()
    instants: set[datetime] = set()
    rules: dict[Recurrence, None] = {}
    for item in items:
        match item:
            case datetime():
                instants.add(instant("excluded", item))
            case date():
                dates.add(item)
            case Recurrence():
                rules[item] = None
            case _:
                raise _not_excludable(item)
    return Exclusions(frozenset(dates), frozenset(instants), tuple(rules))


def _not_excludable(value: object) -> InvalidRecurrence:
    remedy = phrase("exclude dates, aware datetimes, a rule, or a list of them")
    return InvalidRecurrence("excluded", value, remedy)
