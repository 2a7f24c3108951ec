"""An outage of the store does not flood the log."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from duetime import Duetime
from duetime.logs import get_log
from duetime.store.outage_log import OutageLog
from duetime.store.sql.postgres.store import PostgresStore
from polling import until
from servers import OwnServer

log = get_log("duetime.worker")


class ManualClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "duetime")
    return caplog


def test_the_first_failure_then_one_per_interval_and_the_recovery_are_logged(
    logged: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    outage = OutageLog(log, "sweep", now=clock)
    for _ in range(65):
        outage.failed("no server")
        clock.seconds += 1
    outage.recovered()
    outage.recovered()
    assert logged.messages == [
        "sweep: no server",
        "sweep, for 30 s now: no server",
        "sweep, for 60 s now: no server",
        "sweep works again, after 65 s",
    ]


def test_the_next_outage_is_logged_at_once(logged: pytest.LogCaptureFixture) -> None:
    outage = OutageLog(log, "not listening", "listening again", now=ManualClock())
    for _ in range(2):
        outage.failed("no server")
        outage.recovered()
    assert logged.messages == ["not listening: no server", "listening again, after 0 s"] * 2


@dataclass(frozen=True)
class Long:
    """Runs until it may end."""


async def test_each_service_of_a_worker_logs_an_outage_once(
    private_postgres: Callable[..., OwnServer],
    logged: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = private_postgres()
    may_end = asyncio.Event()
    beats: list[object] = []
    async with Duetime(server.url, lease=3, sweep=1) as app:

        @app.handler(kind="long")
        async def long(payload: Long) -> None:
            await may_end.wait()

        def perform(flow: Any) -> Any:
            beats.append(flow)
            return PostgresStore.perform_blocking(app.store, flow)  # type: ignore[arg-type]

        def lines(words: str) -> int:
            return sum(words in message for message in logged.messages)

        async with app.worker():
            action = await app.schedule(Long())
            await until(lambda: app.sync.get(action.id).state == "running")
            await asyncio.to_thread(server.stop, "immediate")
            monkeypatch.setattr(app.store, "perform_blocking", perform)
            await until(lambda: len(beats) >= 20)
            assert lines("heartbeat: ") == lines("sweep: ") == lines("not listening") == 1
            await asyncio.to_thread(server.start)
            parts = ("heartbeat works again", "sweep works again", "listening again")
            await until(lambda: all(lines(part) for part in parts))
            assert [lines(part) for part in parts] == [1, 1, 1]
            may_end.set()
