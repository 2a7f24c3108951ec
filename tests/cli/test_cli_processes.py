"""`duetime worker --processes N`: real processes, killed, stopped and orphaned."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from duetime import Duetime
from duetime.cli.failures import CommandError
from duetime.cli.loading import load_app
from duetime.cli.supervisor import (
    FIRST_BACKOFF_SECONDS,
    MAX_BACKOFF_SECONDS,
    STABLE_AFTER_SECONDS,
    RestartBackoff,
    Supervisor,
    exit_text,
)
from duetime.cli.worker_spec import WorkerSpec
from servers import OwnServer

from .conftest import Duetimes, Start, read_until

Process = subprocess.Popen[str]
STARTED = re.compile(r"worker \S+-(\d+)-\w+ started")
TOGETHER = """
import asyncio, os
from dataclasses import dataclass
from duetime import Duetime

app = Duetime("{url}", concurrency=2)

@dataclass(frozen=True)
class Mark:
    number: int

def pids():
    with open("ledger") as ledger:
        return {{line.split()[1] for line in ledger}}

@app.handler(kind="mark")
async def mark(payload: Mark) -> None:
    ledger = os.open("ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(ledger, f"{{payload.number}} {{os.getpid()}}\\n".encode())
    os.close(ledger)
    while len(pids()) < {processes}:
        await asyncio.sleep(0.01)
"""
STUBBORN = """
import asyncio
from dataclasses import dataclass
from duetime import Context, Duetime

app = Duetime("{url}", grace=600)

@dataclass(frozen=True)
class Sit:
    number: int

@app.handler(kind="sit")
async def sit(payload: Sit, ctx: Context) -> None:
    print("sitting", flush=True)
    while not ctx.cancelled:
        await asyncio.sleep(0.01)
    print("asked", flush=True)
    await asyncio.Event().wait()
"""


def started(process: Process, count: int) -> list[int]:
    """The pids of the workers, as each says that it started."""
    return [int(STARTED.findall(read_until(process, " started"))[-1]) for _ in range(count)]


def rest(process: Process) -> str:
    """All it says until it and all its children are gone: each of them holds the pipe."""
    assert process.stdout is not None
    return process.stdout.read()


def watch(duetime: Duetimes, shop: str, process: Process, count: int) -> None:
    """Let so many handlers run, one in each process."""
    for number in range(count):
        payload = f'{{"name": "x{number}"}}'
        duetime.ok("actions", "schedule", "watch", payload, "--app", shop)
        read_until(process, "watching")


def states(url: str) -> Counter[str]:
    app = Duetime(url)
    found = Counter(str(action.state) for action in app.sync.find(limit=200))
    app.sync.close()
    return found


@pytest.mark.parametrize("group", [False, True], ids=["a signal", "Ctrl-C in a terminal"])
def test_one_signal_drains_all(
    duetime: Duetimes, shop: str, url: str, start: Start, group: bool
) -> None:
    worker = start("worker", shop, "--processes", "3", "--concurrency", "1", together=True)
    pids = started(worker, 3)
    watch(duetime, shop, worker, 3)
    if group:
        os.killpg(worker.pid, signal.SIGINT)
        for pid in pids:
            with suppress(ProcessLookupError):  # it may be done by now
                os.kill(pid, signal.SIGTERM)  # not even this is a second one
    else:
        worker.terminate()
    said = rest(worker)
    assert worker.wait(30) == 0
    assert len(re.findall("worker .* stopped", said)) == 3
    assert "Traceback" not in said
    assert "restarting in" not in said
    assert states(url) == {"succeeded": 3}


def test_the_first_line_describes_all_processes(
    duetime: Duetimes, shop: str, url: str, start: Start
) -> None:
    worker = start("worker", shop, "--processes", "2", "--concurrency", "5")
    said = read_until(worker, "kinds")
    worker.terminate()
    out, _ = worker.communicate(timeout=30)
    wanted = f"duetime worker on {url}, 2 processes each: all queues (5 slots); kinds: mail, watch"
    assert (said, out, worker.returncode) == (f"{wanted}\n", "", 0)


def test_a_second_signal_kills_all(
    duetime: Duetimes, url: str, tmp_path: Path, start: Start
) -> None:
    (tmp_path / "sits.py").write_text(STUBBORN.format(url=url))
    worker = start("worker", "sits:app", "--processes", "2", "--concurrency", "1", together=True)
    for number in range(2):
        duetime.ok("actions", "schedule", "sit", f'{{"number": {number}}}', "--app", "sits:app")
        read_until(worker, "sitting")
    worker.terminate()
    read_until(worker, "asked")
    read_until(worker, "asked")
    worker.terminate()
    rest(worker)  # would last as long as the grace
    assert worker.wait(30) == 1
    assert states(url) == {"running": 2}


def test_orphans_drain(duetime: Duetimes, shop: str, url: str, start: Start) -> None:
    worker = start("worker", shop, "--processes", "2", "--concurrency", "1", together=True)
    started(worker, 2)
    watch(duetime, shop, worker, 2)
    worker.kill()
    said = rest(worker)
    assert len(re.findall("worker .* stopped", said)) == 2
    assert "Traceback" not in said
    assert states(url) == {"succeeded": 2}


def test_a_child_that_dies_comes_back(duetime: Duetimes, shop: str, start: Start) -> None:
    worker = start("worker", shop, "--processes", "2", together=True)
    pids = started(worker, 2)
    os.kill(pids[0], signal.SIGKILL)
    said = read_until(worker, "restarting in")
    assert re.search(
        rf"process \d \(pid {pids[0]}\) was killed by SIGKILL; restarting in 1 s", said
    )
    [third] = started(worker, 1)
    assert third not in pids
    os.kill(third, signal.SIGTERM)  # as one does to renew a process
    assert "exited with code 0; restarting in 2 s" in read_until(worker, "restarting in")
    worker.terminate()
    rest(worker)
    assert worker.wait(30) == 0


BAD = {
    "an app that breaks": ("x = 1 / 0\n", "ZeroDivisionError"),
    "no app": ("other = 1\n", "has no 'app'"),
    "missing tables": (
        "from duetime import Duetime\napp = Duetime('sqlite:///x.db', migrate=False)\n",
        "lacks 0001_actions, 0002_jobs, 0003_declared, 0004_worker_health, 0005_tracebacks, "
        "0006_expiry, 0007_audit, 0008_finding, 0009_queues, 0010_bulks, 0011_reports, "
        "0012_figures, 0013_access, 0014_answers, 0015_notifications: run "
        "`duetime migrate --app bad:app`",
    ),
    "no server": (
        "from duetime import Duetime\n"
        "app = Duetime('postgresql://me:secret@127.0.0.1:1/x?connect_timeout=1')\n",
        "cannot be reached",
    ),
}


@pytest.mark.parametrize(("text", "reason"), BAD.values(), ids=BAD.keys())
def test_an_app_that_cannot_start_is_reported_once_and_stops_the_supervisor(
    tmp_path: Path, start: Start, text: str, reason: str
) -> None:
    (tmp_path / "bad.py").write_text(text)
    worker = start("worker", "bad:app", "--processes", "3", together=True)
    said = rest(worker)
    assert worker.wait(30) == 1
    assert (said.count(reason), said.count("during startup")) == (1, 1)
    assert "Traceback" not in said
    assert "secret" not in said


def test_a_name_that_is_none_is_not_understood(start: Start) -> None:
    worker = start("worker", "bad", "--processes", "3", together=True)
    assert "names no app" in rest(worker)
    assert worker.wait(30) == 2


def test_a_child_that_can_start_no_more_ends_it(
    duetime: Duetimes, shop: str, url: str, tmp_path: Path, start: Start
) -> None:
    worker = start("worker", shop, "--processes", "2", "--concurrency", "1", together=True)
    pids = started(worker, 2)
    watch(duetime, shop, worker, 2)
    (tmp_path / "shop.py").write_text("x = 1 / 0\n")
    os.kill(pids[0], signal.SIGKILL)
    said = rest(worker)
    assert worker.wait(30) == 1
    assert said.count("error: importing 'shop' failed") == 1
    assert "exited with code 1 during startup" in said
    assert states(url) == {"succeeded": 1, "running": 1}


def test_a_store_that_is_away_is_waited_for(
    private_postgres: Callable[..., OwnServer], tmp_path: Path, start: Start
) -> None:
    server = private_postgres()
    text = f"from duetime import Duetime\napp = Duetime({server.url!r}, timeout=2)\n"
    (tmp_path / "far.py").write_text(text)
    worker = start("worker", "far:app", "--processes", "2", together=True)
    pids = started(worker, 2)
    server.stop("immediate")
    os.kill(pids[0], signal.SIGKILL)
    read_until(worker, "was killed by SIGKILL; restarting in 1 s")
    read_until(worker, "exited with code 75; restarting in 2 s")
    server.start()
    assert started(worker, 1)[0] not in pids
    worker.terminate()
    said = rest(worker)
    assert worker.wait(30) == 0
    assert "Traceback" not in said


def test_three_processes_on_one_file_run_each_action_once(
    duetime: Duetimes, url: str, tmp_path: Path, start: Start
) -> None:
    (tmp_path / "marks.py").write_text(TOGETHER.format(url=url, processes=3))
    app = load_app("marks:app")
    from marks import Mark  # type: ignore[import-not-found]

    worker = start("worker", "marks:app", "--processes", "3", together=True)
    pids = started(worker, 3)
    requests = [app.request(Mark(number)) for number in range(900)]
    actions = app.sync.schedule_many(requests)
    for action in actions:
        assert app.sync.wait(action.id, timeout=60).state == "succeeded"
    worker.terminate()
    rest(worker)
    assert worker.wait(30) == 0
    ledger = [line.split() for line in (tmp_path / "ledger").read_text().splitlines()]
    assert Counter(int(number) for number, _ in ledger) == dict.fromkeys(range(900), 1)
    assert {int(pid) for _, pid in ledger} == set(pids)
    app.sync.close()


async def test_a_failed_process_start_is_retried_once_one_has_succeeded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    supervisor = Supervisor(WorkerSpec("shop:app", processes=2))
    with pytest.raises(CommandError, match="no process can be started"):
        await supervisor._keep(1)
    supervisor._any_ready.set()
    again = asyncio.create_task(supervisor._keep(1))
    done, _ = await asyncio.wait([again], timeout=0.1)
    assert not done  # it waits for its next try
    supervisor._drain()
    await again


def test_pauses_double_up_to_a_limit_and_start_over_after_a_long_life() -> None:
    backoff = RestartBackoff()
    pauses = [backoff.after(0.0) for _ in range(7)]
    assert pauses == [FIRST_BACKOFF_SECONDS, 2, 4, 8, 16, MAX_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS]
    assert [backoff.after(STABLE_AFTER_SECONDS), backoff.after(0.0)] == [FIRST_BACKOFF_SECONDS, 2]


def test_exit_codes_are_shown_in_words() -> None:
    assert exit_text(3) == "exited with code 3"
    assert exit_text(-signal.SIGKILL) == "was killed by SIGKILL"
    assert exit_text(-63) == "was killed by signal 63"
