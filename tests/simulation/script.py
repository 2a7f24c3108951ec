"""What a simulated handler does, run by run: drawn from the seed before anything starts."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from simulation.scenario import Scenario

End = Literal["ok", "raise", "snooze", "fail", "cancel", "poison", "exit"]
Kind = Literal["work", "timed", "once", "rare"]

ENDS: list[End] = ["ok", "raise", "snooze", "fail", "cancel"]
KINDS: list[Kind] = ["work", "work", "timed", "once", "rare"]
TIMEOUT = 1.5


@dataclass(frozen=True, slots=True)
class Step:
    """One run: how long it takes and how it ends."""

    seconds: float
    end: End
    heeds: bool = False
    notes: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """The runs of one action in turn; the last one repeats."""

    kind: Kind
    steps: tuple[Step, ...]

    def step(self, earlier: int) -> Step:
        return self.steps[min(earlier, len(self.steps) - 1)]


def draw_script(dice: Random, scenario: Scenario) -> Script:
    kind = dice.choice(KINDS)
    if dice.random() < scenario.faults.poison:
        end: End = dice.choice(["poison", "exit"])
        steps = [*_steps(dice, scenario, dice.randint(0, 1)), Step(dice.uniform(0, 0.5), end)]
    else:
        steps = [*_steps(dice, scenario, dice.randint(0, 3)), Step(_seconds(dice, scenario), "ok")]
    return Script(kind, tuple(steps))


def _steps(dice: Random, scenario: Scenario, count: int) -> list[Step]:
    return [
        Step(
            _seconds(dice, scenario),
            dice.choices(ENDS, [3, 4, 3, 1, 1])[0],
            heeds=dice.random() < 0.3,
            notes=dice.random() < 0.2,
        )
        for _ in range(count)
    ]


def _seconds(dice: Random, scenario: Scenario) -> float:
    """Mostly short, sometimes longer than the lease."""
    if dice.random() < 0.2:
        return scenario.settings.lease * dice.uniform(0.5, 2.5)
    return dice.expovariate(2)
