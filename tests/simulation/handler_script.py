"""Scripts of simulated handlers, run by run, drawn from the seed before the history starts."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from simulation.scenario import Scenario

End = Literal["ok", "raise", "snooze", "fail", "cancel", "release", "poison", "exit"]
Kind = Literal["work", "timed", "once", "rare"]

ENDS: list[End] = ["ok", "raise", "snooze", "fail", "cancel", "release"]
KINDS: list[Kind] = ["work", "work", "timed", "once", "rare"]
TIMEOUT_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Step:
    """One run: how long it takes and how it ends."""

    seconds: float
    end: End
    cooperative: bool = False
    notes_progress: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """The runs of one action in order; the last run repeats."""

    kind: Kind
    steps: tuple[Step, ...]

    def step(self, earlier_starts: int) -> Step:
        return self.steps[min(earlier_starts, len(self.steps) - 1)]


def draw_script(rng: Random, scenario: Scenario) -> Script:
    kind = rng.choice(KINDS)
    if rng.random() < scenario.faults.poison:
        end: End = rng.choice(["poison", "exit"])
        steps = [*_steps(rng, scenario, rng.randint(0, 1)), Step(rng.uniform(0, 0.5), end)]
    else:
        steps = [*_steps(rng, scenario, rng.randint(0, 3)), Step(_seconds(rng, scenario), "ok")]
    return Script(kind, tuple(steps))


def _steps(rng: Random, scenario: Scenario, count: int) -> list[Step]:
    return [
        Step(
            _seconds(rng, scenario),
            rng.choices(ENDS, [3, 4, 3, 1, 1, 1])[0],
            cooperative=rng.random() < 0.3,
            notes_progress=rng.random() < 0.2,
        )
        for _ in range(count)
    ]


def _seconds(rng: Random, scenario: Scenario) -> float:
    """Draw a duration: mostly short, sometimes longer than the lease."""
    if rng.random() < 0.2:
        return scenario.settings.lease * rng.uniform(0.5, 2.5)
    return rng.expovariate(2)
