"""Counts of unfinished actions stop where there are many, so that pages read no whole backlog."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from duetime import ANY, Duetime
from duetime.model.health.queues import Queue
from duetime.model.health.stats import Stats

LEAST = 100


@dataclass(frozen=True)
class Parcel:
    n: int


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "sqlite":
        path: Path = request.getfixturevalue("sqlite_path")
        yield f"sqlite:///{path}"
    else:
        yield request.getfixturevalue("postgres_url")


async def counted(
    url: str, crowd: int, tenant: str | None = None, most: int | None = 1
) -> tuple[Stats, list[Queue]]:
    """Count a crowd that is due later, two that are overdue on its lane, and one on another: a
    hundred of each lane, or all."""
    async with Duetime(url) as app:
        app.payload(Parcel, kind="parcel")
        waiting = [app.request(Parcel(n), delay=3600) for n in range(crowd)]
        overdue = [app.request(Parcel(n)) for n in range(2)]
        other = [app.request(Parcel(0), delay=60, queue="other", tenant="acme")]
        await app.schedule_many(waiting + overdue + other)
        stats = await app.stats(tenant=tenant or ANY, most=most)
        return stats, await app.queues.list(most=most)


async def test_what_is_due_first_is_counted(store_url: str) -> None:
    stats, [default, other] = await counted(store_url, 150)
    assert (stats.scheduled, stats.overdue, stats.capped) == (LEAST + 1, 2, True)
    assert (default.scheduled, default.overdue, default.capped) == (LEAST, 2, True)
    assert (other.scheduled, other.overdue, other.capped) == (1, 0, False)


async def test_a_few_are_all_counted(store_url: str) -> None:
    stats, [default, _] = await counted(store_url, LEAST - 3)
    assert (stats.scheduled, stats.overdue, stats.capped) == (LEAST, 2, False)
    assert (default.scheduled, default.capped) == (LEAST - 1, False)


async def test_others_have_no_part_in_a_tenants_counts(store_url: str) -> None:
    stats, _ = await counted(store_url, 150, "acme")
    assert (stats.scheduled, stats.overdue, stats.capped) == (1, 0, False)


async def test_without_a_limit_all_are_counted(store_url: str) -> None:
    stats, [default, _] = await counted(store_url, 150, most=None)
    assert (stats.scheduled, stats.capped) == (153, False)
    assert (default.scheduled, default.capped) == (152, False)
