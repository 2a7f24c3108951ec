"""Ids: time-ordered UUIDs (version 7, RFC 9562), made by the client."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from uuid import UUID

from duetime.model.clock import Clock, to_micros, unix_micros

NewId = Callable[[], UUID]
RANDOM_BITS = 74


class TimeOrderedIds:
    """Ids that sort in the order they were made, also within one millisecond.

    Chance fills the rest of an id at each new millisecond; within it the id counts on. A
    forked process starts anew: it must not count on where its parent does.
    """

    def __init__(
        self, clock: Clock | None = None, random: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._clock = clock
        self._random = random
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._millis = 0
        self._last = 0
        self._lock = threading.Lock()

    def __call__(self) -> UUID:
        if self._process != os.getpid():
            self._start()
        with self._lock:
            millis = self._now()
            if millis > self._millis:
                self._millis, self._last = millis, self._fresh(millis)
            else:
                self._last += 1
            return _as_uuid7(self._last)

    def _now(self) -> int:
        return (unix_micros() if self._clock is None else to_micros(self._clock.now())) // 1000

    def _fresh(self, millis: int) -> int:
        chance = int.from_bytes(self._random(10), "big") & ((1 << RANDOM_BITS) - 1)
        return max((millis << RANDOM_BITS) | chance, self._last + 1)


def _as_uuid7(ordered: int) -> UUID:
    """Spread the 122 ordered bits around the version and variant fields."""
    millis = (ordered >> RANDOM_BITS) & ((1 << 48) - 1)
    high = (ordered >> 62) & 0xFFF
    low = ordered & ((1 << 62) - 1)
    return UUID(int=(millis << 80) | (7 << 76) | (high << 64) | (2 << 62) | low)
