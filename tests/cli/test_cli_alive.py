"""`duetime worker --alive-file` and `duetime alive`: what a container's liveness probe asks."""

import os
import signal
from pathlib import Path

import pytest

from duetime.cli import supervisor
from duetime.cli.supervisor import Supervisor
from duetime.cli.worker_spec import WorkerSpec
from duetime.model.clock import monotonic

from .conftest import Duetimes, Start, read_until

HOUR_AGO = 1_600_000_000.0


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_renews_its_file_and_removes_it(
    duetime: Duetimes, shop: str, tmp_path: Path, start: Start, processes: str
) -> None:
    file = tmp_path / "alive"
    worker = start(
        "worker", shop, "--processes", processes, "--alive-file", str(file), together=True
    )
    read_until(worker, " started")
    assert duetime.ok("alive", str(file)).startswith("alive: ")
    os.utime(file, (HOUR_AGO, HOUR_AGO))
    while file.stat().st_mtime == HOUR_AGO:
        assert worker.poll() is None
        os.sched_yield()
    assert duetime("alive", str(file), "--max-age", "1h").code == 0
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=30)
    assert worker.returncode == 0
    answer = duetime("alive", str(file))
    assert (answer.code, answer.err) == (
        1,
        f"error: not alive: {file}: No such file or directory\n",
    )


def test_an_old_file_is_not_alive(duetime: Duetimes, tmp_path: Path) -> None:
    file = tmp_path / "alive"
    file.touch()
    os.utime(file, (HOUR_AGO, HOUR_AGO))
    answer = duetime("alive", str(file), "--max-age", "90s")
    assert answer.code == 1
    assert "and 90 s are allowed: a handler blocks the event loop" in answer.err
    assert duetime("alive", str(file), "--max-age", "-1").code == 2


def test_a_file_that_cannot_be_written_is_refused_at_the_start(
    duetime: Duetimes, shop: str, start: Start
) -> None:
    for processes in ("1", "2"):
        worker = start("worker", shop, "--alive-file", "no/such/alive", "--processes", processes)
        _, err = worker.communicate(timeout=30)
        assert worker.returncode == 1
        assert "--alive-file no/such/alive cannot be written: No such file or directory" in err
        assert "Traceback" not in err


BLOCKS = """
import time
from dataclasses import dataclass
from duetime import Duetime

app = Duetime("{url}")

@dataclass(frozen=True)
class Block:
    pass

@app.handler(kind="block")
async def block(payload: Block) -> None:
    print("blocking", flush=True)
    time.sleep(600)
"""


def test_a_process_whose_event_loop_is_blocked_hangs(
    duetime: Duetimes, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    (tmp_path / "blocks.py").write_text(BLOCKS.format(url=url))
    duetime.ok("actions", "schedule", "block", "{}", "--app", "blocks:app")
    file = tmp_path / "alive"
    worker = start("worker", "blocks:app", "--alive-file", str(file))
    read_until(worker, "blocking")
    os.utime(file, (HOUR_AGO, HOUR_AGO))
    # The blocked loop cannot renew the file, however long this waits.
    assert duetime("alive", str(file)).code == 1
    worker.kill()
    worker.communicate(timeout=30)


def test_one_process_that_hangs_makes_the_file_stale() -> None:
    watching = Supervisor(WorkerSpec("shop:app", processes=2))
    child = supervisor.Child(None, None, None)  # type: ignore[arg-type]
    watching._children[1] = child
    assert not watching._any_hangs()  # it is starting
    child.beat_at = monotonic()
    assert not watching._any_hangs()
    child.beat_at -= supervisor.MISSED_BEATS_SECONDS + 1
    assert watching._any_hangs()
