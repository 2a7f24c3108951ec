"""Garbage collector settings of a process that runs only a worker."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from duetime import Duetime

APP = """
import gc, json, os, signal, sys
from dataclasses import dataclass
from duetime import Duetime

gc.set_threshold(*json.loads(os.environ["THRESHOLD"]))
app = Duetime("sqlite:///app.db")

@dataclass
class Look:
    pass

@app.handler(kind="look")
async def look(payload: Look) -> None:
    with open("found.json", "w") as found:
        json.dump([gc.get_freeze_count() > 1000, gc.get_threshold()], found)
    child = sys.argv[0].endswith("child.py")
    os.kill(os.getppid() if child else os.getpid(), signal.SIGTERM)
"""


@dataclass
class Look:
    """As the app declares it."""


RUN = "import app, asyncio; asyncio.run(app.app.run())"
WORKERS = {
    "app.run()": ["-c", RUN],
    "duetime worker": ["-m", "duetime.cli", "worker", "app:app"],
    "its processes": ["-m", "duetime.cli", "worker", "app:app", "--processes", "2"],
}


@pytest.mark.parametrize("worker", WORKERS)
@pytest.mark.parametrize(
    ("given", "expected"),
    [((700, 10, 10), [5000, 10, 10]), ((9000, 5, 5), [9000, 5, 5]), ((0, 10, 10), [0, 10, 10])],
)
def test_loaded_objects_are_frozen_and_collections_are_rarer(
    tmp_path: Path, worker: str, given: tuple[int, int, int], expected: list[int]
) -> None:
    (tmp_path / "app.py").write_text(APP)
    client = Duetime(f"sqlite:///{tmp_path / 'app.db'}")
    client.payload(Look, kind="look")
    client.sync.schedule(Look())
    client.sync.close()
    command = [sys.executable, *WORKERS[worker]]
    env = {**os.environ, "THRESHOLD": json.dumps(given), "PYTHONPATH": str(tmp_path)}
    subprocess.run(command, cwd=tmp_path, env=env, timeout=60, check=True)
    assert json.loads((tmp_path / "found.json").read_text()) == [True, expected]
