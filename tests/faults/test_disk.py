"""A full disk refuses, in words that help, and is waited out: nothing is lost by it."""

import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from duetime import State
from duetime.api.arguments import Request
from duetime.errors import StoreUnavailable
from faults.crew import Hand
from faults.disk import NoDisk, SmallDisk, small_disk
from faults.places import sqlite_place
from faults.stage import Place, Stage, wait_until
from faults.work import Work
from servers import OwnServer


def test_on_sqlite(tmp_path: Path) -> None:
    """The worker's database may not grow any more: then there is room again."""
    with ExitStack() as stack:
        stage = opened(sqlite_place(tmp_path), stack)
        app, hand = stage.observer.sync, stage.crew.hire()
        app.wait(app.schedule(Work(0)).id, timeout=30)
        limit(hand, ROOM)
        rest = [app.schedule(Work(number)) for number in range(1, 6)]
        assert wait_until(lambda: "disk I/O error" in hand.log.read_text(), 30)
        assert hand.alive
        limit(hand, resource.RLIM_INFINITY)
        for action in rest:
            ended = app.wait(action.id, timeout=30)
            assert (ended.state, ended.attempt) == (State.succeeded, 1)


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    with ExitStack() as stack:
        # Not below pytest's folder, which the server's user cannot enter.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        folder.chmod(0o755)
        try:
            yield stack.enter_context(small_disk(folder / "disk", 16))
        except NoDisk as reason:
            pytest.skip(f"no small disk for PostgreSQL: {reason}")


def test_on_postgres(
    disk: SmallDisk, private_postgres: Callable[..., OwnServer], tmp_path: Path
) -> None:
    url = database_on(disk, private_postgres())
    with ExitStack() as stack:
        stage = opened(Place(url, url, tmp_path), stack)
        app, hand = stage.observer.sync, stage.crew.hire()
        app.wait(app.schedule(Work(100)).id, timeout=30)
        soon = app.schedule_many(bulky(stage, 60, delay=3))
        disk.fill()
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            fill_pages(stage)
        assert wait_until(lambda: "disk is full" in hand.log.read_text(), 30)
        disk.make_room()
        for action in soon:
            ended = app.wait(action.id, timeout=30)
            assert (ended.state, ended.attempt) == (State.succeeded, 1)


def opened(place: Place, stack: ExitStack) -> Stage:
    stage = Stage(place, 1, 0)
    stack.callback(stage.close)
    stack.callback(stage.crew.kill_all)
    stage.observer.sync.find(limit=1)
    stage.ledger.create()
    return stage


# Less than the database has, and more than the worker's log.
ROOM = 50_000


def limit(hand: Hand, most: int) -> None:
    """Of the size of every file that the process writes: more is refused as on a full disk."""
    resource.prlimit(hand.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def database_on(disk: SmallDisk, server: OwnServer) -> str:
    """Its tables lie on that disk. The server's log does not: that one full is a crash."""
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE TABLESPACE small LOCATION '{disk.tablespace}'".encode())
        admin.execute("CREATE DATABASE small TABLESPACE small TEMPLATE template0")
    return server.database_url("small")


def fill_pages(stage: Stage) -> None:
    """Until no page has room for another row."""
    for _ in range(200):
        stage.observer.sync.schedule_many(bulky(stage, 20, delay=3600))


def bulky(stage: Stage, count: int, delay: float) -> list[Request]:
    """So long that few of them fit into a page."""
    asked = range(count)
    return [stage.observer.request(Work(n), correlation_id="x" * 500, delay=delay) for n in asked]
