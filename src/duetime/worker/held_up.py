"""Waiting for what somebody else holds."""

from __future__ import annotations

FIRST = 0.05
LONGEST = 1.0


class HeldUp:
    """It is asked for again after a moment, and then less and less often."""

    def __init__(self, longest: float = LONGEST) -> None:
        self._longest = longest
        self._pause = FIRST

    def again(self) -> float:
        """In how many seconds."""
        pause, self._pause = self._pause, min(self._pause * 2, self._longest)
        return pause

    def over(self) -> None:
        self._pause = FIRST
