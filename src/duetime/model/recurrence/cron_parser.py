"""Parse cron expressions field by field; refusals name the field, the value and what is allowed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from duetime.errors import InvalidRecurrence
from duetime.model.recurrence.cron_calendar import Days, MonthDays, Times, WeekDays
from duetime.words.phrase import Phrase, phrase, with_hint

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
# Macros of other cron libraries, and how to write them here.
FOREIGN_MACROS = {
    "@every_minute": phrase("write '* * * * *'"),
    "@every_second": phrase("write '* * * * * *'"),
    "@reboot": phrase(
        "the start of a machine is not an instant that a rule can name; schedule an action when "
        "your program starts"
    ),
}
MAX_LENGTH = 500
NUMBER = re.compile(r"[0-9]{1,4}")
RANGE = re.compile(r"(?P<low>[^-/]+)(-(?P<high>[^-/]+))?(?P<stepped>/(?P<step>.*))?")


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit that a field counts, and the values that it allows."""

    name: Phrase
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)
    # The number of different values; as weekdays, 0 and 7 are both Sunday.
    size: int = 0

    @property
    def allowed(self) -> Phrase:
        """The allowed values in words."""
        numbers = phrase("{low} to {high}", low=self.low, high=self.high)
        if not self.names:
            return numbers
        first, *_, last = self.names
        return phrase("{numbers} or {first} to {last}", numbers=numbers, first=first, last=last)


SECOND = Unit(phrase("second"), 0, 59, size=60)
MINUTE = Unit(phrase("minute"), 0, 59, size=60)
HOUR = Unit(phrase("hour"), 0, 23, size=24)
MONTH_DAY = Unit(phrase("day of month"), 1, 31, size=31)
MONTH = Unit(phrase("month"), 1, 12, {name: n for n, name in enumerate(MONTHS, start=1)}, size=12)
WEEKDAY = Unit(phrase("day of week"), 0, 7, {name: n for n, name in enumerate(WEEKDAYS)}, size=7)
UNITS = (SECOND, MINUTE, HOUR, MONTH_DAY, MONTH, WEEKDAY)


class Fields(NamedTuple):
    """A parsed expression."""

    text: str
    times: Times
    days: Days
    # As in Debian's cron: whether the second, minute or hour field begins with a star.
    interval: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A field as written, with its expression."""

    expression: str
    unit: Unit
    text: str

    @property
    def star(self) -> bool:
        return self.text[0] in "*?"

    def refuse(
        self, value: str, reason: Phrase, allowed: Phrase | None = None
    ) -> InvalidRecurrence:
        unit, allowed = self.unit.name, allowed or self.unit.allowed
        remedy = phrase(
            "{unit} {value!r} {reason}; allowed are {allowed}",
            unit=unit,
            value=value,
            reason=reason,
            allowed=allowed,
        )
        return InvalidRecurrence(
            "recurrence", self.expression, remedy, field=unit, part=value, allowed=allowed
        )


def parse(expression: str) -> Fields:
    """Parse five fields, six with the second first, or a macro such as @daily."""
    text = _normalize(expression)
    words = text.split(" ")
    if len(words) not in (5, 6):
        raise _wrong_count(expression, len(words))
    six = words if len(words) == 6 else ["0", *words]
    parts = [Part(expression, unit, word) for unit, word in zip(UNITS, six, strict=True)]
    second, minute, hour, month_day, month, weekday = parts
    times = Times(hours=_mask(hour), minutes=_mask(minute), seconds=_mask(second))
    days = Days(_mask(month), _month_days(month_day), _week_days(weekday))
    if not days.ever():
        raise _never(expression, month_day, month, weekday)
    return Fields(text, times, days, second.star or minute.star or hour.star)


def _wrong_count(expression: str, count: int) -> InvalidRecurrence:
    remedy = phrase(
        "write minute, hour, day of month, month, day of week, and the second before them if you "
        "need it"
    )
    if count == 7:
        remedy = phrase(
            "leave out the year: six fields are second, minute, hour, day of month, month, day of "
            "week; single dates are written [datetime(...)]"
        )
    found = "it has {count} field; {remedy}" if count == 1 else "it has {count} fields; {remedy}"
    return InvalidRecurrence("recurrence", expression, phrase(found, count=count, remedy=remedy))


def _normalize(expression: str) -> str:
    """Return the expression in capitals, with single spaces, and with its macro replaced."""
    if not isinstance(expression, str):
        remedy = phrase("write a cron expression as a string")
        raise InvalidRecurrence("recurrence", expression, remedy)
    if len(expression) > MAX_LENGTH:
        too_long = "it has {count} characters, {most} characters are allowed"
        remedy = phrase(too_long, count=len(expression), most=MAX_LENGTH)
        raise InvalidRecurrence("recurrence", expression, remedy)
    text = " ".join(expression.split())
    if not text:
        remedy = phrase("it is empty; write five fields, as '0 2 * * *'")
        raise InvalidRecurrence("recurrence", expression, remedy)
    if text.startswith("@"):
        return _macro(expression, text.lower())
    # Some letters outside ASCII have capitals in ASCII.
    return "".join(letter.upper() if letter.isascii() else letter for letter in text)


def _macro(expression: str, name: str) -> str:
    """Return the expression that a macro stands for."""
    if name in MACROS:
        return MACROS[name]
    remedy = FOREIGN_MACROS.get(name)
    if remedy is None and name.split(" ")[0] == "@every":
        remedy = phrase("an interval is written Every(...), as Every(minutes=5)")
    if remedy is None:
        unknown = "{name!r} is not a macro; known are {macros}"
        remedy = with_hint(phrase(unknown, name=name, macros=", ".join(MACROS)), name, MACROS)
    raise InvalidRecurrence("recurrence", expression, remedy)


def _month_days(part: Part) -> MonthDays:
    if part.text == "?":
        return MonthDays(_all(part.unit), star=True)
    items = part.text.split(",")
    if any("W" in item for item in items):
        return _moved_off_weekends(part)
    ends = frozenset(_before_end(part, item) for item in items if item.startswith("L"))
    plain = [item for item in items if not item.startswith("L")]
    return MonthDays(_mask(part, plain), star=part.star, from_end=ends)


def _moved_off_weekends(part: Part) -> MonthDays:
    if part.text == "LW":
        return MonthDays(0, last_weekday=True)
    if not re.fullmatch(r"[0-9]{1,2}W", part.text):
        raise part.refuse(
            part.text,
            phrase("has a W in the wrong place"),
            phrase("a single day as 15W, or LW"),
        )
    return MonthDays(0, nearest=_value(part, part.text.removesuffix("W")))


def _before_end(part: Part, item: str) -> int:
    if item == "L":
        return 0
    before = item.removeprefix("L-")
    if before == item or not NUMBER.fullmatch(before) or int(before) > 30:
        raise part.refuse(
            item, phrase("is not a day counted from the end"), phrase("L, L-1 to L-30 or LW")
        )
    return int(before)


def _week_days(part: Part) -> WeekDays:
    if part.text == "?":
        return WeekDays(_all(part.unit), star=True)
    items = part.text.split(",")
    nth = frozenset(_nth(part, item) for item in items if "#" in item)
    last = frozenset(_last(part, item) for item in items if item.endswith("L"))
    plain = [item for item in items if "#" not in item and not item.endswith("L")]
    return WeekDays(_mask(part, plain), star=part.star, nth=nth, last=last)


def _nth(part: Part, item: str) -> tuple[int, int]:
    weekday, _, number = item.partition("#")
    if not weekday or not re.fullmatch(r"[1-5]", number):
        missing = "names no week of the month" if weekday else "names no weekday"
        allowed = phrase("MON#1 to MON#5, or MONL for the last")
        raise part.refuse(item, phrase(missing), allowed)
    return _value(part, weekday) % 7, int(number)


def _last(part: Part, item: str) -> int:
    if item == "L":
        raise part.refuse(
            item, phrase("does not say which weekday"), phrase("FRIL or 5L, and so on")
        )
    return _value(part, item.removesuffix("L")) % 7


def _mask(part: Part, items: list[str] | None = None) -> int:
    """Return the plain values of a field, one bit each."""
    mask = 0
    for item in part.text.split(",") if items is None else items:
        for value in _values(part, item):
            mask |= 1 << (value % 7 if part.unit is WEEKDAY else value)
    return mask


def _values(part: Part, item: str) -> list[int]:
    """Expand `*`, `5` or `1-5`, each with or without a `/step`; a range may wrap, as `22-2`."""
    unit = part.unit
    match = RANGE.fullmatch(item)
    if match is None:
        raise part.refuse(item, phrase("is not a value or a range" if item else "is missing"))
    step = _step(part, item, match["step"]) if match["stepped"] else 1
    if match["low"] == "*":
        if match["high"]:
            raise part.refuse(item, phrase("is not a range"))
        return list(range(unit.low, unit.high + 1, step))
    low = _value(part, match["low"])
    if match["high"]:
        return _range(unit, low, _value(part, match["high"]), step)
    return list(range(low, unit.high + 1, step)) if match["stepped"] else [low]


def _range(unit: Unit, low: int, high: int, step: int) -> list[int]:
    if low <= high:
        return list(range(low, high + 1, step))
    # The range wraps around the end; a week range that starts with 7 starts with Sunday.
    low = low % 7 if unit is WEEKDAY else low
    high = high + unit.size if low > high else high
    return [unit.low + (n - unit.low) % unit.size for n in range(low, high + 1, step)]


def _value(part: Part, text: str) -> int:
    unit = part.unit
    if text in unit.names:
        return unit.names[text]
    if text == "?":
        raise part.refuse(text, phrase("is allowed only alone, and only in a day field"))
    if not NUMBER.fullmatch(text):
        raise part.refuse(text, with_hint(phrase("is not valid"), text, unit.names))
    if not unit.low <= int(text) <= unit.high:
        raise part.refuse(text, phrase("is out of range"))
    return int(text)


def _step(part: Part, item: str, text: str) -> int:
    if not NUMBER.fullmatch(text) or int(text) == 0:
        raise part.refuse(item, phrase("has no valid step"), phrase("steps of 1 and more, as */5"))
    return int(text)


def _all(unit: Unit) -> int:
    return sum(1 << n for n in range(unit.low, unit.low + unit.size))


def _never(expression: str, month_day: Part, month: Part, weekday: Part) -> InvalidRecurrence:
    remedy = phrase(
        "it would never fire: no month {month!r} has a day of month {month_day!r} with day of week "
        "{weekday!r}",
        month=month.text,
        month_day=month_day.text,
        weekday=weekday.text,
    )
    return InvalidRecurrence(
        "recurrence",
        expression,
        remedy,
        field=month_day.unit.name,
        part=month_day.text,
        allowed=month_day.unit.allowed,
    )
