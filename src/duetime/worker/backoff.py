"""Growing pauses before a worker retries something that another worker or transaction has."""

from __future__ import annotations

FIRST_PAUSE_SECONDS = 0.05
MAX_PAUSE_SECONDS = 1.0


class Backoff:
    """Pauses in seconds that double from the first to `longest`."""

    def __init__(self, longest: float = MAX_PAUSE_SECONDS) -> None:
        self._max_pause = longest
        self._next_pause = FIRST_PAUSE_SECONDS

    def next_pause(self) -> float:
        """Return the seconds to wait before the next attempt."""
        pause, self._next_pause = self._next_pause, min(self._next_pause * 2, self._max_pause)
        return pause

    def reset(self) -> None:
        self._next_pause = FIRST_PAUSE_SECONDS


FIRST_LANE_PAUSE_MICROS = 5_000
MAX_LANE_PAUSE_MICROS = 1_000_000


class LaneBackoff:
    """Lanes whose claim came back empty although an action in them was due. Until a lane's pause is
    over no slot is reserved for it, and claims from other lanes go on."""

    def __init__(self) -> None:
        self._pauses: dict[str, int] = {}
        self._retry_at: dict[str, int] = {}

    def back_off(self, lane: str, now: int) -> None:
        self._pauses[lane] = min(
            max(self._pauses.get(lane, 0) * 2, FIRST_LANE_PAUSE_MICROS), MAX_LANE_PAUSE_MICROS
        )
        self._retry_at[lane] = now + self._pauses[lane]

    def reset(self, lane: str) -> None:
        """Forget the pause: the lane yielded an action, is empty, or got a new due action."""
        self._pauses.pop(lane, None)
        self._retry_at.pop(lane, None)

    def retry_at(self, lane: str, due_at: int) -> int:
        """Return when to claim from the lane again: `due_at`, or the end of its pause if that is
        later."""
        return max(due_at, self._retry_at.get(lane, due_at))
