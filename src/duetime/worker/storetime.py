"""The store's time as a worker knows it."""

from __future__ import annotations

from collections.abc import Callable

from duetime.model.clock import Clock, SettableClock, to_micros

# For so many seconds the promptest reply is believed; no longer, since clocks drift apart.
PROMPTEST_OF = 1.0
# Microseconds. A clock that is so much behind was set back; by less, clocks are slewed.
SET_BACK = 100_000


class StoreTime:
    """Counts on from the store's clock, read in a reply, on the monotonic clock.

    The reply took time to arrive, so this runs behind the store, never ahead of it: an
    error makes work late, never early. The reply that took the least is believed until another
    is as prompt. This machine's own clock counts for nothing.
    """

    def __init__(self, clock: Clock, monotonic: Callable[[], float]) -> None:
        self.monotonic = monotonic
        self._fake = clock if isinstance(clock, SettableClock) else None
        self._heard = 0
        self._at = monotonic()

    def heard(self, now: int) -> None:
        """A reply arrived that told the store's clock."""
        if not 0 < self.now() - now < SET_BACK or self.monotonic() - self._at > PROMPTEST_OF:
            self._heard, self._at = now, self.monotonic()

    def now(self) -> int:
        if self._fake is not None:
            return to_micros(self._fake.now())
        return self._heard + int((self.monotonic() - self._at) * 1_000_000)

    def until(self, instant: int) -> float:
        """Seconds from now to an instant of the store."""
        return (instant - self.now()) / 1_000_000
