"""The counters that an action must have, maintained by the transaction checker."""

from __future__ import annotations

from dataclasses import dataclass

from duetime.model.actions.action import Record

Change = tuple[Record | None, Record]


@dataclass(slots=True)
class ExpectedCounters:
    """Expected counters of an action; `budget_number` grows when its retry budget starts anew."""

    attempt: int = 0
    base: int = 0
    losses: int = 0
    budget_number: int = 0
    finishes: int = 0
