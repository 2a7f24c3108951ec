"""Rules in English."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from duetime.words.rule_grammar import (
    DateParts,
    MonthDayParts,
    MonthParts,
    NumberSet,
    RuleGrammar,
    TimeParts,
    WeekDayParts,
)

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
UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}


class EnglishRules(RuleGrammar):
    def every(self, interval: timedelta, anchor: datetime | None) -> str:
        origin = "" if anchor is None else f", counted from {anchor.isoformat()}"
        return f"every {_interval(interval)}{origin}"

    def cron(self, times: TimeParts, dates: DateParts, zone: str) -> str:
        parts = [_times(times), _dates(dates), _months(dates.months), zone]
        return ", ".join(part for part in parts if part)

    def instants(self, first: Sequence[datetime], more: int) -> str:
        listed = ", ".join(tick.isoformat() for tick in first)
        return f"at {listed}{f' and {more} more' if more > 0 else ''}"

    def union(self, rules: Sequence[str]) -> str:
        return "; and ".join(rules)

    def without(
        self,
        rule: str,
        dates: Sequence[date],
        instants: Sequence[datetime],
        rules: Sequence[str],
    ) -> str:
        excluded = [moment.isoformat() for moment in (*dates, *instants)]
        return f"{rule}, except {', '.join([*excluded, *(f'({words})' for words in rules)])}"

    def within(self, rule: str, start: datetime | None, end: datetime | None) -> str:
        since = "" if start is None else f", from {start.isoformat()}"
        until = "" if end is None else f", until {end.isoformat()}"
        return f"{rule}{since}{until}"


def _interval(interval: timedelta) -> str:
    """Return `90 minutes` or `2 days`: in the largest unit that divides the interval."""
    for unit, length in UNITS.items():
        count, rest = divmod(interval, length)
        if not rest:
            return unit if count == 1 else f"{count} {unit}s"
    return f"{interval.total_seconds():.6f}".rstrip("0") + " seconds"


def _times(times: TimeParts) -> str:
    if times.listed:
        return f"at {_list([_clock(*clock) for clock in times.listed])}"
    return _by_field(times) + (" (fixed times)" if times.name_kind else "")


def _by_field(times: TimeParts) -> str:
    hours, minutes, seconds = times.hours, times.minutes, times.seconds
    whole = seconds.numbers == (0,)
    phrases = []
    if not whole:
        phrases.append(_sixty("second", seconds))
    if whole or not minutes.full:
        phrases.append(_sixty("minute", minutes))
    elif seconds.step is None:
        phrases.append("of every minute")
    if not hours.full:
        phrases.append(_hours(hours))
    elif minutes.step is None:
        phrases.append("of every hour")
    return " ".join(phrases)


def _clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _sixty(unit: str, matching: NumberSet) -> str:
    """Return the matching seconds of a minute, or minutes of an hour."""
    if matching.step is not None:
        return f"every {unit}" if matching.step == 1 else f"every {matching.step} {unit}s"
    return f"at {unit}{_s(matching)} {_numbers(matching)}"


def _hours(hours: NumberSet) -> str:
    if hours.step is not None:
        return f"of every {_nth(hours.step)} hour from 0"
    return f"of hour{_s(hours)} {_numbers(hours)}"


def _dates(dates: DateParts) -> str:
    week_days = _week_days(dates.week_days, "or" if dates.fields == "both" else "and")
    month_days = f"{_month_days(dates.month_days)} of the month"
    match dates.fields:
        case "none":
            return "every day"
        case "week_days":
            return f"on {week_days}"
        case "month_days":
            return f"on {month_days}"
        case "both":
            return f"on {month_days} if it is also {week_days}"
        case "either":
            return f"on {month_days} and also on {week_days}"


def _month_days(days: MonthDayParts) -> str:
    phrases = []
    if days.plain.numbers:
        phrases.append(f"day{_s(days.plain)} {_numbers(days.plain)}")
    phrases += [_before_end(before) for before in days.before_end]
    if days.nearest is not None:
        phrases.append(f"the weekday nearest to day {days.nearest}")
    if days.last_weekday:
        phrases.append("the last weekday")
    return _list(phrases)


def _before_end(before: int) -> str:
    if before == 0:
        return "the last day"
    return f"the day {before} day{'s' if before > 1 else ''} before the last"


def _week_days(days: WeekDayParts, conjunction: str) -> str:
    phrases = [WEEKDAYS[n] for n in days.plain]
    if days.run is not None:
        phrases = [f"{WEEKDAYS[days.run[0]]} to {WEEKDAYS[days.run[1]]}"]
    for weekday, number in days.nth:
        phrases.append(f"the {ORDINALS[number]} {WEEKDAYS[weekday]} of the month")
    phrases += [f"the last {WEEKDAYS[weekday]} of the month" for weekday in days.last]
    return _list(phrases, conjunction)


def _months(months: MonthParts) -> str:
    if months.run is not None:
        return f"from {MONTHS[months.run[0]]} to {MONTHS[months.run[1]]}"
    return f"in {_list([MONTHS[n] for n in months.months])}" if months.months else ""


def _numbers(matching: NumberSet) -> str:
    numbers = matching.numbers
    if matching.in_a_row and len(numbers) > 2:
        return f"{numbers[0]} to {numbers[-1]}"
    return _list([str(number) for number in numbers])


def _s(matching: NumberSet) -> str:
    return "s" if len(matching.numbers) > 1 else ""


def _list(words: Sequence[str], conjunction: str = "and") -> str:
    return (
        f"{', '.join(words[:-1])} {conjunction} {words[-1]}" if len(words) > 1 else "".join(words)
    )


def _nth(number: int) -> str:
    return f"{number}{ {2: 'nd', 3: 'rd'}.get(number, 'th') }"
