"""Limits the passes that hints cause: strangers may send hints, and the file of a SQLite database
shows commits that concern no row of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from duetime.model.clock import monotonic

# Passes whose hint proved wrong may take this share of the time in the long run,
WRONG_SHARE = 1 / 20
# and this many seconds at once: a hint that proves right must not wait for a few wrong ones.
MAX_SAVED_SECONDS = 0.5


class HintThrottle:
    """A hint causes a pass at once, unless passes of wrong hints have used up their time."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._saved = MAX_SAVED_SECONDS
        self._saved_at = now()
        self._hint_taken = self._pass_is_hinted = False
        self._timer: asyncio.TimerHandle | None = None

    def take(self, wake: Callable[[], None]) -> None:
        """Call `wake` as soon as a hint may cause a pass; hints until then are the same one."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.delay(), self._fire, wake)

    def delay(self) -> float:
        """Return the seconds until a hint may cause a pass."""
        self._save()
        return max(-self._saved / WRONG_SHARE, 0.0)

    def pass_began(self) -> None:
        self._pass_is_hinted, self._hint_taken = self._hint_taken, False

    def proved_wrong(self, seconds: float) -> None:
        """The pass found nothing new, and took so long."""
        if self._pass_is_hinted:
            self._save()
            self._saved -= seconds

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self, wake: Callable[[], None]) -> None:
        self._timer, self._hint_taken = None, True
        wake()

    def _save(self) -> None:
        now = self._now()
        earned = (now - self._saved_at) * WRONG_SHARE
        self._saved, self._saved_at = min(self._saved + earned, MAX_SAVED_SECONDS), now
