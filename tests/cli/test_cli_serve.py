"""`duetime serve`: a real process, asked over HTTP and stopped by a signal."""

import json
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
from pages.browser import Browser

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
        if "--nothing-configured" not in arguments:
            command += ["--admin-role", "root"]
        process = subprocess.Popen(
            [*command, *(each for each in arguments if each != "--nothing-configured")],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
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
    # What sends notifications serves no other queue.
    [notifier] = client.get("/api/workers").json()["items"]
    assert notifier["queues"] == ["duetime"]
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
        {"cookie": "; ".join(f"duetime=dts_{number}" for number in range(4000))},
        {"cookie": "duetime-form=" + "x" * 60_000, "accept-language": "fr, " * 15_000},
    ):
        for path in ("/api/actions", "/sign-in"):
            try:
                status = httpx.get(f"{client.base_url}{path}", headers=headers).status_code
            except httpx.TransportError:
                continue  # the server closed the connection
            assert 200 <= status < 500
            assert (status < 400) <= (path == "/sign-in")
    assert client.get("/api/health").status_code == 200


LINK = re.compile(r"(http://[\w.:\[\]]+)(/\S*sign-in\?link=dtl_\w[\w-]*)")


def link_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The address and the path of the link that the process prints."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := LINK.search(line):
            return found[1], found[2]
    raise AssertionError(f"ended with {process.wait()}")


async def press_sign_in(address: str, path: str) -> tuple[int, str | None]:
    """Open a link in a browser, press its button, and return the status and who is signed in."""
    async with Browser(None, address) as browser:
        page = await browser.open(path)
        shown = await browser.send(page.form("Sign in"))
        return shown.response.status_code, shown.reader


async def test_with_nothing_configured_a_link_opens_one_session(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "duetime.toml").write_text('[duetime]\nroute_prefix = "/ops"\n')
    process, client = serve("--no-worker", "--nothing-configured")
    address, path = link_of(process)
    assert path.startswith("/ops/sign-in?link=")
    assert address == str(client.base_url).rstrip("/")
    status, reader = await press_sign_in(address, path)
    assert (status, (reader or "").partition(":")[0]) == (200, "link")
    assert await press_sign_in(address, path) == (401, None)
    async with Browser(None, address, **{"x-forwarded-for": "203.0.113.9"}) as proxied:
        assert (await proxied.open(path)).response.status_code == 403
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    app = Duetime(f"sqlite:///{tmp_path / 'served.db'}")
    [made] = [entry for entry in app.sync.audit.find(verb="create") if entry.subject == "link"]
    assert made.source == "cli"
    app.sync.close()


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ([], ""),
        (["--nothing-configured", "--host", "0.0.0.0"], ""),
        (["--nothing-configured"], 'base_url = "https://shop.example"'),
        (["--nothing-configured"], 'required_role = "staff"'),
        (["--nothing-configured"], 'trusted_proxies = "10.0.0.0/8"'),
    ],
)
def test_what_is_configured_gets_no_link(
    serve: Callable[..., Any], tmp_path: Path, arguments: list[str], settings: str
) -> None:
    (tmp_path / "duetime.toml").write_text(f"[duetime]\n{settings}\n")
    process, client = serve("--no-worker", *arguments)
    port = client.base_url.port
    assert httpx.get(f"http://127.0.0.1:{port}/api/health").status_code == 200
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    assert "sign-in" not in output
    app = Duetime(f"sqlite:///{tmp_path / 'served.db'}")
    assert [entry.subject for entry in app.sync.audit.find(verb="create")] == ["api-key"]
    app.sync.close()


def test_in_a_log_for_machines_the_link_is_a_record(serve: Callable[..., Any]) -> None:
    process, _ = serve("--no-worker", "--nothing-configured", "--log-format", "json")
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=30)
    assert output == ""
    records = [json.loads(line) for line in errors.splitlines()]
    assert [record for record in records if LINK.search(record["message"])]
