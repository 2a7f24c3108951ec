"""A TCP proxy for PostgreSQL that breaks connections on demand, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from faults.pg_protocol import (
    ENCRYPTION,
    NOT_ENCRYPTED,
    PROCESS,
    StatementReader,
    of_another_process,
    read_message,
    read_opening,
)
from faults.reply_dropper import ReplyDropper

T = TypeVar("T")

# Errors of sockets that either side closed.
CONNECTION_ERRORS = (ConnectionError, asyncio.IncompleteReadError, OSError)


@dataclass(frozen=True, slots=True)
class Direction:
    """How one direction treats its data."""

    swallow: bool = False
    stall: bool = False
    delay: float = 0.0
    rate: float = 0.0  # bytes per second, 0 for no limit


CLEAR = Direction()


class Link:
    """One connection through the proxy: two directions."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        # A direction that swallowed data never carries anything again.
        self.dead = {"up": False, "down": False}
        self.statements = StatementReader()

    def cut(self) -> None:
        for side in (self.client, self.server):
            side.transport.abort()

    def end(self) -> list[asyncio.StreamWriter]:
        """Close the other side after one side is gone.

        Returns the sides that must not notice, because their direction is dead.
        """
        ends = {"up": self.server, "down": self.client}
        for way, side in ends.items():
            if not self.dead[way]:
                side.transport.abort()
        return [side for way, side in ends.items() if self.dead[way]]


class Proxy:
    """A proxy for the server of a URL. Its methods may be called from any thread."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._parts = parts
        self._links: set[Link] = set()
        self._ways = {"up": CLEAR, "down": CLEAR}
        self._changed = asyncio.Event()
        self._refusing = False
        self._dropper: ReplyDropper | None = None
        self._mute_at = ""
        self._posing = False
        # Sides of links whose other side is gone, without their noticing.
        self._orphans: list[asyncio.StreamWriter] = []
        self.seen: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self._port = self._server.sockets[0].getsockname()[1]

    def through(self, url: str) -> str:
        """Return the URL of the same database through the proxy."""
        parts = urlsplit(url)
        login, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{login}{at}127.0.0.1:{self._port}"))

    @property
    def url(self) -> str:
        return self.through(urlunsplit(self._parts))

    # -- faults ----------------------------------------------------------------------

    def cut(self) -> None:
        """Break every open connection."""
        self._do(self._cut)

    def refuse(self) -> None:
        """Break every connection, and refuse new ones."""
        self._set(refusing=True)
        self.cut()

    def shape(self, *, up: Direction = CLEAR, down: Direction = CLEAR) -> None:
        """Set how data to the server (`up`) and from it (`down`) are treated from now on."""
        self._set(up=up, down=down)

    def heal(self) -> None:
        """Remove all faults, for new connections and for those that lost no data."""
        self._set()

    def drop_reply(self, dropper: ReplyDropper | None) -> None:
        """Lose the reply to the next commit that the dropper matches."""
        self._do(lambda: setattr(self, "_dropper", dropper))

    def mute_at(self, text: str) -> None:
        """Swallow the next message with this text, and all that follow on its connection."""
        self._do(lambda: setattr(self, "_mute_at", text))

    def pose_as_pooler(self) -> None:
        """Report another backend process id to new connections, as a pooler does."""
        self._do(lambda: setattr(self, "_posing", True))

    @property
    def named(self) -> int:
        """Number of prepared statements of all open connections."""
        return sum(len(link.statements.named) for link in self._links)

    def close(self) -> None:
        self._do(self._server.close)
        self.cut()
        self._call(self._settle())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _set(
        self, *, up: Direction = CLEAR, down: Direction = CLEAR, refusing: bool = False
    ) -> None:
        def change() -> None:
            self._ways = {"up": up, "down": down}
            self._refusing = refusing
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

        self._do(change)

    def _cut(self) -> None:
        for link in list(self._links):
            link.cut()
        for orphan in self._orphans:
            orphan.transport.abort()
        self._orphans.clear()

    async def _settle(self) -> None:
        """Cancel all tasks and wait for them."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- carrying --------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if self._refusing:
            client.transport.abort()
            return
        try:
            back, server = await asyncio.open_connection(*self._target)
        except OSError:
            client.transport.abort()
            return
        link = Link(client, server)
        self._links.add(link)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._up(link, reader))
                both.create_task(self._down(link, back))
        except* CONNECTION_ERRORS:
            pass
        finally:
            self._links.discard(link)
            if self._dropper is not None:
                self._dropper.closed(link)
            self._orphans += link.end()

    async def _up(self, link: Link, reader: asyncio.StreamReader) -> None:
        code, opening = await read_opening(reader)
        while code in ENCRYPTION:
            link.client.write(NOT_ENCRYPTED)
            code, opening = await read_opening(reader)
        await self._carry(link, "up", opening)
        while True:
            message = await read_message(reader)
            self.seen[chr(message[0])] += 1
            statement = link.statements.statement(message)
            if self._dropper is not None:
                self._dropper.note_statement(link, statement)
            if self._mute_at and self._mute_at in statement:
                self._mute_at, link.dead = "", {"up": True, "down": True}
            await self._carry(link, "up", message)

    async def _down(self, link: Link, reader: asyncio.StreamReader) -> None:
        while True:
            message = await read_message(reader)
            if self._posing and message[:1] == PROCESS:
                message = of_another_process(message)
            passed = [message]
            if self._dropper is not None:
                passed = self._dropper.filter_reply(link, message)
                if self._dropper.done:
                    self._dropper = None
                    link.cut()
                    raise ConnectionResetError
            for part in passed:
                await self._carry(link, "down", part)

    async def _carry(self, link: Link, way: str, data: bytes) -> None:
        writer = link.server if way == "up" else link.client
        while self._ways[way].stall:
            await self._changed.wait()
        shape = self._ways[way]
        link.dead[way] |= shape.swallow
        if link.dead[way]:
            return
        if shape.delay:
            await asyncio.sleep(shape.delay)
        if shape.rate:
            await self._trickle(link, way, writer, data)
        else:
            writer.write(data)
            await writer.drain()

    async def _trickle(
        self, link: Link, way: str, writer: asyncio.StreamWriter, data: bytes
    ) -> None:
        """Send byte by byte; send the rest at once when the fault is removed."""
        for setup in range(len(data)):
            rate = self._ways[way].rate
            if not rate:
                writer.write(data[setup:])
                break
            writer.write(data[setup : setup + 1])
            await self._pause(1 / rate)
        await writer.drain()

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    # -- between threads -------------------------------------------------------------

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    def _do(self, change: Callable[[], None]) -> None:
        async def done() -> None:
            change()

        self._call(done())


SWALLOW = replace(CLEAR, swallow=True)
STALL = replace(CLEAR, stall=True)
ONE_BYTE = replace(CLEAR, rate=1.0)
