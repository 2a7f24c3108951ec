"""A clock that moves only when a test moves it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from duetime.model.validation import instant


class FakeClock:
    """Stands still until it is moved; moving it wakes workers that wait for the time.

    Give it to an app that there is, `with app.testing.override(clock=FakeClock()):`, or to one that
    the test makes, `Duetime("memory://", clock=FakeClock())`: the store, the workers and every
    handler that takes a Clock then use it.
    """

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._now = self._start = instant("start", start)
        self._lock = threading.Lock()
        self._wakes: list[Callable[[], None]] = []

    def now(self) -> datetime:
        return self._now

    def set(self, when: datetime) -> None:
        """Move to an instant, which may be in the past."""
        with self._lock:
            self._now = instant("when", when)
            wakes = list(self._wakes)
        for wake in wakes:
            wake()

    def advance(self, by: float | timedelta = 0, **units: float) -> None:
        """Move by seconds, a timedelta, or units: `advance(days=30, hours=2)`."""
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        self.set(self._now + step + timedelta(**units))

    def reset(self) -> None:
        """Move back to the start."""
        self.set(self._start)

    def on_change(self, wake: Callable[[], None]) -> Callable[[], None]:
        with self._lock:
            self._wakes.append(wake)
        return lambda: self._forget(wake)

    def _forget(self, wake: Callable[[], None]) -> None:
        with self._lock:
            if wake in self._wakes:
                self._wakes.remove(wake)
