"""The life of an action as the witness counts it."""

from __future__ import annotations

from dataclasses import dataclass

from duetime.model.actions.action import Record

Change = tuple[Record | None, Record]


@dataclass(slots=True)
class Life:
    """What the counters of an action must be; `number` grows when its budget starts anew."""

    attempt: int = 0
    base: int = 0
    losses: int = 0
    number: int = 0
    finishes: int = 0
