"""How `wait` polls for the end of an action."""

from __future__ import annotations

from collections.abc import Iterator

from duetime.model.clock import monotonic


def poll_intervals(limit: float) -> Iterator[float]:
    """Yield how long to sleep before each poll: 0, then growing pauses of at most a quarter of a
    second, until `limit` seconds have passed."""
    deadline, pause = monotonic() + limit, 0.005
    yield 0.0
    while (left := deadline - monotonic()) > 0:
        yield min(pause, max(left, 0.001))
        pause = min(pause * 1.5, 0.25)
