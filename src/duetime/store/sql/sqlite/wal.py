"""Notices commits of other processes to a SQLite file, without a statement."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

EVERY = 0.05
# A commit is written to the log, then the disk is waited for, and only then do others see it:
# so many rounds after the last change they are told to look again.
AGAIN = (1, 3, 7, 15)


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
        quiet = AGAIN[-1]
        while True:
            now = self._look()
            quiet = quiet + 1 if now == self._seen else 0
            self._seen = now
            if quiet == 0 or quiet in AGAIN:
                self._changed()
            await asyncio.sleep(self._every)

    def _look(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._log)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size
