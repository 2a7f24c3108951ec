"""A rule that begins and ends: its ticks outside of a span do not exist."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from duetime.model.clock import MICROSECOND
from duetime.model.recurrence.base import BEGINNING, END, Recurrence
from duetime.words.languages import language_of


@dataclass(frozen=True, slots=True)
class Within(Recurrence):
    """The ticks of a rule from `start` to `end`, both included."""

    rule: Recurrence
    start: datetime = BEGINNING
    end: datetime = END

    def next(self, after: datetime) -> datetime | None:
        return self._kept(self.rule.next(self._later(after)))

    def wake(self, after: datetime, share: int = 1) -> datetime | None:
        return self._kept(self.rule.wake(self._later(after), share))

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        after, until = self._later(after), min(until, self.end)
        # In an empty range a rule would search far back.
        return self.rule.latest(after, until) if after < until else None

    def describe(self, language: str = "en") -> str:
        start = None if self.start == BEGINNING else self.start
        end = None if self.end == END else self.end
        return language_of(language).rules.within(self.rule.describe(language), start, end)

    def _is_tick(self, wake: datetime) -> bool:
        return self.rule._is_tick(wake)

    @property
    def zones(self) -> frozenset[str]:
        return self.rule.zones

    @property
    def tz(self) -> str:
        return self.rule.tz

    @property
    def _rule_count(self) -> int:
        return self.rule._rule_count

    def _later(self, after: datetime) -> datetime:
        """Return the later of `after` and the instant just before the start."""
        return after if self.start == BEGINNING else max(after, self.start - MICROSECOND)

    def _kept(self, tick: datetime | None) -> datetime | None:
        return None if tick is None or tick > self.end else tick
