"""The state machine of the store tests notices every fault that is planted in the SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from duetime.store.base import Store
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from store import sql_mutants
from store.clearing import clear_postgres, clear_sqlite
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
        "settle_newest_first": 2,
        "postpone_keeps_delay": 1,
        "circle_of_two_at_most": 2,
        "sweep_forgets_children": 1,
    },
    "postgres": {
        "claim_newest_first": 4,
        "again_keeps_stop": 2,
        "claim_above_limit": 1,
    },
}


def rounds(store: str, mutant: Mutant) -> list[int]:
    return [CAUGHT_IN_ROUND[store].get(mutant.name, 0), *ROUNDS]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sql")
    copy_sql(target)
    return target


@pytest.mark.parametrize("mutant", sql_mutants.SQLITE, ids=lambda mutant: mutant.name)
def test_sqlite_mutant_is_caught(mutant: Mutant, copied: Path, sqlite_path: Path) -> None:
    clock = FakeClock()
    with planted(mutant, copied):
        store = SqliteStore(sqlite_path, clock=clock)
        catch(clock, store, lambda: clear_sqlite(sqlite_path), rounds("sqlite", mutant))


@pytest.mark.parametrize("mutant", sql_mutants.POSTGRES, ids=lambda mutant: mutant.name)
def test_postgres_mutant_is_caught(mutant: Mutant, copied: Path, postgres_url: str) -> None:
    clock = FakeClock()
    with planted(mutant, copied):
        store = PostgresStore(postgres_url, clock=clock)
        catch(clock, store, lambda: clear_postgres(postgres_url), rounds("postgres", mutant))


def catch(clock: FakeClock, store: Store, clear: Callable[[], None], rounds: Sequence[int]) -> None:
    """Expect a difference from the specification; SQL that is refused would show nothing."""

    def cleared_store() -> Store:
        clear()
        return store

    with pytest.raises(AssertionError):
        run_rounds(clock, cleared_store, rounds, how=WITHOUT_SHRINKING)
    store.close()


def test_every_hint_is_about_a_mutant() -> None:
    assert set(CAUGHT_IN_ROUND["sqlite"]) <= {mutant.name for mutant in sql_mutants.SQLITE}
    assert set(CAUGHT_IN_ROUND["postgres"]) <= {mutant.name for mutant in sql_mutants.POSTGRES}
