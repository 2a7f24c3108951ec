"""Reading a cron expression: field by field, refused with field, value and what is allowed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from duetime.errors import InvalidRecurrence, did_you_mean
from duetime.model.recurrence.cron_calendar import Days, MonthDays, Times, WeekDays

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
LONGEST = 500
NUMBER = re.compile(r"[0-9]{1,4}")
RANGE = re.compile(r"(?P<low>[^-/]+)(-(?P<high>[^-/]+))?(?P<stepped>/(?P<step>.*))?")


@dataclass(frozen=True, slots=True)
class Unit:
    """What a field counts, and the values that it allows."""

    name: str
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)
    # How many different values there are; 7 is Sunday again.
    size: int = 0

    @property
    def allowed(self) -> str:
        words = f" or {next(iter(self.names))} to {list(self.names)[-1]}" if self.names else ""
        return f"{self.low} to {self.high}{words}"


SECOND = Unit("second", 0, 59, size=60)
MINUTE = Unit("minute", 0, 59, size=60)
HOUR = Unit("hour", 0, 23, size=24)
MONTH_DAY = Unit("day of month", 1, 31, size=31)
MONTH = Unit("month", 1, 12, {name: n for n, name in enumerate(MONTHS, start=1)}, size=12)
WEEKDAY = Unit("day of week", 0, 7, {name: n for n, name in enumerate(WEEKDAYS)}, size=7)
UNITS = (SECOND, MINUTE, HOUR, MONTH_DAY, MONTH, WEEKDAY)


class Fields(NamedTuple):
    """A whole expression."""

    text: str
    times: Times
    days: Days
    # Debian's rule: an expression whose time of day begins with a star somewhere names intervals.
    interval: bool


@dataclass(frozen=True, slots=True)
class Part:
    """One field, as it stands in its expression."""

    expression: str
    unit: Unit
    text: str

    @property
    def star(self) -> bool:
        return self.text[0] in "*?"

    def refuse(self, value: str, reason: str, allowed: str | None = None) -> InvalidRecurrence:
        return InvalidRecurrence(
            "recurrence",
            self.expression,
            f"{self.unit.name} {value!r} {reason}; allowed are {allowed or self.unit.allowed}",
            field=self.unit.name,
            part=value,
            allowed=allowed or self.unit.allowed,
        )


def parse(expression: str) -> Fields:
    """Read five fields, six with seconds first, or a macro such as @daily."""
    text = _spelled_out(expression)
    words = text.split(" ")
    if len(words) not in (5, 6):
        raise InvalidRecurrence(
            "recurrence",
            expression,
            f"it has {len(words)} fields; write minute, hour, day of month, month, day of week, "
            "and the second before them if you need it",
        )
    given = words if len(words) == 6 else ["0", *words]
    parts = [Part(expression, unit, word) for unit, word in zip(UNITS, given, strict=True)]
    second, minute, hour, month_day, month, weekday = parts
    times = Times(hours=_mask(hour), minutes=_mask(minute), seconds=_mask(second))
    days = Days(_mask(month), _month_days(month_day), _week_days(weekday))
    if not days.ever():
        raise _never(expression, month_day, month, weekday)
    return Fields(text, times, days, second.star or minute.star or hour.star)


def _spelled_out(expression: str) -> str:
    """In capitals, with single spaces, a macro replaced by what it stands for."""
    if not isinstance(expression, str):
        raise InvalidRecurrence("recurrence", expression, "write a cron expression as a string")
    if len(expression) > LONGEST:
        raise InvalidRecurrence("recurrence", expression, f"{LONGEST} characters are allowed")
    text = " ".join(expression.split())
    if not text:
        raise InvalidRecurrence("recurrence", expression, "it is empty; write as '0 2 * * *'")
    if text.startswith("@"):
        return _macro(expression, text.lower())
    # Letters of other alphabets may have capitals among ours.
    return "".join(letter.upper() if letter.isascii() else letter for letter in text)


def _macro(expression: str, name: str) -> str:
    if name == "@reboot":
        raise InvalidRecurrence(
            "recurrence",
            expression,
            "a start of a machine is no instant that can be foreseen; schedule an action when "
            "your program starts",
        )
    if name not in MACROS:
        known = f"known are {', '.join(MACROS)}{did_you_mean(name, MACROS)}"
        raise InvalidRecurrence("recurrence", expression, f"{name!r} is no macro; {known}")
    return MACROS[name]


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
        raise part.refuse(part.text, "has a W where none can be", "a single day as 15W, or LW")
    return MonthDays(0, nearest=_value(part, part.text.removesuffix("W")))


def _before_end(part: Part, item: str) -> int:
    if item == "L":
        return 0
    before = item.removeprefix("L-")
    if before == item or not NUMBER.fullmatch(before) or int(before) > 30:
        raise part.refuse(item, "is no day before the end", "L, L-1 to L-30 or LW")
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
    if not re.fullmatch(r"[1-5]", number):
        raise part.refuse(
            item, "names no week of the month", "MON#1 to MON#5, or MONL for the last"
        )
    return _value(part, weekday) % 7, int(number)


def _last(part: Part, item: str) -> int:
    if item == "L":
        raise part.refuse(item, "does not say the last of which", "FRIL or 5L, and so on")
    return _value(part, item.removesuffix("L")) % 7


def _mask(part: Part, items: list[str] | None = None) -> int:
    """The plain values of a field, one bit each."""
    mask = 0
    for item in part.text.split(",") if items is None else items:
        for value in _values(part, item):
            mask |= 1 << (value % 7 if part.unit is WEEKDAY else value)
    return mask


def _values(part: Part, item: str) -> list[int]:
    """`*`, `5`, `1-5`, and each of them with a `/step`; a range may wrap, as `22-2`."""
    unit = part.unit
    found = RANGE.fullmatch(item)
    if found is None:
        raise part.refuse(item, "is missing" if not item else "is no value or range")
    step = _step(part, item, found["step"]) if found["stepped"] else 1
    if found["low"] == "*":
        if found["high"]:
            raise part.refuse(item, "is no range")
        return list(range(unit.low, unit.high + 1, step))
    low = _value(part, found["low"])
    if found["high"]:
        return _range(unit, low, _value(part, found["high"]), step)
    return list(range(low, unit.high + 1, step)) if found["stepped"] else [low]


def _range(unit: Unit, low: int, high: int, step: int) -> list[int]:
    if low <= high:
        return list(range(low, high + 1, step))
    # Over the end and on from the start; a week that starts with 7 starts with Sunday.
    low = low % 7 if unit is WEEKDAY else low
    high = high + unit.size if low > high else high
    return [unit.low + (n - unit.low) % unit.size for n in range(low, high + 1, step)]


def _value(part: Part, text: str) -> int:
    unit = part.unit
    if text in unit.names:
        return unit.names[text]
    if text == "?":
        raise part.refuse(text, "stands alone, and for a day only")
    if not NUMBER.fullmatch(text):
        raise part.refuse(text, f"is no {unit.name}{did_you_mean(text, unit.names)}")
    if not unit.low <= int(text) <= unit.high:
        raise part.refuse(text, "is out of range")
    return int(text)


def _step(part: Part, item: str, text: str) -> int:
    if not NUMBER.fullmatch(text) or int(text) == 0:
        raise part.refuse(item, "has no step that counts", "steps of 1 and more, as */5")
    return int(text)


def _all(unit: Unit) -> int:
    return sum(1 << n for n in range(unit.low, unit.low + unit.size))


def _never(expression: str, month_day: Part, month: Part, weekday: Part) -> InvalidRecurrence:
    return InvalidRecurrence(
        "recurrence",
        expression,
        f"it would never fire: no month {month.text!r} has a day of month {month_day.text!r} "
        f"with day of week {weekday.text!r}",
        field=month_day.unit.name,
        part=month_day.text,
        allowed=month_day.unit.allowed,
    )
