"""`duetime migrate`, on both databases."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import Duetimes


def test_check_names_what_is_pending_and_changes_nothing(
    duetime: Duetimes, url: str, sqlite_path: Path
) -> None:
    missing = duetime("migrate", "--url", url, "--check")
    assert (missing.code, sqlite_path.exists()) == (1, False)
    sqlite_path.touch()
    pending = duetime("migrate", "--url", url, "--check")
    assert (pending.code, pending.out) == (1, "")
    assert f"{url} lacks 0001_" in pending.err


def test_it_applies_once_and_says_what_it_did(duetime: Duetimes, url: str) -> None:
    assert duetime.ok("migrate", "--url", url).startswith(f"{url}: applied 0001_")
    assert "nothing to do" in duetime.ok("migrate", "--url", url)
    assert duetime.ok("migrate", "--url", url, "--check") == f"{url} is up to date\n"
    assert duetime.ok("actions", "list", "--url", url) == "no actions match\n"


def test_the_script_makes_the_same_tables(duetime: Duetimes, url: str, tmp_path: Path) -> None:
    script = duetime.ok("migrate", "--url", url, "--sql", "--prefix", "mine_")
    with closing(sqlite3.connect(tmp_path / "by_hand.db")) as database:
        database.executescript(script)
    by_hand = ["migrate", "--url", "sqlite:///by_hand.db", "--prefix", "mine_"]
    assert "up to date" in duetime.ok(*by_hand, "--check")


def test_an_app_knows_its_store(duetime: Duetimes, shop: str, url: str) -> None:
    assert duetime.ok("migrate", "--app", shop).startswith(f"{url}: applied 0001_")
    refused = duetime("migrate", "--app", shop, "--prefix", "x_")
    assert refused.code == 2


@pytest.mark.parametrize("wrong", [["--sql", "--check"], ["--chek"]])
def test_usage(duetime: Duetimes, wrong: list[str]) -> None:
    assert duetime("migrate", *wrong).code == 2


def test_memory_has_no_schema(duetime: Duetimes) -> None:
    refused = duetime("migrate", "--url", "memory://")
    assert (refused.code, refused.out) == (1, "")
    assert "memory://" in refused.err


def test_postgres(duetime: Duetimes, postgres_url: str) -> None:
    place = ["--url", postgres_url, "--schema", "apart"]
    assert "CREATE SCHEMA" in duetime.ok("migrate", *place, "--sql")
    pending = duetime("migrate", *place, "--check")
    assert pending.code == 1
    assert "lacks 0001_" in pending.err
    assert ": applied 0001_" in duetime.ok("migrate", *place)
    assert "is up to date" in duetime.ok("migrate", *place, "--check")
