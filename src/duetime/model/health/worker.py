"""What a worker's sweeps store of its state, for operators: its health, and its slots in use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True, slots=True)
class SlotUse:
    """How many slots of a pool are in use. A pool with `queues` serves only those; one without
    serves every queue that no other pool of its worker names."""

    queues: tuple[str, ...] | None
    slots: int
    used: int

    @property
    def full(self) -> bool:
        return self.used >= self.slots


def slots_to_text(pools: Sequence[SlotUse]) -> str | None:
    """Return the slots of a worker as stores keep them."""
    return json.dumps([asdict(pool) for pool in pools]) if pools else None


def slots_of_text(text: str | None) -> tuple[SlotUse, ...]:
    """Return the stored slots; none for older code, and for a text that duetime did not write."""
    try:
        stored: Any = json.loads(text or "[]")
        return tuple(_slot_use(pool) for pool in stored)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return ()


def _slot_use(pool: Any) -> SlotUse:
    queues = pool["queues"]
    named = None if queues is None else tuple(str(queue) for queue in queues)
    return SlotUse(named, int(pool["slots"]), int(pool["used"]))
