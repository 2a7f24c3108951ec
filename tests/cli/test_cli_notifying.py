"""`duetime serve --no-worker` sends notifications, also while no worker lives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from duetime import Duetime
from duetime.cli.serve import notifying
from duetime.worker.worker import Worker
from polling import until

APP = """
import os
from duetime import Duetime
from duetime.notifications import Notifications, Webhook

app = Duetime("sqlite:///served.db", sweep=0.5, notifications=Notifications(
    webhook=Webhook(secret="whsec_" + "A" * 43 + "=", allow_hosts=["127.0.0.1"]),
))
app.notifications.subscribe(["no-worker", "overdue"], webhook=os.environ["RECEIVER"])
"""


@pytest.fixture
def received() -> Iterator[tuple[str, Queue[dict[str, Any]]]]:
    """The address of a receiver of webhooks, and what it has received."""
    bodies: Queue[dict[str, Any]] = Queue()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            bodies.put(json.loads(self.rfile.read(length)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hook", bodies
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_notifier_that_cannot_start_is_started_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("duetime.cli.serve.RESTART_SECONDS", 0)

    class App(Duetime):
        started = 0

        def notifier(self) -> Worker:
            self.started += 1
            if self.started == 1:
                raise ValueError("no such zone")
            return super().notifier()

    async with App("memory://") as app, notifying(app):

        async def lives() -> bool:
            return bool((await app.stats()).workers)

        await until(lives, timeout=30)
    assert "no such zone" in caplog.text


def test_no_worker_is_said_while_no_worker_lives(
    received: tuple[str, Queue[dict[str, Any]]], tmp_path: Path
) -> None:
    address, bodies = received
    (tmp_path / "shop.py").write_text(APP)
    app = Duetime(f"sqlite:///{tmp_path / 'served.db'}")
    app.sync.queues.pause("paused", by="ann")
    app.sync.close()
    command = [sys.executable, "-m", "duetime.cli", "serve", "shop:app", "--port", "0"]
    served = subprocess.Popen(
        [*command, "--no-worker"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "RECEIVER": address},
    )
    try:
        body = bodies.get(timeout=60)
        assert body["type"] == "no-worker"
        with subprocess.Popen(
            [sys.executable, "-m", "duetime.cli", "worker", "shop:app"],
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "RECEIVER": address},
        ) as worker:
            # The end of the episode belongs to the rest of its minute, or to the next one.
            over = bodies.get(timeout=120)
            worker.send_signal(signal.SIGTERM)
    finally:
        served.send_signal(signal.SIGTERM)
        assert served.wait(30) == 0
    assert over["type"] == "no-worker"
    assert over["data"] != body["data"]
