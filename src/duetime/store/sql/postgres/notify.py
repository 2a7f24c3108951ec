"""What processes tell each other through PostgreSQL's NOTIFY.

Tells other processes of wakes, and no oftener than is any use.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from duetime.errors import DuetimeError
from duetime.model.clock import monotonic
from duetime.store.flow import Wake

# PostgreSQL takes payloads of less than 8000 bytes.
LONGEST = 7999


@dataclass(frozen=True, slots=True)
class Notice:
    """From one store object to all: lanes that became due, or a ping to itself.

    `due` None means: more than a message can name, look at all lanes.
    """

    sender: str
    due: tuple[tuple[str, int], ...] | None = ()
    ping: int | None = None


def wake_message(sender: str, wakes: Iterable[Wake]) -> str:
    due = [[wake.lane, wake.due_at] for wake in wakes]
    text = json.dumps({"from": sender, "due": due}, separators=(",", ":"))
    return text if len(text) <= LONGEST else json.dumps({"from": sender, "due": None})


def ping_message(sender: str, ping: int) -> str:
    return json.dumps({"from": sender, "due": [], "ping": ping})


def parse(payload: str) -> Notice | None:
    """None for what is not of our making: any user of the database may notify."""
    try:
        told = json.loads(payload)
        due = None if told["due"] is None else tuple((str(x), int(y)) for x, y in told["due"])
        ping = told.get("ping")
        return Notice(str(told["from"]), due, None if ping is None else int(ping))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


log = logging.getLogger("duetime.store")

# Each NOTIFY takes a lock that all commits of the server with a NOTIFY share. So many in a
# second are sent at once; what follows is gathered, and sent that often.
PER_SECOND = 50


class Bell:
    """A stroke for each wake while they are few; many share one."""

    def __init__(self, send: Callable[[Sequence[Wake]], Awaitable[None]]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._strokes = float(PER_SECOND)
        self._counted_at = 0.0
        self._gathered: dict[str, Wake] = {}
        self._armed: asyncio.AbstractEventLoop | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def ring(self, wakes: Sequence[Wake]) -> Sequence[Wake]:
        """Those the caller shall send now. The others follow from the loop that runs here."""
        if not wakes:
            return ()
        with self._lock:
            if self._has_stroke():
                return wakes
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return wakes  # nobody here to send it later
            self._arm(loop, 1 / PER_SECOND)
            self._gather(wakes)
            return ()

    def ring_later(self, wakes: Sequence[Wake]) -> Sequence[Wake]:
        """Send them from the loop that runs here; without one, those the caller shall send."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return wakes
        with self._lock:
            if wakes:
                self._arm(loop, 0 if self._has_stroke() else 1 / PER_SECOND)
            self._gather(wakes)
        return ()

    def _arm(self, loop: asyncio.AbstractEventLoop, delay: float) -> None:
        """One timer for all that is gathered; one of a loop that is gone never comes."""
        if self._armed is None or self._armed.is_closed():
            self._armed = loop
            loop.call_later(delay, self._send_gathered)

    async def flush(self) -> None:
        """Send what was gathered, and wait for what is on its way."""
        self._send_gathered()
        if self._sending:
            await asyncio.wait(self._sending)

    def _has_stroke(self) -> bool:
        now = monotonic()
        gained = (now - self._counted_at) * PER_SECOND
        self._strokes = min(self._strokes + gained, PER_SECOND)
        self._counted_at = now
        if self._strokes < 1:
            return False
        self._strokes -= 1
        return True

    def _gather(self, wakes: Sequence[Wake]) -> None:
        for wake in wakes:
            known = self._gathered.get(wake.lane)
            if known is None or wake.due_at < known.due_at:
                self._gathered[wake.lane] = wake

    def _send_gathered(self) -> None:
        with self._lock:
            wakes, self._gathered = [*self._gathered.values()], {}
            self._armed = None
        if wakes:
            task = asyncio.get_running_loop().create_task(self._send_quietly(wakes))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _send_quietly(self, wakes: Sequence[Wake]) -> None:
        with told_quietly():
            await self._send(wakes)


@contextmanager
def told_quietly() -> Iterator[None]:
    """It is committed, and to tell of it only a hint: the next poll finds it."""
    try:
        yield
    except DuetimeError as error:
        log.warning("other processes were not woken, their next poll finds it: %s", error)
