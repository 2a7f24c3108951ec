"""Every store behaves like the specification, through thousands of random steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from duetime.store.base import Store
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from store.clearing import clear_postgres, clear_sqlite
from store.random_rounds import ROUNDS, run_rounds

SHARES = pytest.mark.parametrize(
    "rounds", [range(2), pytest.param(ROUNDS[2:], marks=pytest.mark.soak)], ids=["first", "rest"]
)


def test_memory_behaves_like_the_specification() -> None:
    """MemoryStore is the specification: this checks the state machine and the invariants."""
    clock = FakeClock()
    run_rounds(clock, lambda: MemoryStore(clock=clock))


@SHARES
def test_sqlite_behaves_like_the_specification(sqlite_path: Path, rounds: range) -> None:
    clock = FakeClock()
    store = SqliteStore(sqlite_path, clock=clock)

    def cleared_store() -> Store:
        clear_sqlite(sqlite_path)
        return store

    run_rounds(clock, cleared_store, rounds)
    store.close()


@SHARES
def test_postgres_behaves_like_the_specification(postgres_url: str, rounds: range) -> None:
    clock = FakeClock()
    store = PostgresStore(postgres_url, clock=clock)

    def cleared_store() -> Store:
        clear_postgres(postgres_url)
        return store

    run_rounds(clock, cleared_store, rounds)
    store.close()
