"""Clocks of a history: the store's is the truth, every machine's own is wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from duetime.model.clock import to_micros
from simulation.loop import SimLoop

START = datetime(2030, 1, 1, tzinfo=UTC)


class LoopClock:
    """Wall clock in virtual time, off by `skew` seconds. Microseconds are cut, not rounded."""

    def __init__(self, loop: SimLoop, skew: float = 0.0) -> None:
        self._loop = loop
        self._start = START + timedelta(seconds=skew)

    def now(self) -> datetime:
        return self._start + timedelta(microseconds=int(self._loop.time() * 1_000_000))


def instant(seconds: float) -> int:
    """A moment of the loop as the store writes it."""
    return to_micros(START) + int(seconds * 1_000_000)
