"""A store that is away fills no log."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from awaiting import until
from duetime import Duetime
from duetime.store.outage_log import Outage
from duetime.store.sql.postgres.store import PostgresStore
from servers import OwnServer

log = logging.getLogger("duetime.worker")


class Hand:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "duetime")
    return caplog


def test_the_first_failure_is_told_then_one_now_and_then_and_the_end(
    told: pytest.LogCaptureFixture,
) -> None:
    hand = Hand()
    outage = Outage(log, "sweep", now=hand)
    for _ in range(65):
        outage.failed("no server")
        hand.seconds += 1
    outage.over()
    outage.over()
    assert told.messages == [
        "sweep: no server",
        "sweep, for 30 s now: no server",
        "sweep, for 60 s now: no server",
        "sweep works again, after 65 s",
    ]


def test_the_next_one_is_told_at_once(told: pytest.LogCaptureFixture) -> None:
    outage = Outage(log, "not listening", "listening again", now=Hand())
    for _ in range(2):
        outage.failed("no server")
        outage.over()
    assert told.messages == ["not listening: no server", "listening again, after 0 s"] * 2


@dataclass(frozen=True)
class Long:
    """Runs until it may end."""


async def test_each_part_of_a_worker_tells_of_it_once(
    private_postgres: Callable[..., OwnServer],
    told: pytest.LogCaptureFixture,
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
            return sum(words in message for message in told.messages)

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
