"""Lines of the log that tests wait for."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

LOG = logging.getLogger("duetime.worker")


class Heard(logging.Handler):
    """Waits for a line of the log."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self._heard = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._words in record.getMessage():
            self._heard.set()

    async def __aenter__(self) -> Heard:
        LOG.addHandler(self)
        self._level = LOG.level
        LOG.setLevel(logging.INFO)
        return self

    async def within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._heard.wait(), seconds)
        return self._heard.is_set()

    async def __aexit__(self, *raised: object) -> None:
        try:
            await asyncio.wait_for(self._heard.wait(), 20)
        finally:
            LOG.setLevel(self._level)
            LOG.removeHandler(self)
