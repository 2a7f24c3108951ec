"""The state machine of the store tests notices every fault that is planted in the SQL.

By chance, or where chance seldom leads to the fault, by the steps of a directed life.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from hypothesis import Phase, settings

from duetime.store.base import Store
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from store import sql_mutants
from store.clearing import clear_postgres, clear_sqlite
from store.directed_lives import LIVES, live
from store.random_rounds import ROUNDS, SHORT_LIVES, run_rounds
from store.sql_mutants import Mutant, copy_sql, planted

# It is enough to see that a run fails: shrinking it would take minutes.
WITHOUT_SHRINKING = settings(
    SHORT_LIVES, phases=[Phase.generate], database=None, report_multiple_bugs=False
)


# The round that caught a fault before is tried first. All others follow, should the code change.
CAUGHT_IN_ROUND = {
    "sqlite": {
        "claim_newest_first": 4,
        "claim_a_moment_late": 1,
        "stats_overdue_too_late": 2,
        "ended_in_any_way": 3,
        "postpone_keeps_delay": 1,
        "sweep_forgets_children": 3,
        "prune_failed_too_soon": 2,
        "progress_for_anyone": 4,
    },
    "postgres": {
        "claim_newest_first": 4,
    },
}


def rounds(dialect: str, mutant: Mutant) -> list[int]:
    return [CAUGHT_IN_ROUND[dialect].get(mutant.name, 0), *ROUNDS]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sql")
    copy_sql(target)
    return target


def some(mutants: Sequence[Mutant]) -> list[ParameterSet]:
    """Every third one in each test run, the others in `make soak`: each runs many tests."""
    return [
        pytest.param(mutant, id=mutant.name, marks=[pytest.mark.soak] if number % 3 else [])
        for number, mutant in enumerate(mutants)
    ]


@pytest.mark.parametrize("mutant", some(sql_mutants.SQLITE))
def test_sqlite_mutant_is_caught(mutant: Mutant, copied: Path, sqlite_path: Path) -> None:
    clock = FakeClock()
    with planted(mutant, copied):
        store = SqliteStore(sqlite_path, clock=clock)
        catch(mutant, clock, store, lambda: clear_sqlite(sqlite_path), "sqlite")


@pytest.mark.parametrize("mutant", some(sql_mutants.POSTGRES))
def test_postgres_mutant_is_caught(mutant: Mutant, copied: Path, postgres_url: str) -> None:
    clock = FakeClock()
    with planted(mutant, copied):
        store = PostgresStore(postgres_url, clock=clock)
        catch(mutant, clock, store, lambda: clear_postgres(postgres_url), "postgres")


def catch(
    mutant: Mutant, clock: FakeClock, store: Store, clear: Callable[[], None], dialect: str
) -> None:
    """Expect a difference from the specification; SQL that is refused would show nothing."""

    def cleared_store() -> Store:
        clear()
        return store

    def compare() -> None:
        if mutant.name in LIVES:
            live(clock, cleared_store(), LIVES[mutant.name])
        else:
            run_rounds(clock, cleared_store, rounds(dialect, mutant), how=WITHOUT_SHRINKING)

    with pytest.raises(AssertionError):
        compare()
    store.close()


def test_sqlite_lives_every_directed_life(sqlite_path: Path) -> None:
    """They show faults only: healthy SQL passes."""
    clock = FakeClock()
    store = SqliteStore(sqlite_path, clock=clock)
    for steps in LIVES.values():
        clear_sqlite(sqlite_path)
        live(clock, store, steps)
    store.close()


def test_postgres_lives_every_directed_life(postgres_url: str) -> None:
    clock = FakeClock()
    store = PostgresStore(postgres_url, clock=clock)
    for steps in LIVES.values():
        clear_postgres(postgres_url)
        live(clock, store, steps)
    store.close()


def test_every_hint_is_about_a_mutant() -> None:
    sqlite = {mutant.name for mutant in sql_mutants.SQLITE}
    postgres = {mutant.name for mutant in sql_mutants.POSTGRES}
    assert set(CAUGHT_IN_ROUND["sqlite"]) <= sqlite - LIVES.keys()
    assert set(CAUGHT_IN_ROUND["postgres"]) <= postgres - LIVES.keys()
    assert LIVES.keys() <= sqlite | postgres
