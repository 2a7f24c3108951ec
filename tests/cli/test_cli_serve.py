"""`duetime serve`: a real process, asked over HTTP and stopped by a signal."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from duetime import Duetime

APP = """
import asyncio
from dataclasses import dataclass
from duetime import Duetime

app = Duetime("sqlite:///served.db", grace=20)

@dataclass(frozen=True)
class Note:
    text: str

@app.handler(kind="note")
async def note(payload: Note) -> str:
    return payload.text.upper()

@dataclass(frozen=True)
class Slow:
    text: str

@app.handler(kind="slow")
async def slow(payload: Slow) -> None:
    await asyncio.sleep(1)
"""
LISTENING = re.compile(r"running on (http://[\d.]+:\d+)")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], httpx.Client]]]:
    """Start `duetime serve`; return its process, and a client with the rights of root."""
    (tmp_path / "shop.py").write_text(APP)
    app = Duetime(f"sqlite:///{tmp_path / 'served.db'}")
    key = app.sync.api_keys.create("root", ["root"], None, by="test").key
    app.sync.close()
    started: list[subprocess.Popen[str]] = []
    clients: list[httpx.Client] = []

    def start(*arguments: str) -> tuple[subprocess.Popen[str], httpx.Client]:
        command = [sys.executable, "-m", "duetime.cli", "serve", "shop:app", "--port", "0"]
        process = subprocess.Popen(
            [*command, "--admin-role", "root", *arguments],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "NO_COLOR": "1"},
        )
        started.append(process)
        assert process.stderr is not None
        for line in process.stderr:
            if found := LISTENING.search(line):
                headers = {"authorization": f"Bearer {key}"}
                clients.append(httpx.Client(base_url=found[1], headers=headers, timeout=30))
                return process, clients[-1]
        raise AssertionError(f"ended with {process.wait()}")

    yield start
    for client in clients:
        client.close()
    for process in started:
        process.kill()
        process.communicate()


def schedule(client: httpx.Client, kind: str) -> str:
    body = {"kind": kind, "payload": {"text": "hello"}}
    made = client.post("/api/actions", json=body)
    assert made.status_code == 201, made.text
    return str(made.headers["location"])


def state(client: httpx.Client, path: str, wait: float = 20) -> Any:
    return client.get(path, params={"wait": wait}).json()


def test_it_serves_and_works_until_it_is_stopped(serve: Callable[..., Any], tmp_path: Path) -> None:
    process, client = serve()
    done = state(client, schedule(client, "note"))
    assert (done["state"], done["result"]) == ("succeeded", "HELLO")
    path = schedule(client, "slow")
    for _ in range(1000):
        if state(client, path, 0)["state"] == "running":
            break
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    app = Duetime(f"sqlite:///{tmp_path / 'served.db'}")
    assert app.sync.get(UUID(path.rpartition("/")[2])).state == "succeeded"
    app.sync.close()


def test_without_a_worker_it_only_serves(serve: Callable[..., Any]) -> None:
    process, client = serve("--no-worker")
    path = schedule(client, "note")
    assert state(client, path, 0.2)["state"] == "scheduled"
    assert client.get("/api/workers").json()["items"] == []
    anonymous = httpx.get(f"{client.base_url}/api/actions")
    assert anonymous.status_code == 401
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0


def test_floods_of_headers_are_refused_and_survived(serve: Callable[..., Any]) -> None:
    _, client = serve("--no-worker")
    for headers in (
        {f"x-{number}": "x" * 100 for number in range(2000)},
        {"x-large": "x" * 1_000_000},
        {"authorization": "Bearer dt_" + "x" * 60_000},
    ):
        try:
            status = httpx.get(f"{client.base_url}/api/actions", headers=headers).status_code
        except httpx.TransportError:
            continue  # the server closed the connection
        assert 400 <= status < 500
    assert client.get("/api/health").status_code == 200
