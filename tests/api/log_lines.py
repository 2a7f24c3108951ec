"""Waits for a line of the worker's log."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

LOG = logging.getLogger("duetime.worker")


class LogLineWaiter(logging.Handler):
    """Waits until a line with this text is logged; leaving the context waits, too."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._seen = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self._seen.set()

    async def __aenter__(self) -> LogLineWaiter:
        LOG.addHandler(self)
        self._level = LOG.level
        LOG.setLevel(logging.INFO)
        return self

    async def within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._seen.wait(), seconds)
        return self._seen.is_set()

    async def __aexit__(self, *raised: object) -> None:
        try:
            await asyncio.wait_for(self._seen.wait(), 20)
        finally:
            LOG.setLevel(self._level)
            LOG.removeHandler(self)
