"""Reports of measurements: lines for people, JSON for machines."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trial import Found, Judged, Trial

from duetime.bench.figures import Figure, format_figure

MARKS = {True: "reached", False: "SHORT OF IT", None: "not measured"}


@dataclass(frozen=True)
class Measured:
    """A trial after its rounds. `skipped` names contenders that were not available, and why."""

    trial: Trial
    found: Found
    rounds: int
    scale: float
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def judged(self) -> list[Judged]:
        return [goal.judge(self.found) for goal in self.trial.goals]


def lines(measured: Measured) -> Iterator[str]:
    """Yield a table: medians with the lowest and highest of all rounds, then the goals."""
    trial = measured.trial
    size = "" if measured.scale == 1 else f" (scale {measured.scale:g})"
    yield f"{trial.name}: {trial.words}{size}; median of {measured.rounds}"
    for (contender, _), figure in measured.found.items():
        yield f"  {contender:<24} {figure.name:<22} {_figure(figure)}"
    for contender, reason in measured.skipped.items():
        yield f"  {contender:<24} SKIPPED: {reason}"
    for judged in measured.judged:
        yield f"  goal: {judged.goal.words:<52} {_value(judged):>9}  {MARKS[judged.met]}"


def summary(done: Sequence[Measured]) -> Iterator[str]:
    """Yield how many goals were reached, and which were not."""
    judged = [(measured.trial.name, goal) for measured in done for goal in measured.judged]
    counts = Counter(MARKS[goal.met] for _, goal in judged)
    yield "goals: " + ", ".join(f"{number} {word}" for word, number in counts.items())
    for name, goal in judged:
        if goal.met is False:
            yield f"  {name}: {goal.goal.words}: {_value(goal)}"


def _figure(figure: Figure) -> str:
    spread = ""
    if len(figure.values) > 1:
        spread = f"({format_figure(figure.low)} to {format_figure(figure.high)})"
    return f"{format_figure(figure.median):>9} {figure.unit:<6} {spread}"


def _value(judged: Judged) -> str:
    if judged.value is None:
        return "-"
    return f"{judged.value:.2f} x" if judged.goal.to is not None else format_figure(judged.value)


def document(measured: Measured) -> dict[str, Any]:
    return {
        "name": measured.trial.name,
        "words": measured.trial.words,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": measured.rounds,
        "scale": measured.scale,
        "figures": [
            {"contender": contender, **figure.document()}
            for (contender, _), figure in measured.found.items()
        ],
        "goals": [judged.document() for judged in measured.judged],
        "skipped": dict(measured.skipped),
    }


def keep(path: Path, measured: Measured, about: Mapping[str, Any]) -> None:
    """Write the trial to the file. Other trials in the file stay, each with its own time."""
    stored = json.loads(path.read_text()) if path.exists() else {"trials": []}
    trials = {trial["name"]: trial for trial in stored["trials"]} | {
        measured.trial.name: document(measured)
    }
    whole = {**about, "trials": list(trials.values())}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1) + "\n")


def machine() -> dict[str, Any]:
    return {
        "duetime": version("duetime"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
    }
