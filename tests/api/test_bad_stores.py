"""Stores that cannot be used: a typed error that says why, and nothing is damaged."""

import os
import re
import shlex
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from api.apps import Note, with_payloads
from duetime import Duetime
from duetime.errors import ConfigError, DuetimeError, StoreUnavailable
from polling import in_time


@pytest.fixture
def postgres_url(empty_postgres_url: str) -> str:
    """Here it counts that there is nothing of ours."""
    return empty_postgres_url


def app_on(url: str, **options: Any) -> Duetime:
    return with_payloads(Duetime(url, **options))


@contextmanager
def refused_port() -> Iterator[int]:
    """A port on which nobody answers: bound, so that nobody takes it, and not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(16)
        yield listening.getsockname()[1]


async def test_an_unreachable_server_is_reported_quickly_and_without_the_password() -> None:
    with refused_port() as port:
        app = app_on(f"postgresql://me:hunter2@127.0.0.1:{port}/shop", timeout=60)
        for attempt in (lambda: app.schedule(Note()), app.find):
            with in_time(), pytest.raises(StoreUnavailable) as caught:
                await attempt()
            assert "hunter2" not in repr(caught.value) + str(caught.value)
            assert "hunter2" not in str(caught.value.__cause__)
        with pytest.raises(StoreUnavailable):
            app.sync.schedule(Note())
        await app.aclose()


async def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    with silent_port() as port:
        app = app_on(f"postgresql://me:hunter2@127.0.0.1:{port}/shop", timeout=1)
        with in_time(), pytest.raises(StoreUnavailable) as caught:
            await app.schedule(Note())
        assert "hunter2" not in str(caught.value)
        await app.aclose()


async def test_a_wrong_password_is_reported_without_showing_it(postgres_url: str) -> None:
    url = re.sub(r":[^:@/]+@", ":hunter2@", postgres_url)
    app = app_on(url, timeout=3)
    with pytest.raises(DuetimeError) as caught:
        await app.schedule(Note())
    assert "hunter2" not in str(caught.value)
    await app.aclose()


async def test_a_database_that_does_not_exist_is_named(postgres_url: str) -> None:
    app = app_on(postgres_url.rpartition("/")[0] + "/no_such_database", timeout=3)
    with pytest.raises(StoreUnavailable, match=r"no_such_database at .* create it"):
        await app.schedule(Note())
    await app.aclose()


def test_without_migrate_the_error_names_the_whole_command(
    sqlite_path: Path, postgres_url: str
) -> None:
    hidden = re.sub(r"(//[^:/@]+:)[^@]+@", r"\1***@", postgres_url)
    for url, shown in ((f"sqlite:///{sqlite_path}", None), (postgres_url, hidden)):
        schema = None if shown is None else "apart"
        app = app_on(url, migrate=False, prefix="mine_", schema=schema)
        with pytest.raises(ConfigError) as caught:
            app.sync.find()
        app.sync.close()
        command = re.findall(r"run `(.*)`, or pass migrate=True", str(caught.value))
        words = ["duetime", "migrate", "--url", shown or url, "--prefix", "mine_"]
        assert [shlex.split(item) for item in command] == [
            [*words, *(["--schema", "apart"] if schema else [])]
        ]
    app = app_on(f"sqlite:///{sqlite_path}", migrate=False)
    with pytest.raises(ConfigError, match=f"`duetime migrate --url sqlite:///{sqlite_path}`"):
        app.sync.find()
    app.sync.close()


async def test_without_migrate_a_missing_schema_is_a_typed_error(durable_url: str) -> None:
    app = app_on(durable_url, migrate=False)
    with pytest.raises(DuetimeError, match="migrate"):
        await app.schedule(Note())
    with pytest.raises(DuetimeError, match="migrate"):
        app.sync.find()
    await app.aclose()
    async with app_on(durable_url) as made:
        await made.schedule(Note("now there are tables"))
    async with app_on(durable_url, migrate=False) as app:
        assert len(await app.find()) == 1


NEWER = "INSERT INTO duetime_migrations (version, applied_at, oldest_code) VALUES (999, 0, 999)"


async def test_a_schema_newer_than_this_code_is_refused_and_left_alone(durable_url: str) -> None:
    async with app_on(durable_url) as app:
        await app.schedule(Note())
    _execute(durable_url, NEWER)
    newer = app_on(durable_url)
    with pytest.raises(DuetimeError, match="upgrade duetime"):
        await newer.schedule(Note())
    await newer.aclose()
    _execute(durable_url, "DELETE FROM duetime_migrations WHERE version = 999")
    async with app_on(durable_url) as app:
        assert len(await app.find()) == 1


def _execute(url: str, statement: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute(statement)
    else:
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(statement.encode())


async def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    app = app_on(f"sqlite:///{tmp_path}/nowhere/duetime.db")
    with pytest.raises(ConfigError, match=f"there is no directory {tmp_path}/nowhere; make it"):
        await app.schedule(Note())
    await app.aclose()


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    app = app_on(f"sqlite:///{tmp_path}")
    with pytest.raises(ConfigError, match=f"{tmp_path}: it is a directory"):
        await app.schedule(Note())
    await app.aclose()


def test_a_file_that_is_no_database_is_refused_and_left_alone(sqlite_path: Path) -> None:
    sqlite_path.write_bytes(b"not a database, but somebody's precious data\n" * 100)
    before = sqlite_path.read_bytes()
    app = app_on(f"sqlite:///{sqlite_path}")
    with pytest.raises(DuetimeError, match="is not a SQLite database"):
        app.sync.schedule(Note())
    app.sync.close()
    assert sqlite_path.read_bytes() == before


READ_ONLY = """
import os, sys
from dataclasses import dataclass
from duetime import Duetime
from duetime.errors import DuetimeError

@dataclass
class Note:
    text: str = ""

app = Duetime(sys.argv[1])
app.payload(Note, kind="note")
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    app.sync.schedule(Note())
except DuetimeError as error:
    print(type(error).__name__, error)
finally:
    app.sync.close()
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine can reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_read_only_file_is_reported(what: str, open_folder: Path) -> None:
    """As another user, because root may write everything."""
    path = open_folder / "duetime.db"
    if what == "file":
        app = app_on(f"sqlite:///{path}")
        app.sync.schedule(Note())
        app.sync.close()
        path.chmod(0o444)
    open_folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, f"sqlite:///{path}"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd="/tmp",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("StoreUnavailable", "ConfigError")), done.stdout
    assert str(path) in done.stdout
    assert "writ" in done.stdout


@pytest.mark.parametrize("migrate", ["no", "yes"])
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("file", "no permission to read and write it; grant it"),
        ("folder", "no permission to write in {folder}, where"),
    ],
)
def test_a_file_that_may_not_be_opened_is_reported(
    what: str, said: str, migrate: str, open_folder: Path
) -> None:
    path = open_folder / "duetime.db"
    path.touch(0o000)
    open_folder.chmod(0o777 if what == "file" else 0o000)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, f"sqlite:///{path}"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd="/tmp",
        env={**os.environ, "DUETIME_MIGRATE": migrate},
    )
    assert done.stdout.startswith("ConfigError"), done
    assert f"{path}: {said.format(folder=open_folder)}" in done.stdout


async def test_two_apps_with_prefixes_of_their_own_share_a_database(durable_url: str) -> None:
    async with (
        app_on(durable_url, prefix="one_") as app,
        app_on(durable_url, prefix="two_") as other,
    ):
        action = await app.schedule(Note("one"))
        assert len(await other.find()) == 0
        assert [a.id for a in await app.find()] == [action.id]


def test_a_schema_is_for_postgresql_only_and_may_be_any_name(postgres_url: str) -> None:
    app = app_on(postgres_url, schema="Select")
    action = app.sync.schedule(Note())
    assert app.sync.get(action.id).payload == Note()
    app.sync.close()
    with pytest.raises(ConfigError, match="schema"):
        app_on(postgres_url, schema='x"; DROP TABLE')
