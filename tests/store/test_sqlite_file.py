"""The files of a SQLite store: for the eyes of their owner only."""

import os
import sqlite3
import stat
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from duetime import Duetime


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


def test_new_files_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        found = write(tmp_path / "new.db")
    finally:
        os.umask(mask)
    assert found == {"new.db": "0o600", "new.db-wal": "0o600", "new.db-shm": "0o600"}


def test_a_file_that_migrate_creates_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        app = Duetime(f"sqlite:///{tmp_path / 'new.db'}")
        app.store.migrate_blocking()  # type: ignore[attr-defined]
    finally:
        os.umask(mask)
    app.sync.close()
    assert set(modes(tmp_path).values()) == {"0o600"}


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    path.chmod(0o640)
    assert write(path)["old.db"] == "0o640"


def test_the_target_of_a_link_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(folder / "target.db")
    mask = os.umask(0)
    try:
        write(link)
    finally:
        os.umask(mask)
    assert modes(folder)["target.db"] == "0o600"
