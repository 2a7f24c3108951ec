"""Worker processes under measure."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from duetime.bench.child import READY
from duetime.errors import DuetimeError

# Longer than the grace that a stopping worker has.
PATIENCE = 60.0


class WorkerDied(DuetimeError):
    """A worker under measure ended by itself; the message is the last that it wrote."""


class Crew:
    """So many worker processes that have loaded everything, and begin on a word."""

    def __init__(self, settings: dict[str, Any], workers: int) -> None:
        self._log: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the crew
        self._processes = [self._start(settings) for _ in range(workers)]

    def wait_ready(self) -> None:
        for process in self._processes:
            assert process.stdout is not None
            if process.stdout.readline().strip() != READY:
                raise self._death()

    def go(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()

    def check(self) -> None:
        """WorkerDied if one of them is no more."""
        if any(process.poll() is not None for process in self._processes):
            raise self._death()

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def close(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            self._end(process)
        self._log.close()

    def _start(self, settings: dict[str, Any]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "duetime.bench.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(settings) + "\n")
        process.stdin.flush()
        return process

    def _end(self, process: subprocess.Popen[str]) -> None:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def _death(self) -> WorkerDied:
        self._log.seek(0)
        return WorkerDied(f"a worker ended by itself: {self._log.read()[-500:].strip()}")


@contextmanager
def crew(settings: dict[str, Any], workers: int = 1) -> Iterator[Crew]:
    """A crew that is stopped in the end, in order."""
    found = Crew(settings, workers)
    try:
        found.wait_ready()
        yield found
    finally:
        found.close()
