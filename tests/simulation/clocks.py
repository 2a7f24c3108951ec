"""Clocks in virtual time: the store's is right, each machine's own is skewed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from duetime.model.clock import to_micros
from simulation.virtual_loop import SimLoop

START = datetime(2030, 1, 1, tzinfo=UTC)


class LoopClock:
    """Wall clock in virtual time, off by `skew` seconds; truncated to microseconds."""

    def __init__(self, loop: SimLoop, skew: float = 0.0) -> None:
        self._loop = loop
        self._start = START + timedelta(seconds=skew)

    def now(self) -> datetime:
        return self._start + timedelta(microseconds=int(self._loop.time() * 1_000_000))


def instant(seconds: float) -> int:
    """Convert a time of the event loop into the microseconds that the store uses."""
    return to_micros(START) + int(seconds * 1_000_000)
