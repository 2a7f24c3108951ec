"""What a language must be able to say of a rule, and the parts of a cron expression that it is
given for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple

# From the first to the last of names in a circle, such as Friday to Monday.
Run = tuple[int, int]
# How the two day fields of an expression are combined: no day field, one, a day must match both, or
# either of them.
DayFields = Literal["none", "week_days", "month_days", "both", "either"]


class NumberSet(NamedTuple):
    """Matching numbers. `step` is n if they are all multiples of n within the unit that follows
    the largest, so that they are evenly spaced for ever: 1 if all match."""

    numbers: tuple[int, ...]
    step: int | None = None

    @property
    def full(self) -> bool:
        return self.step == 1

    @property
    def in_a_row(self) -> bool:
        return self.numbers[-1] - self.numbers[0] == len(self.numbers) - 1


class TimeParts(NamedTuple):
    """The times of day: as few as can be listed (hour, minute, second), or field by field."""

    listed: Sequence[tuple[int, int, int]]
    hours: NumberSet
    minutes: NumberSet
    seconds: NumberSet
    # Whether to say that the times are fixed: an interval of the same times would tick otherwise.
    name_kind: bool


class MonthDayParts(NamedTuple):
    """The days of a month: plain ones, some days before the last, and days moved off weekends."""

    plain: NumberSet
    before_end: Sequence[int]
    nearest: int | None
    last_weekday: bool


class WeekDayParts(NamedTuple):
    """The days of a week, from Sunday, which is 0: plain ones, the nth as (weekday, n), and the
    last ones of the month. `run` says that three or more plain ones follow each other."""

    plain: Sequence[int]
    run: Run | None
    nth: Sequence[tuple[int, int]]
    last: Sequence[int]


class MonthParts(NamedTuple):
    """The matching months, from 1; none are named if all match."""

    months: Sequence[int]
    run: Run | None


class DateParts(NamedTuple):
    """The dates of a cron expression."""

    fields: DayFields
    month_days: MonthDayParts
    week_days: WeekDayParts
    months: MonthParts


class RuleGrammar(ABC):
    """Says rules in one language. Joined rules come as words that were said before."""

    @abstractmethod
    def every(self, interval: timedelta, anchor: datetime | None) -> str:
        """Even intervals, with the instant they are counted from unless that is usual."""

    @abstractmethod
    def cron(self, times: TimeParts, dates: DateParts, zone: str) -> str:
        """Times of day on some dates, by the clocks of a zone."""

    @abstractmethod
    def instants(self, first: Sequence[datetime], more: int) -> str:
        """The first of some instants, and how many more there are."""

    @abstractmethod
    def union(self, rules: Sequence[str]) -> str:
        """All ticks of several rules."""

    @abstractmethod
    def without(
        self,
        rule: str,
        dates: Sequence[date],
        instants: Sequence[datetime],
        rules: Sequence[str],
    ) -> str:
        """A rule without some dates, instants, and ticks of other rules."""

    @abstractmethod
    def within(self, rule: str, start: datetime | None, end: datetime | None) -> str:
        """A rule that begins or ends, or both."""
