"""What live pages show, read once a second for all readers who reach the same rows."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from duetime.model.clock import monotonic
from duetime.model.tenant import Scope

if TYPE_CHECKING:
    from duetime.app import Duetime

T = TypeVar("T")
# Reads something of the rows of a scope; it must not read payloads or errors.
Read = Callable[..., Awaitable[T]]

MAX_AGE_SECONDS = 1.0
MAX_SNAPSHOTS = 256
KEPT_SECONDS_ATTRIBUTE = "kept_seconds"
LIVE_SECONDS_ATTRIBUTE = "live_seconds"


def kept_for(seconds: float) -> Callable[[Read[T]], Read[T]]:
    """Declare that what a function reads changes slowly, or costs much: it is read anew after
    `seconds`, for pages that are loaded, too."""

    def declare(read: Read[T]) -> Read[T]:
        setattr(read, KEPT_SECONDS_ATTRIBUTE, seconds)
        return read

    return declare


def live_every(seconds: float) -> Callable[[Read[T]], Read[T]]:
    """Declare that open pages show what a function reads as it was up to `seconds` ago, since it
    takes several statements. Pages that are loaded read it anew."""

    def declare(read: Read[T]) -> Read[T]:
        setattr(read, LIVE_SECONDS_ATTRIBUTE, seconds)
        return read

    return declare


@dataclass(slots=True)
class Snapshot:
    """A value, when its read began, and who reads it anew."""

    value: Any = None
    read_at: float | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Snapshots:
    """The snapshots of one administration in this process. Nothing is read while nobody asks."""

    def __init__(self, app: Duetime, clock: Callable[[], float] = monotonic) -> None:
        self._app = app
        self._clock = clock
        self._kept: OrderedDict[Hashable, Snapshot] = OrderedDict()

    async def recent(self, read: Read[T], scope: Scope, *arguments: Hashable) -> T:
        """Return what was read less than a second ago, or as was declared. Of those who find it
        older, one reads."""
        key = (read, scope, arguments)
        return await self.shared(key, lambda: read(self._app, scope, *arguments), _max_age(read))

    async def shared(
        self, key: Hashable, read: Callable[[], Awaitable[T]], max_age: float = MAX_AGE_SECONDS
    ) -> T:
        """Return what was read under a key less than `max_age` seconds ago."""
        snapshot = self._snapshot(key)
        async with snapshot.lock:
            if snapshot.read_at is None or self._clock() - snapshot.read_at >= max_age:
                await self._refresh(snapshot, read)
            value: T = snapshot.value
            return value

    async def fresh(self, read: Read[T], scope: Scope, *arguments: Hashable) -> T:
        """Read it now: a page shows what its reader did just before."""
        if hasattr(read, KEPT_SECONDS_ATTRIBUTE):
            return await self.recent(read, scope, *arguments)
        snapshot = self._snapshot((read, scope, arguments))
        async with snapshot.lock:
            await self._refresh(snapshot, lambda: read(self._app, scope, *arguments))
            value: T = snapshot.value
            return value

    async def _refresh(self, snapshot: Snapshot, read: Callable[[], Awaitable[Any]]) -> None:
        began = self._clock()
        snapshot.value = await read()
        snapshot.read_at = began

    def _snapshot(self, key: Hashable) -> Snapshot:
        """Return the snapshot of exactly these rows, for this event loop."""
        here = (asyncio.get_running_loop(), key)
        snapshot = self._kept.setdefault(here, Snapshot())
        self._kept.move_to_end(here)
        if len(self._kept) > MAX_SNAPSHOTS:
            self._kept.popitem(last=False)
        return snapshot


def _max_age(read: Read[Any]) -> float:
    live: float = getattr(read, LIVE_SECONDS_ATTRIBUTE, MAX_AGE_SECONDS)
    kept: float = getattr(read, KEPT_SECONDS_ATTRIBUTE, live)
    return kept
