"""Rules in French."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from duetime.words.fr.dates import dates_in_words
from duetime.words.fr.values import (
    THIN,
    day_of,
    french_number,
    instant_of,
    listed,
)
from duetime.words.fr.zones import time_of
from duetime.words.rule_grammar import DateParts, NumberSet, RuleGrammar, TimeParts

# Units with the word for all of them, in the gender of the unit.
UNITS = {
    ("toutes", "semaine"): timedelta(weeks=1),
    ("tous", "jour"): timedelta(days=1),
    ("toutes", "heure"): timedelta(hours=1),
    ("toutes", "minute"): timedelta(minutes=1),
    ("toutes", "seconde"): timedelta(seconds=1),
}


class FrenchRules(RuleGrammar):
    def every(self, interval: timedelta, anchor: datetime | None) -> str:
        origin = "" if anchor is None else f", à compter du {instant_of(anchor)}"
        return f"{_interval(interval)}{origin}"

    def cron(self, times: TimeParts, dates: DateParts, zone: str) -> str:
        days, months = dates_in_words(dates)
        if times.listed:
            pause = "," if dates.fields in ("both", "either") else ""
            when = f"{days}{pause} à {listed([_clock(*clock) for clock in times.listed])}"
        else:
            when = _by_field(times) + (" (horaires fixes)" if times.name_kind else "")
            # What recurs all day long needs no day to be named.
            if dates.fields != "none" or times.hours.step is None:
                when += f", {days}"
        return ", ".join(part for part in (when, months, time_of(zone)) if part)

    def instants(self, first: Sequence[datetime], more: int) -> str:
        known = [f"le {instant_of(tick)}" for tick in first]
        others = f"{french_number(f'{more:,}')} autre{'s' if more > 1 else ''}"
        return listed([*known, others] if more > 0 else known)

    def union(self, rules: Sequence[str]) -> str:
        return f"{THIN}; et ".join(rules)

    def without(
        self,
        rule: str,
        dates: Sequence[date],
        instants: Sequence[datetime],
        rules: Sequence[str],
    ) -> str:
        days = [f"le {day_of(day)}" for day in dates]
        moments = [f"le {instant_of(moment)}" for moment in instants]
        return f"{rule}, sauf {listed([*days, *moments, *(f'({words})' for words in rules)])}"

    def within(self, rule: str, start: datetime | None, end: datetime | None) -> str:
        since = "" if start is None else f", à partir du {instant_of(start)}"
        until = "" if end is None else f", jusqu'au {instant_of(end)}"
        return f"{rule}{since}{until}"


def _interval(interval: timedelta) -> str:
    """Return `toutes les 90 minutes` or `tous les jours`: in the largest unit that divides it."""
    for (all_of, unit), length in UNITS.items():
        count, rest = divmod(interval, length)
        if not rest:
            number = "" if count == 1 else f"{french_number(f'{count:,}')} "
            return f"{all_of} les {number}{unit}s"
    return f"toutes les {french_number(f'{interval.total_seconds():,.6f}'.rstrip('0'))} s"


def _clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _by_field(times: TimeParts) -> str:
    """Return the times as minutes of some hours, or as seconds of some minutes."""
    if times.seconds.numbers != (0,):
        return f"{_all_of('seconde', times.seconds)}{_of_minutes(times)}"
    if len(times.minutes.numbers) == 1 and not times.hours.full:
        evenly = _hourly(times.minutes.numbers[0], times.hours)
        if evenly is not None:
            return evenly
    return f"{_all_of('minute', times.minutes)}{_of_hours(times, times.minutes)}"


def _hourly(minute: int, hours: NumberSet) -> str | None:
    """Return `toutes les 2 heures à partir de 00:15` or `toutes les heures de 09:00 à 17:00`."""
    first, last = hours.numbers[0], hours.numbers[-1]
    if hours.step is not None:
        return f"toutes les {hours.step} heures à partir de {_clock(0, minute, 0)}"
    if hours.in_a_row and first < last:
        return f"toutes les heures de {_clock(first, minute, 0)} à {_clock(last, minute, 0)}"
    return None


def _all_of(unit: str, matching: NumberSet) -> str:
    """Return `toutes les 15 minutes` or `aux minutes 5 et 35`."""
    if matching.step is not None:
        return f"toutes les {'' if matching.full else f'{matching.step} '}{unit}s"
    if len(matching.numbers) == 1:
        return f"à la {unit} {matching.numbers[0]}"
    return f"aux {unit}s {_numbers(matching)}"


def _of_minutes(times: TimeParts) -> str:
    """Return of which minutes the seconds are, and of which hours these."""
    minutes = times.minutes
    if minutes.full:
        each = "" if times.seconds.step is not None else " de chaque minute"
    elif minutes.step is not None:
        each = f" d'une minute sur {minutes.step}"
    elif len(minutes.numbers) == 1:
        each = f" de la minute {minutes.numbers[0]}"
    else:
        each = f" des minutes {_numbers(minutes)}"
    return f"{each}{_of_hours(times, minutes)}"


def _of_hours(times: TimeParts, minutes: NumberSet) -> str:
    """Return of which hours the minutes are; of all, unless minutes are named, goes unsaid."""
    hours, spread = times.hours, minutes.step is not None
    if hours.full:
        return "" if spread else " de chaque heure"
    if hours.step is not None:
        every_nth = f"une heure sur {hours.step} à partir de 00:00"
        return f", {every_nth}" if spread else f" d'{every_nth}"
    first, last = hours.numbers[0], hours.numbers[-1]
    if hours.in_a_row and (spread or first < last):
        return f"{'' if spread else ' de chaque heure'} de {first:02}:00 à {last:02}:59"
    if first == last:
        return f" de l'heure {first}"
    return f" des heures {_numbers(hours)}"


def _numbers(matching: NumberSet) -> str:
    numbers = matching.numbers
    if matching.in_a_row and len(numbers) > 2:
        return f"{numbers[0]} à {numbers[-1]}"
    return listed([str(number) for number in numbers])
