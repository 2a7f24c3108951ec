"""The dates of a cron expression in French."""

from __future__ import annotations

from collections.abc import Sequence

from duetime.words.fr.values import MONTHS, WEEKDAYS, listed, of, ordinal
from duetime.words.rule_grammar import (
    DateParts,
    MonthDayParts,
    MonthParts,
    NumberSet,
    WeekDayParts,
)

ORDINALS = ("", "premier", "deuxième", "troisième", "quatrième", "cinquième")


def dates_in_words(dates: DateParts) -> tuple[str, str]:
    """Return the days, and the months unless the days name theirs: `le 1er janvier`."""
    days, named = _of_one_month(dates)
    if named:
        return days, ""
    match dates.fields:
        case "none":
            days = "tous les jours"
        case "week_days":
            days = _week_days(dates.week_days, " du mois")
        case "month_days":
            days = _month_days(dates.month_days, " du mois")
        case "both":
            month_days = _month_days(dates.month_days, " du mois")
            days = f"{month_days} si c'est aussi {_one_of_week_days(dates.week_days)}"
        case "either":
            month_days = _month_days(dates.month_days, " du mois")
            days = f"{month_days} et aussi {_week_days(dates.week_days, ' du mois')}"
    return days, _months(dates.months)


def _of_one_month(dates: DateParts) -> tuple[str, bool]:
    """Return days that name their month, and True, if there is only one and they can."""
    if len(dates.months.months) != 1:
        return "", False
    month = MONTHS[dates.months.months[0]]
    if dates.fields == "month_days":
        # A number takes the month as it is: le 1er avril, but le dernier jour d'avril.
        numbered = not (dates.month_days.before_end or dates.month_days.last_weekday)
        return _month_days(dates.month_days, f" {month}" if numbered else f" {of(month)}"), True
    if dates.fields == "week_days" and not dates.week_days.plain:
        return _week_days(dates.week_days, f" {of(month)}"), True
    return "", False


def _month_days(days: MonthDayParts, of_month: str) -> str:
    phrases = [_plain_days(days.plain)] if days.plain.numbers else []
    phrases += [_before_end(before) for before in days.before_end]
    if days.nearest is not None:
        phrases.append(f"le jour de semaine le plus proche du {ordinal(days.nearest)}")
    if days.last_weekday:
        phrases.append("le dernier jour de semaine")
    return f"{listed(phrases)}{of_month}"


def _plain_days(days: NumberSet) -> str:
    """Return `le 1er`, `du 1er au 7` or `les 1er et 15`."""
    names = [ordinal(day) for day in days.numbers]
    if len(names) == 1:
        return f"le {names[0]}"
    if days.in_a_row and len(names) > 2:
        return f"du {names[0]} au {names[-1]}"
    return f"les {listed(names)}"


def _before_end(before: int) -> str:
    if before == 0:
        return "le dernier jour"
    if before == 1:
        return "l'avant-dernier jour"
    return f"{before} jours avant le dernier jour"


def _week_days(days: WeekDayParts, of_month: str) -> str:
    """Return `tous les lundis et jeudis` or `le premier lundi du mois`."""
    phrases = []
    if days.run is not None:
        phrases.append(f"du {WEEKDAYS[days.run[0]]} au {WEEKDAYS[days.run[1]]}")
    elif days.plain:
        phrases.append(f"tous les {listed([f'{WEEKDAYS[n]}s' for n in _from_monday(days.plain)])}")
    nth = _nth_week_days(days)
    if nth:
        phrases.append(f"{listed(nth)}{of_month}")
    return listed(phrases)


def _one_of_week_days(days: WeekDayParts) -> str:
    """Return `un lundi ou un jeudi`, as a date may be one."""
    phrases = [f"un {WEEKDAYS[n]}" for n in _from_monday(days.plain)]
    if days.run is not None:
        phrases = [f"un jour du {WEEKDAYS[days.run[0]]} au {WEEKDAYS[days.run[1]]}"]
    nth = [f"{words} du mois" for words in _nth_week_days(days)]
    return listed([*phrases, *nth], "ou")


def _from_monday(weekdays: Sequence[int]) -> list[int]:
    return sorted(weekdays, key=lambda n: (n - 1) % 7)


def _nth_week_days(days: WeekDayParts) -> list[str]:
    nth = [f"le {ORDINALS[number]} {WEEKDAYS[weekday]}" for weekday, number in days.nth]
    return nth + [f"le dernier {WEEKDAYS[weekday]}" for weekday in days.last]


def _months(months: MonthParts) -> str:
    if months.run is not None:
        first, last = MONTHS[months.run[0]], MONTHS[months.run[1]]
        return f"{of(first)} à {last}"
    return f"en {listed([MONTHS[n] for n in months.months])}" if months.months else ""
