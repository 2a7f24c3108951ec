"""Detects commits of other processes to a SQLite file without running a statement."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

POLL_SECONDS = 0.05
# A commit is written to the log, then synced to disk, and only then visible to others. So the
# change is reported again this many polls after the last one.
REPEAT_AFTER_POLLS = (1, 3, 7, 15)


class WalWatcher:
    """Calls `changed` when the write-ahead log, to which each commit writes, has a new modification
    time or size; with `in_any_mode`, also when the file itself has, to which commits write if it is
    not in WAL mode.

    It only uses `stat`: opening and closing the log here would drop the locks that SQLite
    holds on it for this process.
    """

    def __init__(
        self,
        path: str,
        changed: Callable[[], None],
        interval: float = POLL_SECONDS,
        *,
        in_any_mode: bool = False,
    ) -> None:
        # SQLite keeps the log beside the file itself, not beside a link to it.
        file = os.path.realpath(path)
        self._files = [f"{file}-wal", file] if in_any_mode else [f"{file}-wal"]
        self._changed = changed
        self._interval = interval
        self._last_stat = self._stats()

    async def run(self) -> None:
        quiet_polls = REPEAT_AFTER_POLLS[-1]
        while True:
            stat = self._stats()
            quiet_polls = quiet_polls + 1 if stat == self._last_stat else 0
            self._last_stat = stat
            if quiet_polls == 0 or quiet_polls in REPEAT_AFTER_POLLS:
                self._changed()
            await asyncio.sleep(self._interval)

    def _stats(self) -> list[tuple[int, int] | None]:
        return [_stat(file) for file in self._files]


def _stat(file: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(file)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
