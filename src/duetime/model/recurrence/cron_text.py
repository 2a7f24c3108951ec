"""A cron expression in words: the times that match, however the expression was written."""

from __future__ import annotations

from collections.abc import Sequence

from duetime.model.recurrence.cron_calendar import Days, MonthDays, Times, WeekDays, bits, lowest
from duetime.model.recurrence.cron_parser import Fields

MONTHS = (
    "",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
# More times of day than this are not listed one by one.
MAX_LISTED_TIMES = 6


def in_words(fields: Fields, *, name_kind: bool) -> str:
    """Return when the expression ticks: times, days, months.

    With `name_kind`, words that an interval could share say that the times are fixed.
    """
    times = _times(fields, name_kind=name_kind)
    parts = [times, _days(fields.days), _months(fields.days.months)]
    return ", ".join(part for part in parts if part)


def _times(fields: Fields, *, name_kind: bool) -> str:
    times = fields.times
    hours, minutes, seconds = bits(times.hours), bits(times.minutes), bits(times.seconds)
    if not fields.interval and len(hours) * len(minutes) * len(seconds) <= MAX_LISTED_TIMES:
        return f"at {_list([_clock(h, m, s) for h in hours for m in minutes for s in seconds])}"
    return _by_field(times, minutes, seconds) + (" (fixed times)" if name_kind else "")


def _by_field(times: Times, minutes: list[int], seconds: list[int]) -> str:
    phrases = []
    if seconds != [0]:
        phrases.append(_sixty("second", times.seconds))
    if seconds == [0] or times.minutes != _full(60):
        phrases.append(_sixty("minute", times.minutes))
    elif step_of(times.seconds, 60) is None:
        phrases.append("of every minute")
    if times.hours != _full(24):
        phrases.append(_hours(times.hours))
    elif len(minutes) == 1 or step_of(times.minutes, 60) is None:
        phrases.append("of every hour")
    return " ".join(phrases)


def _clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _sixty(unit: str, mask: int) -> str:
    """Return the matching seconds of a minute, or minutes of an hour."""
    step = step_of(mask, 60)
    if step is not None:
        return f"every {unit}" if step == 1 else f"every {step} {unit}s"
    numbers = bits(mask)
    plural = "s" if len(numbers) > 1 else ""
    return f"at {unit}{plural} {_numbers(mask)}"


def _hours(mask: int) -> str:
    step = step_of(mask, 24)
    if step is not None and step < 24:
        return f"of every {_nth(step)} hour from 0"
    plural = "s" if len(bits(mask)) > 1 else ""
    return f"of hour{plural} {_numbers(mask)}"


def step_of(mask: int, size: int) -> int | None:
    """Return n if the mask holds exactly the multiples of n below `size`, and n divides `size`."""
    numbers = bits(mask)
    step = size if len(numbers) == 1 else numbers[1] - numbers[0]
    if len(numbers) == 1 or size % step:
        return None
    return step if numbers == list(range(0, size, step)) else None


def _days(days: Days) -> str:
    every_date = days.month_days == MonthDays(days.month_days.plain, star=days.month_days.star)
    any_date = every_date and days.month_days.plain == _full(32) - 1
    any_weekday = days.week_days.plain == _full(7)
    if days.both and any_date and any_weekday:
        return "every day"
    if days.both and any_date:
        return f"on {_week_days(days.week_days)}"
    if days.both and any_weekday:
        return f"on {_month_days(days.month_days)} of the month"
    month_days = f"{_month_days(days.month_days)} of the month"
    if days.both:
        return f"on {month_days} if it is also {_week_days(days.week_days, 'or')}"
    return f"on {month_days} and also on {_week_days(days.week_days)}"


def _month_days(days: MonthDays) -> str:
    phrases = []
    if days.plain:
        plural = "s" if len(bits(days.plain)) > 1 else ""
        phrases.append(f"day{plural} {_numbers(days.plain)}")
    phrases += [_before_end(before) for before in sorted(days.from_end, reverse=True)]
    if days.nearest is not None:
        phrases.append(f"the weekday nearest to day {days.nearest}")
    if days.last_weekday:
        phrases.append("the last weekday")
    return _list(phrases)


def _before_end(before: int) -> str:
    if before == 0:
        return "the last day"
    return f"the day {before} day{'s' if before > 1 else ''} before the last"


def _week_days(days: WeekDays, conjunction: str = "and") -> str:
    phrases = []
    if days.plain:
        run = _run(days.plain, 7, WEEKDAYS)
        phrases += [run] if run else [WEEKDAYS[n] for n in bits(days.plain)]
    for weekday, number in sorted(days.nth, key=lambda pair: (pair[1], pair[0])):
        phrases.append(f"the {ORDINALS[number]} {WEEKDAYS[weekday]} of the month")
    phrases += [f"the last {WEEKDAYS[weekday]} of the month" for weekday in sorted(days.last)]
    return _list(phrases, conjunction)


def _months(mask: int) -> str:
    if mask == _full(13) - 1:
        return ""
    run = _run(mask >> 1, 12, MONTHS[1:])
    return f"from {run}" if run else f"in {_list([MONTHS[n] for n in bits(mask)])}"


def _run(mask: int, size: int, names: Sequence[str]) -> str | None:
    """Return `Friday to Monday` if the mask is a single run of three or more, which may wrap."""
    if mask == _full(size) or len(bits(mask)) < 3:
        return None
    for start in bits(mask):
        length = len(bits(mask))
        if all(mask >> (start + n) % size & 1 for n in range(length)):
            return f"{names[start]} to {names[(start + length - 1) % size]}"
    return None


def _numbers(mask: int) -> str:
    numbers = bits(mask)
    in_a_row = mask >> lowest(mask) == _full(len(numbers))
    if in_a_row and len(numbers) > 2:
        return f"{numbers[0]} to {numbers[-1]}"
    return _list([str(number) for number in numbers])


def _list(words: Sequence[str], conjunction: str = "and") -> str:
    return f"{', '.join(words[:-1])} {conjunction} {words[-1]}" if len(words) > 1 else words[0]


def _nth(number: int) -> str:
    return f"{number}{ {2: 'nd', 3: 'rd'}.get(number, 'th') }"


def _full(size: int) -> int:
    return (1 << size) - 1
