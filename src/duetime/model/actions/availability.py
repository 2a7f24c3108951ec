"""Why an action that somebody waits for may wait for ever."""

from __future__ import annotations

from collections.abc import Sequence

from duetime.model.actions.claim import Presence

REMEDY = "`duetime worker module:app`, or `async with app.worker()` in this process"


def lack(kind: str, living: Sequence[tuple[Presence, int]]) -> str | None:
    """What is missing for an action of this kind to be run, and the remedy; None if it is only a
    matter of time, given these workers, each with when it was seen."""
    if not living:
        return f"no worker is alive that could run it: start one with {REMEDY}"
    if any(kind in one.kinds for one, _ in living):
        return None
    alive = "the only living worker has no" if len(living) == 1 else "no living worker has a"
    return f"{alive} handler for kind {kind!r}: start one that has, with {REMEDY}"
