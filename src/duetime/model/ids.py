"""Ids: time-ordered UUIDs (version 7, RFC 9562), made by the client."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from uuid import UUID

from duetime.model.clock import Clock, SystemClock, to_micros

NewId = Callable[[], UUID]
RANDOM_BITS = 74


class TimeOrderedIds:
    """Ids that sort in the order they were made, also within one millisecond."""

    def __init__(
        self, clock: Clock | None = None, random: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._clock = clock or SystemClock()
        self._random = random
        self._last = 0
        self._lock = threading.Lock()

    def __call__(self) -> UUID:
        with self._lock:
            self._last = max(self._fresh(), self._last + 1)
            return _as_uuid7(self._last)

    def _fresh(self) -> int:
        millis = to_micros(self._clock.now()) // 1000
        return (max(millis, 0) << RANDOM_BITS) | (
            int.from_bytes(self._random(10), "big") & ((1 << RANDOM_BITS) - 1)
        )


def _as_uuid7(ordered: int) -> UUID:
    """Spread the 122 ordered bits around the version and variant fields."""
    millis = (ordered >> RANDOM_BITS) & ((1 << 48) - 1)
    high = (ordered >> 62) & 0xFFF
    low = ordered & ((1 << 62) - 1)
    return UUID(int=(millis << 80) | (7 << 76) | (high << 64) | (2 << 62) | low)
