"""The files of a SQLite store: for the eyes of their owner only."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from duetime import Duetime
from duetime.store.sql.sqlite.store import SqliteStore


@dataclass(frozen=True)
class Secretive:
    text: str = "a customer's name"


def modes(folder: Path) -> dict[str, str]:
    return {file.name: oct(stat.S_IMODE(file.stat().st_mode)) for file in folder.iterdir()}


def write(path: Path) -> dict[str, str]:
    """Schedule an action; return the modes of the files while the store is open."""
    app = Duetime(f"sqlite:///{path}")
    app.payload(Secretive, kind="secretive")
    app.sync.schedule(Secretive())
    found = modes(path.parent)
    app.sync.close()
    return found


@pytest.fixture
def permissive() -> Iterator[None]:
    """Let new files be open to all, unless they are created with another mode."""
    mask = os.umask(0)
    yield
    os.umask(mask)


@pytest.mark.usefixtures("permissive")
def test_new_files_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    found = write(tmp_path / "new.db")
    assert found == {"new.db": "0o600", "new.db-wal": "0o600", "new.db-shm": "0o600"}


@pytest.mark.usefixtures("permissive")
def test_a_file_that_migrate_creates_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    app = Duetime(f"sqlite:///{tmp_path / 'new.db'}")
    app.store.migrate_blocking()  # type: ignore[attr-defined]
    app.sync.close()
    assert set(modes(tmp_path).values()) == {"0o600"}


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    path.chmod(0o640)
    assert write(path)["old.db"] == "0o640"


@pytest.mark.usefixtures("permissive")
def test_the_target_of_a_link_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(folder / "target.db")
    write(link)
    assert modes(folder)["target.db"] == "0o600"


def test_a_database_in_memory_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert SqliteStore(":memory:").pending()
    assert list(tmp_path.iterdir()) == []
