"""Sessions as they were read less than a second ago, for open pages that ask again and again."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from uuid import UUID

from duetime.model.access.sessions import SessionUse
from duetime.model.clock import monotonic

MAX_AGE_SECONDS = 1.0
MAX_KEPT = 1_024

ReadSession = Callable[[UUID], Awaitable[SessionUse | None]]


@dataclass(slots=True)
class RecentSession:
    """What was read of a session, and when that read began."""

    use: SessionUse | None = None
    read_at: float | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class RecentSessions:
    """Reads each session at most once a second, however many tabs it has open."""

    def __init__(self, read: ReadSession, clock: Callable[[], float] = monotonic) -> None:
        self._read = read
        self._clock = clock
        self._kept: OrderedDict[Hashable, RecentSession] = OrderedDict()

    async def use(self, session_id: UUID) -> SessionUse | None:
        """Return the session with the grants of its roles; None if there is none."""
        recent = self._recent(session_id)
        async with recent.lock:
            now = self._clock()
            if recent.read_at is None or now - recent.read_at >= MAX_AGE_SECONDS:
                recent.use, recent.read_at = await self._read(session_id), now
            return recent.use

    def _recent(self, session_id: UUID) -> RecentSession:
        # Locks are of one event loop.
        key = (asyncio.get_running_loop(), session_id)
        recent = self._kept.setdefault(key, RecentSession())
        self._kept.move_to_end(key)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return recent
