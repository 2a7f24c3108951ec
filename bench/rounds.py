"""Rounds: the contenders of a trial in turn, so that what disturbs one disturbs the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from report import Measured
from trial import Missing, Take, Trial, spot

from duetime.bench.figures import Taken, figures
from duetime.errors import DuetimeError
from duetime.worker.event_loop import run_loop
from servers import Server

Tell = Callable[[str], None]


def measure(
    trial: Trial,
    contenders: Mapping[str, Take],
    server: Server | None,
    *,
    rounds: int,
    scale: float,
    tell: Tell,
) -> Measured:
    """Every round begins with another contender."""
    rounds = min(rounds, trial.rounds or rounds)
    taken: dict[str, list[Taken]] = {name: [] for name in contenders}
    skipped: dict[str, str] = {}
    for number in range(rounds):
        for name in turned(list(contenders), number):
            if name in skipped:
                continue
            tell(f"{trial.name}, round {number + 1} of {rounds}: {name}")
            try:
                taken[name].append(take(contenders[name], server, scale))
            except (Missing, DuetimeError) as error:
                # The others, and what comes after, are still worth measuring.
                skipped[name] = f"{type(error).__name__}: {error}"
                tell(f"{trial.name}: {name} SKIPPED, {skipped[name]}")
    found = {
        (name, f"{one.name} {one.unit}"): one
        for name, ones in taken.items()
        for one in figures(ones)
    }
    return Measured(trial, found, rounds, scale, skipped)


def turned(names: list[str], by: int) -> list[str]:
    first = by % len(names) if names else 0
    return [*names[first:], *names[:first]]


def take(one: Take, server: Server | None, scale: float) -> Taken:
    async def work() -> Taken:
        return await one(place)

    with spot(server, scale) as place:
        return run_loop(work())
