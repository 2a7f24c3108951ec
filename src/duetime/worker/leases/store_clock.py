"""The store's time as a worker knows it."""

from __future__ import annotations

from collections.abc import Callable

from duetime.model.clock import Clock, SettableClock, to_micros

# For so many seconds a reply is believed; no longer, since clocks drift apart.
BELIEVED = 1.0


class StoreTime:
    """Counts on from the store's clock, read in a reply, on the monotonic clock.

    The reply took time to arrive, so this runs behind the store, never ahead of it: an
    error makes work late, never early. One that took less to arrive than another is believed
    instead of it. This machine's own clock counts for nothing.
    """

    def __init__(self, clock: Clock, monotonic: Callable[[], float]) -> None:
        self.monotonic = monotonic
        self._fake = clock if isinstance(clock, SettableClock) else None
        self._heard = 0
        self._at = monotonic()

    def heard(self, now: int, asked: float) -> None:
        """A reply arrived that told the store's clock, to what was asked then. It may be behind
        what we count by what it took, and tells nothing new; if by more, the clock was set back."""
        at = self.monotonic()
        stale = 0 < self.now() - now <= (at - asked) * 1_000_000
        if not stale or at - self._at > BELIEVED:
            self._heard, self._at = now, at

    def now(self) -> int:
        if self._fake is not None:
            return to_micros(self._fake.now())
        return self._heard + int((self.monotonic() - self._at) * 1_000_000)

    def until(self, instant: int) -> float:
        """Seconds from now to an instant of the store."""
        return (instant - self.now()) / 1_000_000
