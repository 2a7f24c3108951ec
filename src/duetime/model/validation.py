"""Names that callers give: checked before anything is written.

Counts that callers give: checked before anything is written.

Durations and instants as callers give them, checked before anything is written; and durations
as people read them.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from duetime.errors import InvalidArgument, NaiveDatetime
from duetime.model.clock import micros_of

UNSTORABLE = "NUL and lone surrogates cannot be stored"


def check_name(argument: str, value: str | None, most: int) -> str:
    """Not empty, not too long, and text that every store can keep."""
    if not isinstance(value, str):
        raise InvalidArgument(argument, value, "give a string")
    if not value or value.isspace():
        raise InvalidArgument(argument, value, "it must not be empty")
    if len(value) > most:
        raise InvalidArgument(
            argument, value, f"it has {len(value)} characters, {most} are allowed"
        )
    if not is_storable(value):
        raise InvalidArgument(argument, value, UNSTORABLE)
    # A member of an enum is text that drivers and f-strings write as they like.
    return value if type(value) is str else str.__str__(value)


def is_storable(value: str) -> bool:
    """Lone surrogates are text to Python and to nobody else."""
    if "\x00" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_optional(argument: str, value: str | None, most: int) -> str | None:
    return None if value is None else check_name(argument, value, most)


def check_count(argument: str, value: int, most: int) -> int:
    """A whole number from 1 to `most`; True is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidArgument(argument, value, f"give a whole number from 1 to {most}")
    return value


MILLENNIUM = 365_250 * 86_400.0


def seconds(argument: str, value: float | timedelta, *, most: float = MILLENNIUM) -> float:
    """Seconds or a timedelta; finite, not negative, not absurd."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InvalidArgument(argument, value, "give seconds or a timedelta")
    if isinstance(number, float) and not math.isfinite(number):
        raise InvalidArgument(argument, value, "give a finite number of seconds")
    if number < 0:
        raise InvalidArgument(argument, value, "a duration cannot be negative")
    if number > most:
        raise InvalidArgument(argument, value, f"give at most {most / MILLENNIUM * 1000:g} years")
    return float(number)


def positive_seconds(argument: str, value: float | timedelta) -> float:
    number = seconds(argument, value)
    if number == 0:
        raise InvalidArgument(argument, value, "give more than no time at all")
    return number


def micros(argument: str, value: float | timedelta) -> int:
    return micros_of(seconds(argument, value))


def instant(argument: str, value: datetime) -> datetime:
    """An aware datetime, in UTC."""
    if not isinstance(value, datetime):
        raise InvalidArgument(argument, value, "give an aware datetime")
    if value.tzinfo is None or value.utcoffset() is None:
        raise NaiveDatetime(argument, value)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidArgument(argument, value, "in UTC it lies outside years 1 to 9999") from None


def amount(seconds: float) -> str:
    """One number and one unit; from two of a unit on, so that rounding hides little."""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    is_whole = seconds >= 10 or seconds == round(seconds)
    return f"{seconds:.0f} s" if is_whole else f"{seconds:.1f} s"
