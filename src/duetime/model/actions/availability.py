"""Availability: whether any live worker can run an action."""

from __future__ import annotations

from collections.abc import Sequence

from duetime.model.actions.claim import SeenWorker

START_WORKER = "`duetime worker module:app`, or `async with app.worker()` in this process"


def why_unavailable(kind: str, living: Sequence[SeenWorker]) -> str | None:
    """Return why no live worker can run an action of this kind, and the remedy; None if one can."""
    if not living:
        return f"no worker is alive: start one with {START_WORKER}"
    if any(kind in seen.worker.kinds for seen in living):
        return None
    alive = "the only living worker has no" if len(living) == 1 else "no living worker has a"
    return f"{alive} handler for kind {kind!r}: start a worker that has one, with {START_WORKER}"
