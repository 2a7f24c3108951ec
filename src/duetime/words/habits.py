"""How people write numbers, durations and dates, by the habits of their language."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import NamedTuple

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
NARROW_NO_BREAK_SPACE = "\N{NARROW NO-BREAK SPACE}"
# What stands where there is no number.
NO_NUMBER = "\N{EN DASH}"
# Python writes no whole number of more digits than 4,300; people need far fewer.
MAX_SHOWN_NUMBER = 10**30
MINUTE, HOUR, DAY = 60, 3600, 86_400


class Habits(NamedTuple):
    """The marks and short names that people of a language use; months from January, days of the
    week from Monday."""

    group_mark: str
    decimal_mark: str
    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    first_of_month: str
    # Of a duration in days, as in `3 d`.
    day_unit: str


ENGLISH_HABITS = Habits(
    ",",
    ".",
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "1",
    "d",
)


def whole_number(number: int, habits: Habits) -> str:
    """`12,345`, or `12 345` in French; the bound of what is larger than people can read."""
    if abs(number) >= MAX_SHOWN_NUMBER:
        return "> 10^30" if number > 0 else "< -10^30"
    return f"{number:,}".replace(",", habits.group_mark)


def decimal_number(number: float, digits: int, habits: Habits) -> str:
    """A number with up to `digits` decimals: `1.5`, `1,5`; `2` rather than `2.0`."""
    if not math.isfinite(number):
        return NO_NUMBER
    if abs(number) >= MAX_SHOWN_NUMBER:
        return whole_number(int(number), habits)
    before, _, after = f"{abs(number):.{digits}f}".partition(".")
    after = after.rstrip("0")
    sign = "-" if number < 0 and (int(before) or after) else ""
    mark = habits.decimal_mark if after else ""
    return f"{sign}{whole_number(int(before), habits)}{mark}{after}"


def with_unit(number: str, unit: str) -> str:
    """A number and its unit, which stay on one line."""
    return f"{number}{NO_BREAK_SPACE}{unit}"


def duration_text(seconds: float, habits: Habits) -> str:
    """`2.4 ms`, `1.2 s`, `3 min 4 s`, `2 h 5 min`, `3 d 4 h`; in French `2,4 ms` and `3 j 4 h`."""
    if not math.isfinite(seconds):
        return NO_NUMBER
    size = _size(abs(seconds), habits)
    return f"-{size}" if seconds < 0 and size != _size(0, habits) else size


def day_text(local: datetime, habits: Habits, *, year: bool = True) -> str:
    """`14 Jun 2026`, `14 juin 2026`."""
    number = habits.first_of_month if local.day == 1 else str(local.day)
    day = f"{number} {habits.months[local.month - 1]}"
    return f"{day} {local.year}" if year else day


def exact_instant(local: datetime, habits: Habits) -> str:
    """`Sun 14 Jun 2026, 14:02:00.25 Europe/Paris (UTC+2)`: nothing is left to guess, also not
    which of the two hours between which a clock is set back."""
    day = f"{habits.weekdays[local.weekday()]} {day_text(local, habits)}"
    fraction = f"{local.microsecond:06}".rstrip("0")
    mark = habits.decimal_mark if fraction else ""
    return f"{day}, {local:%H:%M:%S}{mark}{fraction} {_zone_at(local)}"


def _size(seconds: float, habits: Habits) -> str:
    # Each limit is where rounding reaches the next unit: 59.97 s are 1 min.
    if seconds < 0.0995:
        digits = 1 if seconds >= 0.00095 else 2
        return with_unit(decimal_number(seconds * 1000, digits, habits), "ms")
    if seconds < 0.9995:
        return with_unit(whole_number(round(seconds * 1000), habits), "ms")
    if seconds < 9.95:
        return with_unit(decimal_number(seconds, 1, habits), "s")
    if seconds < 59.5:
        return with_unit(whole_number(round(seconds), habits), "s")
    if seconds < HOUR - 0.5:
        return _two_units(round(seconds), 60, "min", "s", habits)
    if seconds < DAY - MINUTE / 2:
        return _two_units(round(seconds / MINUTE), 60, "h", "min", habits)
    return _two_units(round(seconds / HOUR), 24, habits.day_unit, "h", habits)


def _two_units(count: int, per_large: int, large: str, small: str, habits: Habits) -> str:
    """`3 min 4 s`; `3 min` where nothing is left."""
    many, rest = divmod(count, per_large)
    text = with_unit(whole_number(many, habits), large)
    return with_unit(text, with_unit(str(rest), small)) if rest else text


def _zone_at(local: datetime) -> str:
    """`Europe/Paris (UTC+2)`; only the offset of a zone that has no other name."""
    name, offset = getattr(local.tzinfo, "key", None), _offset(local)
    return offset if name in (None, offset) else f"{name} ({offset})"


def _offset(local: datetime) -> str:
    """`UTC+2`, `UTC-3:30`, `UTC`."""
    offset = local.utcoffset() or timedelta()
    minutes, seconds = divmod(round(abs(offset).total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [str(hours)]
    if minutes or seconds:
        parts.append(f"{minutes:02}")
    if seconds:
        parts.append(f"{seconds:02}")
    sign = "-" if offset < timedelta() else "+"
    return f"UTC{sign}{':'.join(parts)}" if offset else "UTC"
