"""Every store lives like the specification, through thousands of random steps."""

from __future__ import annotations

from pathlib import Path

from duetime.store.base import Store
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from store.empty import empty_postgres, empty_sqlite
from store.machine import play_rounds


def test_memory_lives_like_the_specification() -> None:
    """Which it is: this shows that the machine is sound and the specification lawful."""
    clock = FakeClock()
    play_rounds(clock, lambda: MemoryStore(clock=clock))


def test_sqlite_lives_like_the_specification(sqlite_path: Path) -> None:
    clock = FakeClock()
    store = SqliteStore(sqlite_path, clock=clock)

    def emptied() -> Store:
        empty_sqlite(sqlite_path)
        return store

    play_rounds(clock, emptied)
    store.close()


def test_postgres_lives_like_the_specification(postgres_url: str) -> None:
    clock = FakeClock()
    store = PostgresStore(postgres_url, clock=clock)

    def emptied() -> Store:
        empty_postgres(postgres_url)
        return store

    play_rounds(clock, emptied)
    store.close()
