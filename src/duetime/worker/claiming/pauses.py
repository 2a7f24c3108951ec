"""The paused queues, as far as a worker knows."""

from __future__ import annotations

from duetime.model.lane import readable_lane
from duetime.model.pause import PausedQueues


class KnownPauses:
    """What the last look-ahead or sweep told of paused queues.

    A pause counts until a look says otherwise, even past its end: another pause may have taken its
    place. Its end only says when to look.
    """

    def __init__(self) -> None:
        self.queues: frozenset[str] = frozenset()
        # Those, and what the look before that told: their actions may be late for no other reason.
        self.recent: frozenset[str] = frozenset()
        self.next_end: int | None = None
        # The store's time at which a look found a queue paused no more.
        self.lifted: dict[str, int] = {}

    def look_finished(self, paused: PausedQueues, now: int) -> None:
        """Take over what a look-ahead told, at the store's time `now`."""
        before, self.queues = self.queues, frozenset(paused)
        self.recent = before | self.queues
        self.next_end = min((end for end in paused.values() if end is not None), default=None)
        self.lifted |= dict.fromkeys(before - self.queues, now)

    def hold(self, lane: str) -> bool:
        """Return whether the actions of a lane must not start."""
        return bool(self.queues) and _queue_of(lane) in self.queues

    def startable_from(self, lane: str, due_at: int) -> int:
        """Return since when an action of a lane could start, for its lateness: when it was due, or
        when the pause of its queue was over."""
        return max(due_at, self.lifted.get(_queue_of(lane) or "", due_at))


def _queue_of(lane: str) -> str | None:
    parsed = readable_lane(lane)
    return None if parsed is None else parsed.queue
