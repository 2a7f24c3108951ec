"""Availability: whether any live worker can run an action."""

from __future__ import annotations

from collections.abc import Sequence

from duetime.model.actions.claim import WorkerInfo

START_WORKER = "`duetime worker module:app`, or `async with app.worker()` in this process"


def why_unavailable(kind: str, living: Sequence[tuple[WorkerInfo, int]]) -> str | None:
    """Return why no live worker can run an action of this kind, and the remedy; None if one can.

    `living` pairs each live worker with the time it was last seen.
    """
    if not living:
        return f"no worker is alive: start one with {START_WORKER}"
    if any(kind in worker.kinds for worker, _ in living):
        return None
    alive = "the only living worker has no" if len(living) == 1 else "no living worker has a"
    return f"{alive} handler for kind {kind!r}: start a worker that has one, with {START_WORKER}"
