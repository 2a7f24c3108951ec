"""Limits how many exports of one credential run at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from duetime.errors import RateLimited

# In one process.
MAX_EXPORTS = 2
RETRY_AFTER_SECONDS = 5

# The user and the tenant of an identity.
Credential = tuple[str, str | None]


class ExportSlots:
    """Counts the exports that are running, by credential."""

    def __init__(self) -> None:
        self._running: Counter[Credential] = Counter()

    def take(self, credential: Credential) -> Callable[[], None]:
        """Count an export; return what ends it. RateLimited if there are too many already."""
        if self._running[credential] >= MAX_EXPORTS:
            raise RateLimited(
                RETRY_AFTER_SECONDS, f"{MAX_EXPORTS} exports of this credential are running"
            )
        self._running[credential] += 1
        return lambda: self._release(credential)

    def _release(self, credential: Credential) -> None:
        self._running[credential] -= 1
        if not self._running[credential]:
            del self._running[credential]
