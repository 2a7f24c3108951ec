"""Which times of day and which dates match a cron expression.

Sets of numbers are bit masks: bit n says whether n is in the set. Days are numbered from
1970-01-01, weekdays from Sunday, which is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import NamedTuple

ALL_SIXTY = (1 << 60) - 1
ALL_HOURS = (1 << 24) - 1


class Times(NamedTuple):
    """The matching hours, minutes and seconds, one mask each."""

    hours: int
    minutes: int
    seconds: int

    @property
    def earliest(self) -> int:
        """The first second of a day that matches."""
        return lowest(self.hours) * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)

    @property
    def newest(self) -> int:
        """The last second of a day that matches."""
        return highest(self.hours) * 3600 + highest(self.minutes) * 60 + highest(self.seconds)

    def filled_length(self, step: int) -> int | None:
        """Return the length in seconds of the period around a match, a day, an hour or a minute,
        in which every second that is whole `step`s away matches too. `step` is 1 or 60."""
        if step == 1 and self.seconds != ALL_SIXTY:
            return None
        if self.minutes != ALL_SIXTY:
            return 60 if step == 1 else None
        return 86_400 if self.hours == ALL_HOURS else 3600

    def first(self, second: int) -> int | None:
        """Return the first match at or after this second of the day."""
        hour, rest = divmod(second, 3600)
        minute, second = divmod(rest, 60)
        if self.hours >> hour & 1:
            if self.minutes >> minute & 1 and (later := self.seconds >> second):
                return hour * 3600 + minute * 60 + second + lowest(later)
            if later := self.minutes >> minute + 1:
                minute += 1 + lowest(later)
                return hour * 3600 + minute * 60 + lowest(self.seconds)
        if later := self.hours >> hour + 1:
            hour += 1 + lowest(later)
            return hour * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)
        return None

    def last(self, second: int) -> int | None:
        """Return the last match at or before this second of the day."""
        hour, rest = divmod(second, 3600)
        minute, second = divmod(rest, 60)
        if self.hours >> hour & 1:
            if self.minutes >> minute & 1 and (earlier := upto(self.seconds, second)):
                return hour * 3600 + minute * 60 + highest(earlier)
            if earlier := upto(self.minutes, minute - 1):
                return hour * 3600 + highest(earlier) * 60 + highest(self.seconds)
        if earlier := upto(self.hours, hour - 1):
            hour = highest(earlier)
            return hour * 3600 + highest(self.minutes) * 60 + highest(self.seconds)
        return None


def lowest(mask: int) -> int:
    """Return the number of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1


def highest(mask: int) -> int:
    """Return the number of the highest bit that is set."""
    return mask.bit_length() - 1


def upto(mask: int, number: int) -> int:
    """Return the bits 0 to `number`, inclusive."""
    return mask & ((2 << number) - 1) if number >= 0 else 0


def bits(mask: int) -> list[int]:
    """Return the numbers of all bits that are set, in order."""
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


EPOCH_DAY = date(1970, 1, 1).toordinal()
FIRST_DAY = date.min.toordinal() - EPOCH_DAY
LAST_DAY = date.max.toordinal() - EPOCH_DAY
SATURDAY, SUNDAY = 6, 0
# Lengths of the months from 1 on: in common years, and in leap years where that differs.
MONTH_LENGTHS = [
    (),
    (31,),
    (28, 29),
    (31,),
    (30,),
    (31,),
    (30,),
    (31,),
    (31,),
    (30,),
    (31,),
    (30,),
    (31,),
]
# The calendar repeats after 400 years.
CYCLE_MONTHS = 4800


class Shape(NamedTuple):
    """The weekday of a month's first day, and its length: months of one shape match alike."""

    first_weekday: int
    length: int


@dataclass(frozen=True, slots=True)
class MonthDays:
    """The day-of-month field: plain days, days from the end, and days moved off weekends."""

    plain: int
    star: bool = False
    from_end: frozenset[int] = frozenset()  # L is 0, L-3 is 3
    nearest: int | None = None  # 15W
    last_weekday: bool = False  # LW

    def mask(self, shape: Shape) -> int:
        """Return the matching days of a month of this shape."""
        first_weekday, length = shape
        mask = upto(self.plain, length)
        for before in self.from_end:
            mask |= 1 << length - before if before < length else 0
        if self.nearest is not None and self.nearest <= length:
            mask |= 1 << _nearest_weekday(self.nearest, first_weekday, length)
        if self.last_weekday:
            mask |= 1 << _nearest_weekday(length, first_weekday, length)
        return mask


@dataclass(frozen=True, slots=True)
class WeekDays:
    """The day-of-week field: plain weekdays, the nth and the last weekday of a month."""

    plain: int
    star: bool = False
    nth: frozenset[tuple[int, int]] = frozenset()  # MON#2 is (1, 2)
    last: frozenset[int] = frozenset()  # FRIL is 5

    def mask(self, shape: Shape) -> int:
        """Return the matching days of a month of this shape."""
        first_weekday, length = shape
        mask = 0
        for weekday in range(7):
            day = 1 + (weekday - first_weekday) % 7
            if self.plain >> weekday & 1:
                mask |= 0x10204081 << day  # bits 0, 7, 14, 21, 28
        for weekday, number in self.nth:
            mask |= 1 << 1 + (weekday - first_weekday) % 7 + 7 * (number - 1)
        for weekday in self.last:
            mask |= 1 << length - (first_weekday + length - 1 - weekday) % 7
        return upto(mask, length)


@dataclass(frozen=True, slots=True)
class Days:
    """The matching dates: the fields month, day of month and day of week together."""

    months: int
    month_days: MonthDays
    week_days: WeekDays
    _masks: dict[Shape, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def both(self) -> bool:
        """Whether a day must match both day fields: as in cron, if either begins with a star."""
        return self.month_days.star or self.week_days.star

    def first(self, day: int) -> int | None:
        """Return the first match at or after this day."""
        if day > LAST_DAY:
            return None
        on = date.fromordinal(max(day, FIRST_DAY) + EPOCH_DAY)
        later = self._mask(on.year * 12 + on.month - 1) >> on.day
        if later:
            return max(day, FIRST_DAY) + lowest(later)
        for month in range(on.year * 12 + on.month, 10_000 * 12):
            if self.months >> month % 12 + 1 & 1 and (mask := self._mask(month)):
                return _day_number(month, lowest(mask))
        return None

    def last(self, day: int) -> int | None:
        """Return the last match at or before this day."""
        if day < FIRST_DAY:
            return None
        on = date.fromordinal(min(day, LAST_DAY) + EPOCH_DAY)
        this = on.year * 12 + on.month - 1
        if earlier := upto(self._mask(this), on.day):
            return _day_number(this, highest(earlier))
        for month in range(this - 1, 11, -1):
            if self.months >> month % 12 + 1 & 1 and (mask := self._mask(month)):
                return _day_number(month, highest(mask))
        return None

    def ever(self) -> bool:
        """Whether any date matches. Within 400 years every month starts on every weekday."""
        lengths = {n for month in bits(self.months) for n in MONTH_LENGTHS[month]}
        return any(self._match(Shape(first, n)) for first in range(7) for n in lengths)

    def _mask(self, month: int) -> int:
        """Return the matching days of a month; months are numbered from year 0."""
        if not self.months >> month % 12 + 1 & 1:
            return 0
        shape = shape_of(month % CYCLE_MONTHS)
        mask = self._masks.get(shape)
        if mask is None:
            mask = self._masks[shape] = self._match(shape)
        return mask

    def _match(self, shape: Shape) -> int:
        by_month, by_week = self.month_days.mask(shape), self.week_days.mask(shape)
        return by_month & by_week if self.both else by_month | by_week


@lru_cache(CYCLE_MONTHS)
def shape_of(month: int) -> Shape:
    """Return the shape of a month within the cycle of the calendar."""
    year, index = divmod(month + CYCLE_MONTHS, 12)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    # Ordinal 1 was a Monday, so Sundays are multiples of seven.
    return Shape(
        date(year, index + 1, 1).toordinal() % 7, MONTH_LENGTHS[index + 1][leap and index == 1]
    )


def _nearest_weekday(day: int, first_weekday: int, length: int) -> int:
    """Return the day from Monday to Friday that is nearest to `day` within its month."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == SUNDAY:
        return day + 1 if day < length else day - 2
    return day


def _day_number(month: int, day: int) -> int:
    return date(month // 12, month % 12 + 1, day).toordinal() - EPOCH_DAY
