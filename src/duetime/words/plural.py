"""A text with a form for few and a form for many."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plural:
    """A text in two forms, chosen by the value `by`: for less than two, and for more."""

    by: str
    few: str
    many: str

    def form(self, number: object) -> str:
        small = isinstance(number, int | float) and abs(number) < 2
        return self.few if small else self.many
