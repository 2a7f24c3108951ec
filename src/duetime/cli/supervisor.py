"""The supervisor of `duetime worker --processes N`: starts the processes and restarts them.

It loads no app and runs no handlers, so an error in an app cannot stop it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import dataclass, field

from duetime.cli.alive import BEAT_SECONDS, touching
from duetime.cli.argv import is_run_as_module
from duetime.cli.child import READY, SIGNALS, UNAVAILABLE_EXIT_CODE
from duetime.cli.failures import CommandError
from duetime.cli.metrics_port import SummedMetrics
from duetime.cli.worker_spec import WorkerSpec
from duetime.logs import get_log
from duetime.model.clock import monotonic

log = get_log("duetime.supervisor")

FIRST_BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = 30.0
# After a process has run this long, its exit is unrelated to the previous one.
STABLE_AFTER_SECONDS = 60.0
MISSED_BEATS_SECONDS = 3 * BEAT_SECONDS


@dataclass(slots=True)
class RestartBackoff:
    """The growing pause before a process is started again."""

    _next: float = FIRST_BACKOFF_SECONDS

    def after(self, lived: float) -> float:
        pause = FIRST_BACKOFF_SECONDS if lived >= STABLE_AFTER_SECONDS else self._next
        self._next = min(pause * 2, MAX_BACKOFF_SECONDS)
        return pause


@dataclass(slots=True)
class Child:
    """A worker process, and the supervisor's end of its lifeline."""

    process: Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    started: float = field(default_factory=monotonic)
    # When the child last reported that its event loop turns; None until it is ready.
    beat_at: float | None = None

    async def is_ready(self) -> bool:
        """Wait until the process is ready, or has exited without becoming so."""
        try:
            ready = await self.reader.readline() == READY
        except ConnectionError:
            return False
        self.beat_at = monotonic() if ready else None
        return ready

    async def listen(self) -> None:
        """Note when the process reports that it is alive, until it exits."""
        with suppress(ConnectionError):
            while await self.reader.readline():
                self.beat_at = monotonic()

    @property
    def hangs(self) -> bool:
        """Whether the process was ready and has not reported for a while."""
        return self.beat_at is not None and monotonic() - self.beat_at > MISSED_BEATS_SECONDS

    async def wait(self) -> int:
        """Wait for the process to exit; returns its exit code, or the negative signal number."""
        code = await self.process.wait()
        self.writer.close()
        return code

    def hang_up(self) -> None:
        """Close the lifeline, upon which the process drains and exits."""
        with suppress(OSError):
            self.writer.write_eof()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()


class Supervisor:
    """Keeps `processes` children running until a signal, or until one cannot start at all."""

    def __init__(self, spec: WorkerSpec, metrics: SummedMetrics | None = None) -> None:
        self._spec = spec
        self._metrics = metrics or SummedMetrics()
        self._children: dict[int, Child] = {}
        self._stop = asyncio.Event()
        # Set once any child was ready: until then a failure is one that the user must fix.
        self._any_ready = asyncio.Event()
        self._code = 0

    async def run(self) -> int:
        """Return the exit code: 0 after all children drained, 1 if one died while draining. If a
        child cannot start, its exit code if that is 1 or 2, otherwise 1."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._on_signal)
        numbers = range(1, self._spec.processes + 1)
        async with touching(self._spec.alive_file, self._any_hangs):
            await asyncio.gather(*(self._keep(number) for number in numbers))
        return self._code

    def _any_hangs(self) -> bool:
        return any(child.hangs for child in self._children.values())

    def _on_signal(self) -> None:
        if not self._stop.is_set():
            log.info("stopping %d worker processes", len(self._children))
            self._drain()
            return
        for child in self._children.values():
            child.kill()
        os._exit(1)

    def _drain(self) -> None:
        self._stop.set()
        self._any_ready.set()
        for child in self._children.values():
            child.hang_up()

    async def _keep(self, number: int) -> None:
        """Start a child whenever there is none. The others wait for the first to be ready, so
        that an error that affects all of them is reported once."""
        if number > 1:
            await self._any_ready.wait()
        backoff = RestartBackoff()
        while not self._stop.is_set():
            try:
                child = await self._start(first=not self._any_ready.is_set())
            except OSError as error:
                await self._pause(self._start_failed(number, error, backoff))
            else:
                await self._pause(await self._supervise(number, child, backoff))

    async def _start(self, *, first: bool) -> Child:
        if self._spec.metrics_port is None:
            return await start(self._spec, first=first)
        with self._metrics.open_line() as line:
            return await start(self._spec, line, first=first)

    def _start_failed(self, number: int, error: OSError, backoff: RestartBackoff) -> float:
        """Handle an OS that cannot start a process, for example for lack of memory; returns the
        seconds until the next try."""
        if not self._any_ready.is_set():
            raise CommandError(f"no process can be started: {error}") from error
        pause = backoff.after(0.0)
        log.warning(
            "worker process %d cannot be started: %s; retrying in %g s", number, error, pause
        )
        return pause

    async def _supervise(self, number: int, child: Child, backoff: RestartBackoff) -> float:
        """Wait until the child exits; returns the seconds until it is started again."""
        self._children[number] = child
        if self._stop.is_set():
            child.hang_up()
        ready = await child.is_ready()
        if ready:
            self._any_ready.set()
        listening = asyncio.create_task(child.listen())
        code = await child.wait()
        listening.cancel()
        del self._children[number]
        return self._after_exit(number, child, code, ready, backoff)

    def _after_exit(
        self, number: int, child: Child, code: int, ready: bool, backoff: RestartBackoff
    ) -> float:
        """Log the exit of a child; returns the seconds until it is started again."""
        if self._stop.is_set():
            if code and ready:
                log.error(
                    "worker process %s %s while draining", _name(number, child), exit_text(code)
                )
                self._code = 1
            return 0.0
        if not ready and self._is_final(code):
            log.error("worker process %s %s during startup", _name(number, child), exit_text(code))
            self._code = code if code in (1, 2) else 1
            self._drain()
            return 0.0
        pause = backoff.after(monotonic() - child.started)
        log.warning(
            "worker process %s %s; restarting in %g s", _name(number, child), exit_text(code), pause
        )
        return pause

    def _is_final(self, code: int) -> bool:
        """Whether a child that did not become ready never will. An unavailable store may come
        back and a kill says nothing about the next child, if one was ready before."""
        return not self._any_ready.is_set() or (code != UNAVAILABLE_EXIT_CODE and code > 0)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)


async def start(spec: WorkerSpec, metrics: socket.socket | None = None, *, first: bool) -> Child:
    """Start a process that shares only the lifeline with this one, and the line for its
    metrics."""
    ours, theirs = socket.socketpair()
    try:
        process = await _spawn(spec, theirs, metrics, first)
    except OSError:
        ours.close()
        raise
    reader, writer = await asyncio.open_connection(sock=ours)
    return Child(process, reader, writer)


async def _spawn(
    spec: WorkerSpec, theirs: socket.socket, metrics: socket.socket | None, first: bool
) -> Process:
    # As this process was started: a script does not import modules from its own directory.
    safe_path = [] if is_run_as_module() else ["-P"]
    lines = [line.fileno() for line in (theirs, metrics) if line is not None]
    arguments = [spec.to_text(), "yes" if first else "no", *map(str, lines)]
    with theirs:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *safe_path,
            "-m",
            "duetime.cli.child",
            *arguments,
            stdin=subprocess.DEVNULL,
            pass_fds=lines,
        )


def exit_text(code: int) -> str:
    """The exit code of a process, in words."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _name(number: int, child: Child) -> str:
    return f"{number} (pid {child.process.pid})"
