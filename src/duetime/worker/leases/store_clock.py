"""The store's clock as a worker knows it."""

from __future__ import annotations

from collections.abc import Callable

from duetime.model.clock import Clock, SettableClock, to_micros

# A reply's time is trusted for this long: clocks drift.
REPLY_TRUST_SECONDS = 1.0


class StoreClock:
    """Extrapolates the store's clock from its replies with the monotonic clock.

    A reply takes time to arrive, so this clock runs behind the store's, never ahead: an error makes
    work late, never early. A reply that took less time replaces one that took more. The machine's
    own wall clock is not used.
    """

    def __init__(self, clock: Clock, monotonic: Callable[[], float]) -> None:
        self.monotonic = monotonic
        self._test_clock = clock if isinstance(clock, SettableClock) else None
        self._observed = 0
        self._observed_at = self._asked_at = monotonic()

    def observe(self, now: int, sent: float) -> None:
        """Record the store's time `now` from a reply to a request sent at `sent`. A reply that is
        behind our time by no more than its travel time tells nothing new; if it is further behind,
        the store's clock was set back."""
        at = self.monotonic()
        stale = 0 < self.now() - now <= (at - sent) * 1_000_000
        if not stale or at - self._observed_at > REPLY_TRUST_SECONDS:
            self._observed, self._observed_at, self._asked_at = now, at, sent

    def now(self) -> int:
        if self._test_clock is not None:
            return to_micros(self._test_clock.now())
        return self._observed + int((self.monotonic() - self._observed_at) * 1_000_000)

    def latest(self) -> int:
        """Return the latest that the store's clock may show now: it was read, at the earliest, when
        the request was sent."""
        if self._test_clock is not None:
            return self.now()
        return self._observed + int((self.monotonic() - self._asked_at) * 1_000_000)

    def until(self, instant: int) -> float:
        """Return the seconds from now to an instant of the store."""
        return (instant - self.now()) / 1_000_000
