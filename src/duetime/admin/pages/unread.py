"""How many notifications each reader has not read, which stands in the navigation of every page."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from duetime.model.clock import monotonic
from duetime.model.tenant import Scope

if TYPE_CHECKING:
    from duetime.app import Duetime

MAX_SHOWN_UNREAD = 99
# A count is shown for so long, and of a scope one is renewed in so many seconds.
KEPT_SECONDS, RENEWAL_SECONDS = 12.0, 1.0
# Who was not here for so long waits for no count.
GONE_SECONDS = 60.0
# Of readers, and of scopes.
MAX_KEPT = 2000

Key = tuple[Scope, str]


@dataclass(slots=True)
class UnreadCount:
    """What was counted, when that began, and when the reader was last here."""

    count: int
    counted_at: float
    seen_at: float


class UnreadCounts:
    """The counts of one administration in this process. However many readers look, one count of
    each scope is renewed in a second: where there are more than twelve, all wait longer for theirs.
    A reader whose count is not known is counted at once."""

    def __init__(self, app: Duetime, clock: Callable[[], float] = monotonic) -> None:
        self._app = app
        self._clock = clock
        self._counts: OrderedDict[Key, UnreadCount] = OrderedDict()
        self._renewed: OrderedDict[Scope, float] = OrderedDict()

    async def count(self, scope: Scope, reader: str) -> int:
        """Return how many notifications of a scope the reader had not read a few seconds ago; one
        more than MAX_SHOWN_UNREAD means that there may be more."""
        key, now = (scope, reader), self._clock()
        known = self._counts.get(key)
        if known is None:
            known = self._counts[key] = UnreadCount(await self._counted(scope, reader), now, now)
            _forget_oldest(self._counts)
        known.seen_at = now
        if self._is_due(known, scope, now):
            # Set before it is counted, so that of several requests only one does.
            known.counted_at = self._renewed[scope] = now
            _forget_oldest(self._renewed)
            known.count = await self._counted(scope, reader)
        return known.count

    def forget(self, scope: Scope, reader: str) -> None:
        """Let a reader's notifications be counted anew: that reader looks at them."""
        self._counts.pop((scope, reader), None)

    def _is_due(self, known: UnreadCount, scope: Scope, now: float) -> bool:
        age = now - known.counted_at
        rested = now - self._renewed.get(scope, -math.inf) >= RENEWAL_SECONDS
        if age < KEPT_SECONDS or not rested:
            return False
        # No reader has another turn before all others had theirs.
        return age >= RENEWAL_SECONDS * self._readers(scope, now)

    def _readers(self, scope: Scope, now: float) -> int:
        """Return how many readers of a scope are here."""
        kept = self._counts.items()
        return sum(of == scope and now - each.seen_at < GONE_SECONDS for (of, _), each in kept)

    async def _counted(self, scope: Scope, reader: str) -> int:
        most = MAX_SHOWN_UNREAD + 1
        return await self._app.notifications.unread(reader=reader, tenant=scope, most=most)


def _forget_oldest(kept: OrderedDict[Any, Any]) -> None:
    if len(kept) > MAX_KEPT:
        kept.popitem(last=False)
