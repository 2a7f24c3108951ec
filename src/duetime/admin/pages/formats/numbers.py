"""Numbers, sizes and counted nouns, as each language writes them."""

from __future__ import annotations

from typing import NamedTuple

from duetime.admin.pages.languages import Language
from duetime.words.habits import decimal_number, whole_number, with_unit
from duetime.words.languages import language_of

COMPACT_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
SIZE_UNITS: dict[Language, tuple[str, ...]] = {
    "en": ("B", "kB", "MB", "GB", "TB", "PB", "EB"),
    "fr": ("o", "ko", "Mo", "Go", "To", "Po", "Eo"),
}


class CountedNoun(NamedTuple):
    """The forms of a noun after a number."""

    singular: str
    plural: str


def whole(number: int, language: Language) -> str:
    return whole_number(number, language_of(language).habits)


def decimal(number: float, digits: int, language: Language) -> str:
    return decimal_number(number, digits, language_of(language).habits)


def compact(number: int) -> str:
    """At most four characters below 10^12, for marks that are small: `14`, `12k`, `999M`."""
    if number < 0:
        return f"-{compact(-number)}"
    for size, unit in COMPACT_UNITS:
        if number >= size:
            return f"{number // size}{unit}" if number < 1000 * size else f">999{unit}"
    return str(number)


def byte_size(size: int, language: Language) -> str:
    """`512 B`, `1.2 kB`, `1 MB`; `512 o`, `1,2 ko`, `1 Mo`."""
    units = SIZE_UNITS[language]
    if abs(size) < 1000:
        return with_unit(whole(size, language), units[0])
    power = 1
    # What would be rounded up to 1,000 of a unit is 1 of the next.
    while abs(size) >= 999.95 * 1000**power and power < len(units) - 1:
        power += 1
    return with_unit(decimal(size / 1000**power, 1, language), units[power])


def is_singular(count: float, language: Language) -> bool:
    """Return whether a noun after this number is singular: 1 in English, below 2 in French."""
    return abs(count) < 2 if language == "fr" else abs(count) == 1


def counted(count: int, noun: CountedNoun, language: Language) -> str:
    """`1 run`, `0 runs`; `0 exécution`, `2 exécutions`."""
    form = noun.singular if is_singular(count, language) else noun.plural
    return with_unit(whole(count, language), form)
