"""Numbers, instants, clocks and lists as French writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from duetime.words.phrase import WallClock
from duetime.words.plural import Plural

# A space at which no line is broken, narrow as in 1 234 and before a semicolon.
THIN = "\N{NARROW NO-BREAK SPACE}"
WIDE = "\N{NO-BREAK SPACE}"
MONTHS = (
    "",
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
)
WEEKDAYS = ("dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi")


def typeset(text: str) -> str:
    """Return a text with the spaces that belong to punctuation, at which no line is broken."""
    for mark in ";?!":
        text = text.replace(f" {mark}", f"{THIN}{mark}")
    return text.replace(" :", f"{WIDE}:").replace("« ", f"«{WIDE}").replace(" »", f"{WIDE}»")


def typeset_texts(texts: Mapping[str, str | Plural]) -> dict[str, str | Plural]:
    """Return the texts with such spaces."""
    return {
        template: typeset(text)
        if isinstance(text, str)
        else replace(text, few=typeset(text.few), many=typeset(text.many))
        for template, text in texts.items()
    }


def show(value: object, spec: str) -> str:
    """Return a value for a text; numbers in the form that the English text gives them."""
    match value:
        case WallClock(at, dated):
            return f"{clock_of(at)} le {day_of(at)}" if dated else clock_of(at)
        case datetime():
            return f"{day_of(value.astimezone(UTC))} à {clock_of(value.astimezone(UTC))} UTC"
        case int() | float():
            return french_number(format(value, spec))
        case _:
            return format(value, spec)


def french_number(english: str) -> str:
    return english.replace(",", THIN).replace(".", ",")


def instant_of(at: datetime) -> str:
    """Return `1er mars 2026 à 02:30 UTC`."""
    return show(at, "")


def day_of(day: date) -> str:
    """Return `1er mars 2026`."""
    return f"{ordinal(day.day)} {MONTHS[day.month]} {day.year}"


def clock_of(at: datetime) -> str:
    """Return `02:30`, and seconds and what follows them if there are any."""
    text = f"{at:%H:%M:%S}" if at.second or at.microsecond else f"{at:%H:%M}"
    return f"{text},{at.microsecond:06}".rstrip("0") if at.microsecond else text


def ordinal(day: int) -> str:
    """Return a day of a month: only the first is an ordinal."""
    return "1er" if day == 1 else str(day)


def of(word: str) -> str:
    """Return `de mars`, `d'avril`."""
    return f"d'{word}" if word[0] in "aeiouhéè" else f"de {word}"


def listed(words: Sequence[str], conjunction: str = "et") -> str:
    """Return `a, b et c`."""
    return (
        f"{', '.join(words[:-1])} {conjunction} {words[-1]}" if len(words) > 1 else "".join(words)
    )
