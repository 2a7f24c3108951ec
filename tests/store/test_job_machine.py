"""Jobs behave on every store as in memory, through random histories of their verbs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from duetime.store.base import Store
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from store import sql_mutants
from store.clearing import clear_postgres, clear_sqlite
from store.job_machine import JobMachine
from store.sql_mutants import Mutant, copy_sql, planted

# The same examples every time; `make soak` takes more of them, in other orders.
FEW_HISTORIES = settings(
    max_examples=5,
    derandomize=True,
    stateful_step_count=25,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MANY_HISTORIES = settings(FEW_HISTORIES, max_examples=150, derandomize=False)
# It is enough to see that a run fails.
UNTIL_FAILURE = settings(
    FEW_HISTORIES, max_examples=60, phases=[Phase.generate], report_multiple_bugs=False
)
SIZES = pytest.mark.parametrize(
    "how",
    [FEW_HISTORIES, pytest.param(MANY_HISTORIES, marks=pytest.mark.soak)],
    ids=["few", "many"],
)


def run(clock: FakeClock, empty_store: Callable[[], Store], how: settings) -> None:
    class Machine(JobMachine):
        def __init__(self) -> None:
            super().__init__(clock, empty_store())

    run_state_machine_as_test(Machine, settings=how)


@SIZES
def test_jobs_in_memory(how: settings) -> None:
    clock = FakeClock()
    run(clock, lambda: MemoryStore(clock=clock), how)


@SIZES
def test_jobs_on_sqlite(sqlite_path: Path, how: settings) -> None:
    clock = FakeClock()
    store = SqliteStore(sqlite_path, clock=clock)

    def cleared_store() -> Store:
        clear_sqlite(sqlite_path)
        return store

    run(clock, cleared_store, how)
    store.close()


@SIZES
def test_jobs_on_postgres(postgres_url: str, how: settings) -> None:
    clock = FakeClock()
    store = PostgresStore(postgres_url, clock=clock)

    def cleared_store() -> Store:
        clear_postgres(postgres_url)
        return store

    run(clock, cleared_store, how)
    store.close()


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sql")
    copy_sql(target)
    return target


@pytest.mark.parametrize("mutant", sql_mutants.JOBS, ids=lambda mutant: mutant.name)
def test_a_fault_in_the_sql_of_jobs_is_caught(
    mutant: Mutant, copied: Path, sqlite_path: Path
) -> None:
    with planted(mutant, copied), pytest.raises(AssertionError):
        test_jobs_on_sqlite(sqlite_path, UNTIL_FAILURE)
