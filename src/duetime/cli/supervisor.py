"""The supervisor of `duetime worker --processes N`: starts the processes and keeps them alive.

It runs no handler and loads no app: nothing in it can fail with one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import dataclass, field

from duetime.cli.argv import is_run_as_module
from duetime.cli.child import READY, SIGNALS, UNAVAILABLE
from duetime.cli.failures import Mistake
from duetime.cli.worker_spec import Order
from duetime.model.clock import monotonic

log = logging.getLogger("duetime.supervisor")

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
# A process that lived so long was well: its next end has nothing to do with the last.
LIVED_WELL = 60.0


@dataclass(slots=True)
class Backoff:
    """How long to wait before a process is started again."""

    _next: float = FIRST_PAUSE

    def after(self, lived: float) -> float:
        pause = FIRST_PAUSE if lived >= LIVED_WELL else self._next
        self._next = min(pause * 2, LONGEST_PAUSE)
        return pause


@dataclass(slots=True)
class Child:
    """A process, and our end of its lifeline."""

    process: Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    started: float = field(default_factory=monotonic)

    async def is_ready(self) -> bool:
        """Wait until it works, or has ended without ever working."""
        try:
            return await self.reader.readline() == READY
        except ConnectionError:
            return False

    async def ended(self) -> int:
        """Its exit code, or the number of the signal that killed it, negative."""
        code = await self.process.wait()
        self.writer.close()
        return code

    def hang_up(self) -> None:
        """Let it drain."""
        with suppress(OSError):
            self.writer.write_eof()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()


class Supervisor:
    """Keeps `processes` children alive until it is told to stop, or one cannot work at all."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._children: dict[int, Child] = {}
        self._stop = asyncio.Event()
        # Whether any child ever worked: until then a failure is the user's to mend.
        self._proven = asyncio.Event()
        self._code = 0

    async def run(self) -> int:
        """The exit code: 0 after an orderly drain, 1 if a child died in it; else 1 or 2, as that of
        the child that could not start, and 1 where that says neither."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._asked)
        numbers = range(1, self._order.processes + 1)
        await asyncio.gather(*(self._keep(number) for number in numbers))
        return self._code

    def _asked(self) -> None:
        if not self._stop.is_set():
            log.info("stopping %d worker processes", len(self._children))
            self._drain()
            return
        for child in self._children.values():
            child.kill()
        os._exit(1)

    def _drain(self) -> None:
        self._stop.set()
        self._proven.set()
        for child in self._children.values():
            child.hang_up()

    async def _keep(self, number: int) -> None:
        """Start it, see it end, start it again. The first goes ahead: what keeps all of them
        from starting is then said once."""
        if number > 1:
            await self._proven.wait()
        backoff = Backoff()
        while not self._stop.is_set():
            try:
                child = await start(self._order, first=not self._proven.is_set())
            except OSError as error:
                await self._pause(self._without(number, error, backoff))
            else:
                await self._pause(await self._live(number, child, backoff))

    def _without(self, number: int, error: OSError, backoff: Backoff) -> float:
        """The system has no process for us, as where memory ran out; later it may."""
        if not self._proven.is_set():
            raise Mistake(f"no process can be started: {error}") from error
        pause = backoff.after(0.0)
        log.warning("worker process %d cannot be started: %s; again in %g s", number, error, pause)
        return pause

    async def _live(self, number: int, child: Child, backoff: Backoff) -> float:
        """Until it ends; seconds until it is to be started again."""
        self._children[number] = child
        if self._stop.is_set():
            child.hang_up()
        ready = await child.is_ready()
        if ready:
            self._proven.set()
        code = await child.ended()
        del self._children[number]
        return self._judge(number, child, code, ready, backoff)

    def _judge(self, number: int, child: Child, code: int, ready: bool, backoff: Backoff) -> float:
        """Seconds until it is started again; none of it if we are stopping."""
        if self._stop.is_set():
            if code and ready:
                log.error("worker process %s %s while it drained", _name(number, child), how(code))
                self._code = 1
            return 0.0
        if not ready and self._is_final(code):
            log.error("worker process %s %s at its start", _name(number, child), how(code))
            self._code = code if code in (1, 2) else 1
            self._drain()
            return 0.0
        pause = backoff.after(monotonic() - child.started)
        log.warning("worker process %s %s; back in %g s", _name(number, child), how(code), pause)
        return pause

    def _is_final(self, code: int) -> bool:
        """A child that could not start: will it ever? A store that is away comes back, and a
        kill says nothing of the next one, provided that it worked before."""
        return not self._proven.is_set() or (code != UNAVAILABLE and code > 0)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)


async def start(order: Order, *, first: bool) -> Child:
    """A new process that shares nothing with this one but the lifeline."""
    ours, theirs = socket.socketpair()
    try:
        process = await _spawn(order, theirs, first)
    except OSError:
        ours.close()
        raise
    reader, writer = await asyncio.open_connection(sock=ours)
    return Child(process, reader, writer)


async def _spawn(order: Order, theirs: socket.socket, first: bool) -> Process:
    # As this process was started: a script does not look for modules where it stands.
    safely = [] if is_run_as_module() else ["-P"]
    words = [order.to_text(), str(theirs.fileno()), "yes" if first else "no"]
    with theirs:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *safely,
            "-m",
            "duetime.cli.child",
            *words,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )


def how(code: int) -> str:
    """How a process ended."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _name(number: int, child: Child) -> str:
    return f"{number} (pid {child.process.pid})"
