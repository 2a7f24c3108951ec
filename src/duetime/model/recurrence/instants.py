"""Instants: a rule that is a list of instants."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from duetime.errors import InvalidRecurrence
from duetime.model.recurrence.base import Recurrence
from duetime.model.validation import instant
from duetime.words.languages import language_of
from duetime.words.phrase import phrase

MAX_INSTANTS = 10_000
MAX_DESCRIBED_INSTANTS = 5


@dataclass(frozen=True, slots=True, init=False)
class Instants(Recurrence):
    """`Instants([first, second])`: the given instants, in order, each once."""

    ticks: tuple[datetime, ...]

    def __init__(self, ticks: Iterable[datetime]) -> None:
        if isinstance(ticks, str) or not isinstance(ticks, Iterable):
            remedy = phrase("give a list of aware datetimes")
            raise InvalidRecurrence("recurrence", ticks, remedy)
        ordered = sorted({instant("recurrence", tick) for tick in ticks})
        if not ordered:
            remedy = phrase("it would never fire: the list is empty")
            raise InvalidRecurrence("recurrence", [], remedy)
        if len(ordered) > MAX_INSTANTS:
            remedy = phrase("give at most {most} instants", most=MAX_INSTANTS)
            raise InvalidRecurrence("recurrence", len(ordered), remedy)
        object.__setattr__(self, "ticks", tuple(ordered))

    def next(self, after: datetime) -> datetime | None:
        later = bisect_right(self.ticks, instant("after", after))
        return self.ticks[later] if later < len(self.ticks) else None

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        later = bisect_right(self.ticks, instant("until", until))
        tick = self.ticks[later - 1] if later else None
        return tick if tick is not None and tick > instant("after", after) else None

    def describe(self, language: str = "en") -> str:
        first = self.ticks[:MAX_DESCRIBED_INSTANTS]
        return language_of(language).rules.instants(first, len(self.ticks) - len(first))

    @property
    def zones(self) -> frozenset[str]:
        return frozenset()
