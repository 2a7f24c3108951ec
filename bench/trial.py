"""Trials: what is measured side by side, and what the figures are to reach."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from duetime.bench.figures import Figure, Taken
from duetime.bench.scratch_store import Place

if TYPE_CHECKING:
    from servers import Server


class Missing(Exception):
    """A contender that cannot be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one contender is measured once: an empty database and an empty file of its own.
    `scale` is 1 for the sizes that the goals speak of."""

    url: str
    file: str
    scale: float

    def count(self, full: int) -> int:
        return max(1, round(full * self.scale))

    def seconds(self, full: float, least: float = 0.5) -> float:
        return max(least, full * self.scale)

    @property
    def server_place(self) -> Place:
        return {"url": self.url}

    @property
    def file_place(self) -> Place:
        return {"url": self.file}


Take = Callable[[Spot], Awaitable[Taken]]
# A contender and one of its figures.
Key = tuple[str, str]
# Every figure of a trial.
Found = Mapping[Key, Figure]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a median is to reach: at least (or at most) so much, or so many times another."""

    words: str
    of: Key
    reach: float
    to: Key | None = None
    most: bool = False

    def judge(self, found: Found) -> Judged:
        if self.of not in found or (self.to is not None and self.to not in found):
            return Judged(self, None)
        value = found[self.of].median
        if self.to is not None:
            value /= found[self.to].median or float("nan")
        return Judged(self, value)


@dataclass(frozen=True, slots=True)
class Judged:
    """A goal and what was measured, if it was."""

    goal: Goal
    value: float | None

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value <= self.goal.reach if self.goal.most else self.value >= self.goal.reach

    def document(self) -> dict[str, Any]:
        goal = self.goal
        bound = "at most" if goal.most else "at least"
        return {
            "goal": goal.words,
            "of": list(goal.of),
            "to": None if goal.to is None else list(goal.to),
            "reach": goal.reach,
            "bound": bound,
            "value": self.value,
            "met": self.met,
        }


@dataclass(frozen=True, slots=True)
class Trial:
    """Contenders that are measured in turn, round after round. One that takes minutes has its own
    number of `rounds`; one that is `apart` is only run when it is asked for by name."""

    name: str
    words: str
    contenders: Mapping[str, Take]
    goals: Sequence[Goal] = field(default=())
    rounds: int | None = None
    apart: bool = False
    needs_server: bool = True


@contextmanager
def spot(server: Server | None, scale: float) -> Iterator[Spot]:
    """Made for one contender and one round, and gone after it."""
    with tempfile.TemporaryDirectory(prefix="duetime-bench-") as folder:
        file = f"sqlite:///{folder}/bench.db"
        if server is None:
            yield Spot("", file, scale)
            return
        name = server.create_database()
        try:
            yield Spot(server.database_url(name), file, scale)
        finally:
            server.drop_database(name)
