"""Starts, freezes, stops and kills the processes of a campaign."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from faults.ledger import connect, is_sqlite
from faults.task_stacks import STACKS_SIGNAL, THREADS_SIGNAL
from faults.work_order import WorkOrder

WORKER, CLIENT = "faults.worker_main", "faults.client_process"
TESTS = Path(__file__).resolve().parent.parent


@dataclass
class ManagedProcess:
    """One worker or client process, and what happened to it. Times are wall-clock times."""

    process: subprocess.Popen[bytes]
    order: WorkOrder
    is_worker: bool
    log: Path
    output: Path
    # When the process was first seen working.
    up_since: float | None = None
    # When the process froze or died.
    silences: list[float] = field(default_factory=list)
    # Whether the campaign killed it; otherwise its crash point did.
    struck: bool = False
    # Whether SIGTERM was sent.
    stop_requested: bool = False

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def was_killed(self) -> bool:
        return self.process.poll() == -signal.SIGKILL

    @property
    def exited_unexpectedly(self) -> bool:
        """Whether it exited without being killed and without an orderly stop on request."""
        code = self.process.poll()
        if code is None or self.was_killed:
            return False
        # A process that was still starting has no handler for SIGTERM yet.
        return not (self.stop_requested and (code == 0 or self.age() == 0))

    def age(self) -> float:
        """Seconds since the process was first seen working, 0 while it starts."""
        if self.up_since is None and (self.output.stat().st_size or self._has_started()):
            self.up_since = time.monotonic()
        return 0.0 if self.up_since is None else time.monotonic() - self.up_since

    def _has_started(self) -> bool:
        return " started" in self.log.read_text()

    def request_stop(self) -> None:
        """Send SIGTERM once: a second signal would end the process at once."""
        if not self.stop_requested:
            self.stop_requested = True
            self.send(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        if self.alive:
            self.process.send_signal(number)


class ProcessGroup:
    """Starts processes and keeps them all, also dead ones, for the final checks."""

    def __init__(self, order: WorkOrder, folder: Path) -> None:
        self._order = order
        self._folder = folder
        self.members: list[ManagedProcess] = []

    def start(self, module: str = WORKER, **changes: object) -> ManagedProcess:
        order = replace(self._order, **changes)  # type: ignore[arg-type]
        name = f"{len(self.members):04}"
        log, output = self._folder / f"{name}.log", self._folder / f"{name}.said"
        with log.open("wb") as err, output.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", module, json.dumps(asdict(order))],
                stdout=out,
                stderr=err,
                cwd=self._folder,
                env={**os.environ, "PYTHONPATH": _path()},
            )
        self.members.append(ManagedProcess(process, order, module == WORKER, log, output))
        return self.members[-1]

    def kill(self, proc: ManagedProcess) -> None:
        if proc.alive:
            proc.struck = True
            proc.silences.append(time.time())
            proc.process.kill()
            proc.process.wait()

    def kill_all(self) -> None:
        for proc in self.running():
            self.kill(proc)

    def freeze(self, proc: ManagedProcess) -> None:
        proc.silences.append(time.time())
        proc.send(signal.SIGSTOP)

    def kill_clients(self) -> None:
        for proc in self.running():
            if not proc.is_worker:
                self.kill(proc)

    def request_stacks(self) -> None:
        """Make workers log where their tasks and threads wait."""
        for proc in self.running():
            if proc.is_worker:
                proc.send(STACKS_SIGNAL)
                proc.send(THREADS_SIGNAL)

    def stop_all(self) -> list[ManagedProcess]:
        """Send SIGTERM to all; return those that do not stop in order and in time."""
        running_procs = list(self.running())
        for proc in running_procs:
            proc.request_stop()
        not_stopped = [proc for proc in running_procs if not _stops_within(proc, 20)]
        self.kill_all()
        return not_stopped

    def running(self) -> Iterator[ManagedProcess]:
        return (proc for proc in self.members if proc.alive)

    def unexpected_exits(self) -> list[ManagedProcess]:
        return [proc for proc in self.members if proc.exited_unexpectedly]

    def record_deaths(self) -> None:
        """Record the time of deaths at crash points since the last call."""
        for proc in self.members:
            if not proc.silences and proc.was_killed:
                proc.silences.append(time.time())

    def silences(self) -> dict[int, list[float]]:
        return {proc.pid: proc.silences for proc in self.members}


def _path() -> str:
    inherited = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(TESTS), *([inherited] if inherited else [])])


def _stops_within(proc: ManagedProcess, seconds: float) -> bool:
    """Whether the process stopped in time, or died at its crash point meanwhile."""
    try:
        proc.process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return not proc.exited_unexpectedly and not (proc.was_killed and proc.order.point == "")


def count_lines(ledger: str, pid: int) -> int:
    """Return how many lines a process has written to the ledger."""
    mark = "?" if is_sqlite(ledger) else "%s"
    connection = connect(ledger)
    try:
        row = connection.execute(f"SELECT count(*) FROM ledger WHERE pid = {mark}", (pid,))
        return int(row.fetchone()[0])
    finally:
        connection.close()
