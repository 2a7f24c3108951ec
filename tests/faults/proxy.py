"""A wire to PostgreSQL that breaks on demand: a TCP proxy in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from faults.drop import Drop
from faults.wire import (
    ENCRYPTION,
    NOT_ENCRYPTED,
    PROCESS,
    Asked,
    of_another_process,
    read_message,
    read_opening,
)

T = TypeVar("T")

# What the sockets raise when the other side, or we, cut them.
GONE = (ConnectionError, asyncio.IncompleteReadError, OSError)


@dataclass(frozen=True, slots=True)
class Way:
    """How one direction treats what it carries."""

    swallow: bool = False
    stall: bool = False
    delay: float = 0.0
    rate: float = 0.0  # bytes in a second, if any


CLEAR = Way()


class Link:
    """One connection through the proxy: two directions."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        # What was swallowed leaves a hole: such a direction never carries anything again.
        self.dead = {"up": False, "down": False}
        self.asked = Asked()

    def cut(self) -> None:
        for side in (self.client, self.server):
            side.transport.abort()

    def end(self) -> list[asyncio.StreamWriter]:
        """One side is gone. The other is told; or not, if that way is dead: it is returned."""
        ends = {"up": self.server, "down": self.client}
        for way, side in ends.items():
            if not self.dead[way]:
                side.transport.abort()
        return [side for way, side in ends.items() if self.dead[way]]


class Proxy:
    """Stands before the server of a URL. Every verb may be called from any thread."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._parts = parts
        self._links: set[Link] = set()
        self._ways = {"up": CLEAR, "down": CLEAR}
        self._changed = asyncio.Event()
        self._refusing = False
        self._drop: Drop | None = None
        self._mute_at = ""
        self._posing = False
        # Sides of links whose other side is gone, and who were not told.
        self._orphans: list[asyncio.StreamWriter] = []
        self.seen: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self._port = self._server.sockets[0].getsockname()[1]

    def through(self, url: str) -> str:
        """The URL of the same database, by way of the proxy."""
        parts = urlsplit(url)
        login, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{login}{at}127.0.0.1:{self._port}"))

    @property
    def url(self) -> str:
        return self.through(urlunsplit(self._parts))

    # -- faults ----------------------------------------------------------------------

    def cut(self) -> None:
        """Every connection there is breaks."""
        self._do(self._cut)

    def refuse(self) -> None:
        """Every connection breaks, and new ones break at once."""
        self._set(refusing=True)
        self.cut()

    def shape(self, *, up: Way = CLEAR, down: Way = CLEAR) -> None:
        """From here on, `up` to the server and `down` from it."""
        self._set(up=up, down=down)

    def heal(self) -> None:
        """What connects from here on is well; so are links that lost no byte."""
        self._set()

    def drop_reply(self, drop: Drop | None) -> None:
        """The next commit that it wants is made, and its reply never arrives."""
        self._do(lambda: setattr(self, "_drop", drop))

    def mute_at(self, text: str) -> None:
        """The next message with this text never arrives, nor what either side says after it."""
        self._do(lambda: setattr(self, "_mute_at", text))

    def pose_as_pooler(self) -> None:
        """What connects from here on is told another process than the one that serves it."""
        self._do(lambda: setattr(self, "_posing", True))

    @property
    def named(self) -> int:
        """How many statements were given a name, by those that are connected."""
        return sum(len(link.asked.named) for link in self._links)

    def close(self) -> None:
        self._do(self._server.close)
        self.cut()
        self._call(self._settle())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _set(self, *, up: Way = CLEAR, down: Way = CLEAR, refusing: bool = False) -> None:
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
        """Every task ends by itself once its sockets are gone, or is told to."""
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
        except* GONE:
            pass
        finally:
            self._links.discard(link)
            if self._drop is not None:
                self._drop.closed(link)
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
            statement = link.asked.statement(message)
            if self._drop is not None:
                self._drop.asked(link, statement)
            if self._mute_at and self._mute_at in statement:
                self._mute_at, link.dead = "", {"up": True, "down": True}
            await self._carry(link, "up", message)

    async def _down(self, link: Link, reader: asyncio.StreamReader) -> None:
        while True:
            message = await read_message(reader)
            if self._posing and message[:1] == PROCESS:
                message = of_another_process(message)
            passed = [message]
            if self._drop is not None:
                passed = self._drop.answered(link, message)
                if self._drop.done:
                    self._drop = None
                    link.cut()
                    raise ConnectionResetError
            for one in passed:
                await self._carry(link, "down", one)

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
        """Byte by byte; the rest at once when the wire is well again."""
        for place in range(len(data)):
            rate = self._ways[way].rate
            if not rate:
                writer.write(data[place:])
                break
            writer.write(data[place : place + 1])
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

    def _do(self, act: Callable[[], None]) -> None:
        async def done() -> None:
            act()

        self._call(done())


SWALLOW = replace(CLEAR, swallow=True)
STALL = replace(CLEAR, stall=True)
ONE_BYTE = replace(CLEAR, rate=1.0)
