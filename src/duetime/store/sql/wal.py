"""Notices commits of other processes to a SQLite file, without a statement."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

EVERY = 0.05


class WalWatch:
    """Every commit writes to the file's write-ahead log, so its age and size tell of it.

    Only `stat` will do: to open and close the log here would drop the locks that SQLite
    holds on it for this process.
    """

    def __init__(self, path: str, changed: Callable[[], None], every: float = EVERY) -> None:
        self._log = f"{path}-wal"
        self._changed = changed
        self._every = every
        self._seen = self._look()

    async def run(self) -> None:
        while True:
            now = self._look()
            if now != self._seen:
                self._seen = now
                self._changed()
            await asyncio.sleep(self._every)

    def _look(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._log)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size
