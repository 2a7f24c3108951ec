"""Trials: contenders that are measured side by side, and the goals of their figures."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from duetime.bench.figures import Figure, RoundFigures
from duetime.bench.scratch_store import StoreArguments

if TYPE_CHECKING:
    from servers import Server


class Missing(Exception):
    """A contender is not available here; the message says why."""


@dataclass(frozen=True, slots=True)
class Spot:
    """The place of one measurement: an empty database and an empty file. `scale` is 1 for the sizes
    in the goals."""

    url: str
    file: str
    scale: float

    def count(self, full: int) -> int:
        return max(1, round(full * self.scale))

    def seconds(self, full: float, least: float = 0.5) -> float:
        return max(least, full * self.scale)

    @property
    def server_place(self) -> StoreArguments:
        return {"url": self.url}

    @property
    def file_place(self) -> StoreArguments:
        return {"url": self.file}


Take = Callable[[Spot], Awaitable[RoundFigures]]
# A contender and one of its figures.
Key = tuple[str, str]
# Every figure of a trial.
Found = Mapping[Key, Figure]


@dataclass(frozen=True, slots=True)
class Goal:
    """The bound of a median: at least (or at most) `reach`, or `reach` times another median."""

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
    """A goal and the measured value, if any."""

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
    """Contenders that are measured in turn, round after round. A trial that takes minutes has its
    own number of `rounds`; a trial that is `apart` is only run by name."""

    name: str
    words: str
    contenders: Mapping[str, Take]
    goals: Sequence[Goal] = field(default=())
    rounds: int | None = None
    apart: bool = False
    needs_server: bool = True


@contextmanager
def spot(server: Server | None, scale: float) -> Iterator[Spot]:
    """Create the place of one contender's round, and remove it afterwards."""
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
