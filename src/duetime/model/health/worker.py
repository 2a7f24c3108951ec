"""The health of one worker, which its sweeps store for `duetime doctor` and `app.stats()`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

MAX_PROBLEMS = 20
MAX_PROBLEM_LENGTH = 500


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """What a worker cannot do, and how many wakes it refused because a stranger made them."""

    problems: tuple[str, ...] = ()
    refused_wakes: int = 0


HEALTHY = WorkerHealth()


def health_to_text(health: WorkerHealth) -> str | None:
    """Return the health as stores keep it; None for a healthy worker."""
    if health == HEALTHY:
        return None
    problems = [problem[:MAX_PROBLEM_LENGTH] for problem in health.problems[:MAX_PROBLEMS]]
    return json.dumps({"problems": problems, "refused_wakes": health.refused_wakes})


def health_of_text(text: str | None) -> WorkerHealth:
    """Return the stored health. A text that duetime did not write is itself a problem."""
    if text is None:
        return HEALTHY
    try:
        stored: Any = json.loads(text)
        problems = tuple(str(problem) for problem in stored["problems"])
        return WorkerHealth(problems, int(stored["refused_wakes"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return WorkerHealth((f"its stored health is unreadable: {text!r:.100}",))
