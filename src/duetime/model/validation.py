"""Validation of callers' arguments, before anything is written: names, counts, durations, instants.

Also formats durations for messages.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from duetime.errors import InvalidArgument, NaiveDatetime
from duetime.model.clock import micros_of
from duetime.words.phrase import Phrase, phrase

UNSTORABLE = phrase("NUL and lone surrogates cannot be stored")


def check_name(argument: str, value: str | None, max_length: int) -> str:
    """Return the value if it is a string that is not empty, not too long, and storable."""
    if not isinstance(value, str):
        raise InvalidArgument(argument, value, phrase("give a string"))
    if not value or value.isspace():
        raise InvalidArgument(argument, value, phrase("it must not be empty"))
    if len(value) > max_length:
        raise InvalidArgument(
            argument,
            value,
            phrase(
                "it has {count} characters, {most} are allowed", count=len(value), most=max_length
            ),
        )
    if not is_storable(value):
        raise InvalidArgument(argument, value, UNSTORABLE)
    # Drivers and f-strings differ in how they write a member of a str enum.
    return value if type(value) is str else str.__str__(value)


def is_storable(value: str) -> bool:
    """Return whether every store can keep the text: no NUL, and no lone surrogates, which UTF-8
    cannot encode."""
    if "\x00" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_optional(argument: str, value: str | None, max_length: int) -> str | None:
    return None if value is None else check_name(argument, value, max_length)


def check_count(argument: str, value: int, maximum: int) -> int:
    """Return the value if it is a whole number from 1 to `maximum`; booleans are refused."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= maximum:
        raise InvalidArgument(
            argument, value, phrase("give a whole number from 1 to {most}", most=maximum)
        )
    return value


MILLENNIUM_SECONDS = 365_250 * 86_400.0


def seconds(
    argument: str, value: float | timedelta, *, maximum: float = MILLENNIUM_SECONDS
) -> float:
    """Return a duration in seconds: finite, not negative, at most `maximum`."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InvalidArgument(argument, value, phrase("give seconds or a timedelta"))
    if isinstance(number, float) and not math.isfinite(number):
        raise InvalidArgument(argument, value, phrase("give a finite number of seconds"))
    if number < 0:
        raise InvalidArgument(argument, value, phrase("a duration cannot be negative"))
    if number > maximum:
        years = maximum / MILLENNIUM_SECONDS * 1000
        raise InvalidArgument(argument, value, phrase("give at most {years:g} years", years=years))
    return float(number)


def positive_seconds(argument: str, value: float | timedelta) -> float:
    number = seconds(argument, value)
    if number == 0:
        raise InvalidArgument(argument, value, phrase("give a duration above 0"))
    return number


def micros(argument: str, value: float | timedelta) -> int:
    return micros_of(seconds(argument, value))


def instant(argument: str, value: datetime) -> datetime:
    """Return an aware datetime, converted to UTC."""
    if not isinstance(value, datetime):
        raise InvalidArgument(argument, value, phrase("give an aware datetime"))
    if value.tzinfo is None or value.utcoffset() is None:
        raise NaiveDatetime(argument, value)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidArgument(
            argument, value, phrase("in UTC it lies outside years 1 to 9999")
        ) from None


def amount(seconds: float) -> Phrase:
    """Return a duration as one number and one unit, the largest of which there are at least two."""
    units = (("{count:.0f} d", 86_400), ("{count:.0f} h", 3600), ("{count:.0f} m", 60))
    for template, size in units:
        if seconds >= 2 * size:
            return phrase(template, count=seconds / size)
    is_whole = seconds >= 10 or seconds == round(seconds)
    return phrase("{count:.0f} s" if is_whole else "{count:.1f} s", count=seconds)
