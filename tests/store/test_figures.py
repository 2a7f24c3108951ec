"""Figures of SQL stores agree with the specification, whatever is added and asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duetime.model.actions.claim import WorkerInfo
from duetime.model.health.figures import (
    MINUTE,
    REST,
    FigureBatch,
    FigureFilter,
    FigureKey,
    FigureSums,
)
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore

WORKER = WorkerInfo("w1", "shop", "here", 1, [], [], 1)
BUCKETS = (500, 1000, 10**15)

keys = st.builds(
    FigureKey,
    minute=st.integers(0, 5).map(lambda minute: minute * MINUTE),
    queue=st.sampled_from(("default", "q")),
    kind=st.sampled_from(("mail", "report", REST)),
    tenant=st.sampled_from((None, "a", "b")),
    outcome=st.sampled_from(("succeeded", "failed", "lost")),
    lateness=st.sampled_from(BUCKETS),
    duration=st.sampled_from(BUCKETS),
).map(lambda key: key if key.kind else key._replace(queue=REST, tenant=None))
batches = st.builds(
    FigureBatch,
    worker=st.sampled_from(("w1", "w2", "stranger")),
    number=st.integers(1, 4),
    runs=st.dictionaries(keys, st.integers(1, 9), max_size=6).map(lambda runs: [*runs.items()]),
)
filters = st.builds(
    FigureFilter,
    since=st.integers(0, 2).map(lambda minute: minute * MINUTE),
    until=st.integers(3, 6).map(lambda minute: minute * MINUTE),
    step=st.integers(1, 4).map(lambda minutes: minutes * MINUTE),
    by=st.sampled_from((None, "queue", "kind", "outcome")),
    buckets=st.sampled_from((None, "lateness", "duration")),
    outcome=st.sampled_from((None, "failed")),
    tenant=st.sampled_from((ANY, None, "a")),
    most=st.integers(1, 3),
)


@pytest.fixture(params=["sqlite", "postgres"])
def checked(request: pytest.FixtureRequest) -> Store:
    if request.param == "sqlite":
        path: Path = request.getfixturevalue("sqlite_path")
        return SqliteStore(path)
    url: str = request.getfixturevalue("postgres_url")
    return PostgresStore(url)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(added=st.lists(batches, max_size=5), wanted=st.lists(filters, min_size=1, max_size=4))
def test_sums_are_those_of_the_specification(
    checked: Store, added: list[FigureBatch], wanted: list[FigureFilter]
) -> None:
    stores = (MemoryStore(), checked)
    for store in stores:
        store.perform_blocking(store.clear())
        for worker in ("w1", "w2"):
            store.perform_blocking(store.sweep(replace(WORKER, id=worker), 0, 1))
    for batch in added:
        accepted = [store.perform_blocking(store.add_figures(batch)) for store in stores]
        assert accepted[0] == accepted[1]
    for each in wanted:
        expected, found = [store.perform_blocking(store.figures(each)) for store in stores]
        assert ordered(found) == ordered(expected)


def ordered(found: FigureSums) -> FigureSums:
    return FigureSums(sorted(found.sums), found.capped)
