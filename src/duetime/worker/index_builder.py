"""Builds the indexes of the store that are missing, beside the work."""

from __future__ import annotations

import asyncio

from duetime.store.base import Store
from duetime.worker.service import UNTIL_WOKEN, Service

# Another process is building: look again whether it came to an end.
RETRY_SECONDS = 60.0


class IndexBuilder:
    """Asks once at start. A build may take minutes: a stopping worker does not wait for it, and the
    next worker begins it anew."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._build: asyncio.Task[bool] | None = None
        self.service = Service("build indexes", self._step)

    async def _step(self) -> float:
        build = self._build = asyncio.create_task(self._store.build_indexes())
        try:
            await asyncio.wait([build])
        finally:
            build.cancel()
        return UNTIL_WOKEN if build.cancelled() or build.result() else RETRY_SECONDS

    def stop(self) -> None:
        self.service.stop()
        if self._build is not None:
            self._build.cancel()
