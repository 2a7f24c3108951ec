"""A rolling deploy: workers of old and new code on one store, as processes of their own."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from api.apps import durable_url
from duetime import Action, Duetime
from duetime.api.wait import poll_intervals
from duetime.cli.loading import load_app
from duetime.store.sql.statements.loader import StatementLoader
from duetime.store.sql.statements.table_names import TableNames

from .conftest import Duetimes, Start, read_until

__all__ = ["durable_url"]

HEAD = "from dataclasses import dataclass\nfrom duetime import Duetime\n"
OLD = """
app = Duetime("{url}")

@dataclass(frozen=True)
class Mail:
    to: str

@dataclass(frozen=True)
class Post:
    to: str

@app.handler(kind="mail")
async def mail(payload: Mail) -> str:
    return f"old mail to {{payload.to}}"

@app.handler(kind="post")
async def post(payload: Post) -> str:
    return f"old post to {{payload.to}}"
"""
NEW = """
app = Duetime("{url}")

@dataclass(frozen=True)
class Mail:
    address: str

@dataclass(frozen=True)
class Letter:
    to: str

@dataclass(frozen=True)
class Invoice:
    number: int

@app.handler(kind="mail", version=2, upgrades={{1: lambda data: {{"address": data["to"]}}}})
async def mail(payload: Mail) -> str:
    return f"new mail to {{payload.address}}"

@app.handler(kind="letter", aliases=["post"])
async def letter(payload: Letter) -> str:
    return f"new letter to {{payload.to}}"

@app.handler(kind="invoice")
async def invoice(payload: Invoice) -> str:
    return f"new invoice {{payload.number}}"
"""
KNOWN = StatementLoader("sqlite", TableNames()).migrations()[-1].version


@pytest.fixture
def apps(duetime: Duetimes, durable_url: str, tmp_path: Path) -> tuple[Any, Any]:
    """The modules of both versions, to schedule with."""
    for name, text in (("old", OLD), ("new", NEW)):
        (tmp_path / f"{name}.py").write_text(HEAD + text.format(url=durable_url))
    load_app("old:app")
    load_app("new:app")
    import new  # type: ignore[import-not-found]
    import old  # type: ignore[import-not-found]

    return old, new


def until(app: Duetime, action_id: UUID, holds: Callable[[Action], bool]) -> Action:
    for pause in poll_intervals(30):
        time.sleep(pause)
        action = app.sync.get(action_id)
        if holds(action):
            return action
    raise TimeoutError(action)


def is_parked(action: Action) -> bool:
    return (action.error or "").startswith("parked:")


def results(app: Duetime, actions: list[Action]) -> list[object]:
    done = [app.sync.wait(action.id, timeout=30) for action in actions]
    assert {(action.state, action.attempt) for action in done} == {("succeeded", 1)}
    return [action.result for action in done]


def execute(url: str, sql: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as lite:
            lite.execute(sql)
            lite.commit()
    else:
        with psycopg.connect(url) as post:
            post.execute(sql.encode())


def test_what_old_code_does_not_know_waits_for_the_new(apps: tuple[Any, Any], start: Start) -> None:
    old, new = apps
    old_worker = start("worker", "old:app", together=True)
    first = old.app.sync.schedule(old.Mail("ann"))
    assert results(old.app, [first]) == ["old mail to ann"]

    schedule = new.app.sync.schedule
    unknown = [schedule(new.Mail("bob")), schedule(new.Letter("cyd")), schedule(new.Invoice(4))]
    for action in unknown:
        assert until(new.app, action.id, is_parked).state == "scheduled"

    new_worker = start("worker", "new:app", together=True)
    output = ["new mail to bob", "new letter to cyd", "new invoice 4"]
    assert results(new.app, unknown) == output

    # Both run what both know, under its old name and version too.
    both = [
        *old.app.sync.schedule_many([old.app.request(old.Mail("dan")) for _ in range(50)]),
        *old.app.sync.schedule_many([old.app.request(old.Post("eve")) for _ in range(50)]),
    ]
    assert set(results(old.app, both)) <= {
        *("old mail to dan", "new mail to dan", "old post to eve", "new letter to eve"),
    }
    old_worker.terminate()
    assert old_worker.wait(30) == 0
    assert results(old.app, [old.app.sync.schedule(old.Mail("fay"))]) == ["new mail to fay"]
    assert results(old.app, [old.app.sync.schedule(old.Post("gus"))]) == ["new letter to gus"]
    new_worker.terminate()
    assert new_worker.wait(30) == 0
    old.app.sync.close()
    new.app.sync.close()


def test_old_code_goes_on_with_a_newer_schema_that_allows_it(
    apps: tuple[Any, Any], durable_url: str, start: Start
) -> None:
    old, _ = apps
    running = start("worker", "old:app", together=True)
    read_until(running, "started")
    newer = f"INSERT INTO duetime_migrations VALUES ({KNOWN + 1}, 0, {KNOWN})"
    execute(durable_url, newer)
    assert results(old.app, [old.app.sync.schedule(old.Mail("ann"))]) == ["old mail to ann"]
    another = start("worker", "old:app", together=True)
    read_until(another, "started")
    another.terminate()
    assert another.wait(30) == 0

    execute(durable_url, f"UPDATE duetime_migrations SET oldest_code = {KNOWN + 1}")
    refused = start("worker", "old:app", "--processes", "2", together=True)
    assert refused.stdout is not None
    said = refused.stdout.read()
    assert refused.wait(30) == 1
    wanted = (
        f"needs a duetime that supports schema version {KNOWN + 1}, and this one supports up to"
    )
    assert said.count(wanted) == 1
    assert "upgrade duetime" in said
    assert "Traceback" not in said

    # What ran before goes on: whoever made the change stops it when it is time.
    assert results(old.app, [old.app.sync.schedule(old.Mail("bob"))]) == ["old mail to bob"]
    running.terminate()
    assert running.wait(30) == 0
    old.app.sync.close()
