"""Worker processes under measurement."""

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

# Longer than the grace period of a stopping worker.
STOP_TIMEOUT_SECONDS = 60.0


class WorkerDied(DuetimeError):
    """A worker process exited unexpectedly; the message ends with its last output."""


class WorkerProcesses:
    """Worker processes that have loaded everything, and wait for `begin`."""

    def __init__(self, settings: dict[str, Any], workers: int) -> None:
        self._log: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by close()
        self._processes = [self._start(settings) for _ in range(workers)]

    def wait_ready(self) -> None:
        for process in self._processes:
            assert process.stdout is not None
            if process.stdout.readline().strip() != READY:
                raise self._died()

    def begin(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()

    def check(self) -> None:
        """Raise WorkerDied if a process has exited."""
        if any(process.poll() is not None for process in self._processes):
            raise self._died()

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def close(self) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            self._wait_for_exit(process)
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

    def _wait_for_exit(self, process: subprocess.Popen[str]) -> None:
        try:
            process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def _died(self) -> WorkerDied:
        self._log.seek(0)
        return WorkerDied(
            f"a worker process exited unexpectedly: {self._log.read()[-500:].strip()}"
        )


@contextmanager
def worker_processes(settings: dict[str, Any], workers: int = 1) -> Iterator[WorkerProcesses]:
    """Start worker processes, and stop them in order at the end."""
    processes = WorkerProcesses(settings, workers)
    try:
        processes.wait_ready()
        yield processes
    finally:
        processes.close()
