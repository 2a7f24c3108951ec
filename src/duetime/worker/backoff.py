"""Waiting for what somebody else holds.

What is to be claimed alone and did not come: somebody's transaction holds it, or another
worker was faster.
"""

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


# Microseconds until it is asked for again: less and less often.
FIRST_GAP = 5_000
LONGEST_GAP = 1_000_000


class Withheld:
    """Lanes that gave nothing though something was due in them. Until each may be asked again, no
    slot is kept free for it and nothing else waits."""

    def __init__(self) -> None:
        self._gaps: dict[str, int] = {}
        self._until: dict[str, int] = {}

    def note(self, lane: str, now: int) -> None:
        self._gaps[lane] = min(max(self._gaps.get(lane, 0) * 2, FIRST_GAP), LONGEST_GAP)
        self._until[lane] = now + self._gaps[lane]

    def forget(self, lane: str) -> None:
        """It gave something, or is empty, or something new is due in it."""
        self._gaps.pop(lane, None)
        self._until.pop(lane, None)

    def due(self, lane: str, due_at: int) -> int:
        """From when on to ask for what is due at that time."""
        return max(due_at, self._until.get(lane, due_at))
