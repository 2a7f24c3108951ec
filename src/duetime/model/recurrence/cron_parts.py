"""The parts of a cron expression that its words name: the times that match, however they were
written."""

from __future__ import annotations

from duetime.model.recurrence.cron_calendar import Days, MonthDays, Times, bits
from duetime.model.recurrence.cron_parser import Fields
from duetime.words.rule_grammar import (
    DateParts,
    DayFields,
    MonthDayParts,
    MonthParts,
    NumberSet,
    Run,
    TimeParts,
    WeekDayParts,
)

# More times of day than this are not listed one by one.
MAX_LISTED_TIMES = 6


def time_parts(fields: Fields, *, name_kind: bool) -> TimeParts:
    """Return the times of day. With `name_kind`, words that an interval could share say that the
    times are fixed."""
    times = fields.times
    return TimeParts(
        [] if fields.interval else _listed(times),
        _number_set(times.hours, 24),
        _number_set(times.minutes, 60),
        _number_set(times.seconds, 60),
        name_kind,
    )


def _listed(times: Times) -> list[tuple[int, int, int]]:
    """Return the times one by one, if they are few."""
    hours, minutes, seconds = bits(times.hours), bits(times.minutes), bits(times.seconds)
    if len(hours) * len(minutes) * len(seconds) > MAX_LISTED_TIMES:
        return []
    return [(h, m, s) for h in hours for m in minutes for s in seconds]


def date_parts(days: Days) -> DateParts:
    """Return the dates."""
    by_month, by_week = days.month_days, days.week_days
    return DateParts(
        _day_fields(days),
        MonthDayParts(
            NumberSet(tuple(bits(by_month.plain))),
            sorted(by_month.from_end, reverse=True),
            by_month.nearest,
            by_month.last_weekday,
        ),
        WeekDayParts(
            bits(by_week.plain),
            _run(by_week.plain, 7),
            sorted(by_week.nth, key=lambda pair: (pair[1], pair[0])),
            sorted(by_week.last),
        ),
        _months(days.months),
    )


def _day_fields(days: Days) -> DayFields:
    only_plain = days.month_days == MonthDays(days.month_days.plain, star=days.month_days.star)
    any_date = only_plain and days.month_days.plain == _full(32) - 1
    any_weekday = days.week_days.plain == _full(7)
    match days.both, any_date, any_weekday:
        case True, True, True:
            return "none"
        case True, True, False:
            return "week_days"
        case True, False, True:
            return "month_days"
        case both, _, _:
            return "both" if both else "either"


def _months(mask: int) -> MonthParts:
    if mask == _full(13) - 1:
        return MonthParts([], None)
    run = _run(mask >> 1, 12)
    return MonthParts(bits(mask), None if run is None else (run[0] + 1, run[1] + 1))


def _run(mask: int, size: int) -> Run | None:
    """Return the first and the last bit if the mask is a single run of three or more, which may
    wrap, and is not full."""
    numbers = bits(mask)
    if mask == _full(size) or len(numbers) < 3:
        return None
    for start in numbers:
        if all(mask >> (start + n) % size & 1 for n in range(len(numbers))):
            return start, (start + len(numbers) - 1) % size
    return None


def _number_set(mask: int, size: int) -> NumberSet:
    """Return the numbers, and n if they are exactly the multiples of n, and n divides `size`."""
    numbers = tuple(bits(mask))
    step = size if len(numbers) == 1 else numbers[1] - numbers[0]
    even = len(numbers) > 1 and size % step == 0 and numbers == tuple(range(0, size, step))
    return NumberSet(numbers, step if even else None)


def _full(size: int) -> int:
    return (1 << size) - 1
