"""The machine is strong enough: it notices every fault that is planted in the SQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from duetime.store.base import Store
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from store import sql_mutants
from store.empty import empty_postgres, empty_sqlite
from store.machine import NORMAL, play_rounds
from store.sql_mutants import Mutant, copy_sql, planted

# It is enough to see that a life goes wrong: the shortest one would take minutes to find.
ONCE = settings(NORMAL, phases=[Phase.generate], database=None, report_multiple_bugs=False)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sql")
    copy_sql(target)
    return target


@pytest.mark.parametrize("mutant", sql_mutants.SQLITE, ids=lambda mutant: mutant.name)
def test_sqlite_fault_is_noticed(mutant: Mutant, copied: Path, sqlite_path: Path) -> None:
    clock = FakeClock()
    with planted(mutant, copied):
        notice(clock, SqliteStore(sqlite_path, clock=clock), lambda: empty_sqlite(sqlite_path))


@pytest.mark.parametrize("mutant", sql_mutants.POSTGRES, ids=lambda mutant: mutant.name)
def test_postgres_fault_is_noticed(mutant: Mutant, copied: Path, postgres_url: str) -> None:
    clock = FakeClock()
    with planted(mutant, copied):
        notice(
            clock, PostgresStore(postgres_url, clock=clock), lambda: empty_postgres(postgres_url)
        )


def notice(clock: FakeClock, store: Store, empty: Callable[[], None]) -> None:
    """By comparison: SQL that is refused would show nothing."""

    def emptied() -> Store:
        empty()
        return store

    with pytest.raises(AssertionError):
        play_rounds(clock, emptied, how=ONCE)
    store.close()
