"""Rounds: measure the contenders of a trial in turn, so that disturbances affect all."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from report import Measured
from trial import Missing, Take, Trial, spot

from duetime.bench.figures import RoundFigures, figures
from duetime.errors import DuetimeError
from duetime.worker.event_loop import run_loop
from servers import Server

Progress = Callable[[str], None]


def measure(
    trial: Trial,
    contenders: Mapping[str, Take],
    server: Server | None,
    *,
    rounds: int,
    scale: float,
    progress: Progress,
) -> Measured:
    """Measure each contender once per round; every round begins with another contender."""
    rounds = min(rounds, trial.rounds or rounds)
    taken: dict[str, list[RoundFigures]] = {name: [] for name in contenders}
    skipped: dict[str, str] = {}
    for number in range(rounds):
        for name in turned(list(contenders), number):
            if name in skipped:
                continue
            progress(f"{trial.name}, round {number + 1} of {rounds}: {name}")
            try:
                taken[name].append(take(contenders[name], server, scale))
            except (Missing, DuetimeError) as error:
                # Other contenders and trials are still measured.
                skipped[name] = f"{type(error).__name__}: {error}"
                progress(f"{trial.name}: {name} SKIPPED, {skipped[name]}")
    found = {
        (name, f"{figure.name} {figure.unit}"): figure
        for name, results in taken.items()
        for figure in figures(results)
    }
    return Measured(trial, found, rounds, scale, skipped)


def turned(names: list[str], by: int) -> list[str]:
    first = by % len(names) if names else 0
    return [*names[first:], *names[:first]]


def take(contender: Take, server: Server | None, scale: float) -> RoundFigures:
    async def work() -> RoundFigures:
        return await contender(place)

    with spot(server, scale) as place:
        return run_loop(work())
