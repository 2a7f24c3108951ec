"""A full disk is reported clearly and waited out; no action is lost."""

import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from duetime import State
from duetime.api.requests import Request
from duetime.errors import StoreUnavailable
from faults.campaign import Campaign, StoreSetup, wait_until
from faults.campaign_stores import sqlite_setup
from faults.disk import NoDisk, SmallDisk, small_disk
from faults.processes import ManagedProcess
from faults.work_order import Work
from servers import OwnServer


def test_on_sqlite(tmp_path: Path) -> None:
    """The database of the worker may not grow for a while."""
    with ExitStack() as stack:
        campaign = opened(sqlite_setup(tmp_path), stack)
        app, proc = campaign.observer.sync, campaign.processes.start()
        app.wait(app.schedule(Work(0)).id, timeout=30)
        limit(proc, ROOM)
        rest = [app.schedule(Work(number)) for number in range(1, 6)]
        assert wait_until(lambda: "disk I/O error" in proc.log.read_text(), 30)
        assert proc.alive
        limit(proc, resource.RLIM_INFINITY)
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
        campaign = opened(StoreSetup(url, url, tmp_path), stack)
        app, proc = campaign.observer.sync, campaign.processes.start()
        app.wait(app.schedule(Work(100)).id, timeout=30)
        soon = app.schedule_many(bulky(campaign, 60, delay=3))
        disk.fill()
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            fill_pages(campaign)
        assert wait_until(lambda: "disk is full" in proc.log.read_text(), 30)
        disk.make_room()
        for action in soon:
            ended = app.wait(action.id, timeout=30)
            assert (ended.state, ended.attempt) == (State.succeeded, 1)


def opened(setup: StoreSetup, stack: ExitStack) -> Campaign:
    campaign = Campaign(setup, 1, 0)
    stack.callback(campaign.close)
    stack.callback(campaign.processes.kill_all)
    campaign.observer.sync.find(limit=1)
    campaign.ledger.create()
    return campaign


# Less than the database has, and more than the worker's log.
ROOM = 50_000


def limit(proc: ManagedProcess, most: int) -> None:
    """Of the size of every file that the process writes: more is refused as on a full disk."""
    resource.prlimit(proc.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def database_on(disk: SmallDisk, server: OwnServer) -> str:
    """Its tables lie on that disk. The server's log does not: that one full is a crash."""
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE TABLESPACE small LOCATION '{disk.tablespace}'".encode())
        admin.execute("CREATE DATABASE small TABLESPACE small TEMPLATE template0")
    return server.database_url("small")


def fill_pages(campaign: Campaign) -> None:
    """Until no page has room for another row."""
    for _ in range(200):
        campaign.observer.sync.schedule_many(bulky(campaign, 20, delay=3600))


def bulky(campaign: Campaign, count: int, delay: float) -> list[Request]:
    """So long that few of them fit into a page."""
    asked = range(count)
    return [
        campaign.observer.request(Work(n), correlation_id="x" * 500, delay=delay) for n in asked
    ]
