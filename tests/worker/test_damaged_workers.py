"""A worker's row whose list of jobs cannot be read: no job is retired because of it, and no check
for retired jobs fails on it for long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from damaged_rows import DEEP, execute
from duetime import Duetime, Every
from polling import until

# A check for jobs that no worker declares every 0.6 s.
SETTINGS: dict[str, Any] = {"lease": 2, "sweep": 0.1, "poll": 0.1}
UNREADABLE_LISTS = [
    "jobs = '{bad'",
    "jobs = ''",
    "jobs = '5'",
    "jobs = 'null'",
    "jobs = '[null]'",
    "jobs = '[5]'",
    "jobs = '{}'",
    """jobs = '["shop-mail'""",
    "jobs = '{deep}'",
    "jobs = NULL, kinds = '{bad'",
]
COPY_OF_A_ROW = (
    "INSERT INTO duetime_workers (id, app, host, pid, kinds, queues, concurrency, started_at, "
    "seen_at, jobs) SELECT 'damaged', app, host, pid, kinds, queues, concurrency, started_at, "
    "9223372036854775807, jobs FROM duetime_workers"
)


def declaring(url: str, *names: str) -> Duetime:
    app = Duetime(url, name="shop", **SETTINGS)
    for name in names:

        @app.job(Every(hours=1), name=name)
        async def tick() -> None: ...

    return app


@pytest.mark.parametrize("assignments", UNREADABLE_LISTS)
async def test_jobs_are_retired_beside_the_row_of_a_damaged_worker(
    durable_url: str, assignments: str
) -> None:
    async with declaring(durable_url, "shop-lost") as former, former.worker():
        pass
    async with declaring(durable_url, "shop-mail") as app, app.worker():
        await until(lambda: listed_workers(durable_url, 1))
        execute(durable_url, COPY_OF_A_ROW)
        damage_worker(durable_url, "damaged", assignments)
        await until(lambda: is_retired(app, "shop-lost"))
        assert not await is_retired(app, "shop-mail")
        assert (await app.stats()).workers[0].health.problems == ()
        assert worker_ids(durable_url) != ["damaged"]


@pytest.mark.parametrize("assignments", ["jobs = '{bad'", "jobs = '[5]'"])
async def test_a_live_worker_whose_row_is_damaged_keeps_its_jobs(
    durable_url: str, assignments: str
) -> None:
    """It registers again, and until then counts as declaring any job."""
    async with declaring(durable_url, "shop-mail") as app, app.worker():
        await until(lambda: listed_workers(durable_url, 1))
        [declarer] = worker_ids(durable_url)
        async with declaring(durable_url, "shop-lost") as former, former.worker():
            pass
        async with declaring(durable_url, "shop-other") as other, other.worker():
            await until(lambda: listed_workers(durable_url, 2))
            damage_worker(durable_url, declarer, assignments)
            await until(lambda: declares(durable_url, declarer, "shop-mail"))
            await until(lambda: is_retired(app, "shop-lost"))
            assert not await is_retired(app, "shop-mail")
            assert not await is_retired(app, "shop-other")


def damage_worker(url: str, worker: str, assignments: str) -> None:
    damaged = assignments.replace("{deep}", DEEP)
    execute(url, f"UPDATE duetime_workers SET {damaged} WHERE id = '{worker}'")


async def is_retired(app: Duetime, name: str) -> bool:
    return (await app.jobs.get(name)).state == "retired"


async def listed_workers(url: str, count: int) -> bool:
    return len(worker_ids(url)) == count


def worker_ids(url: str) -> list[str]:
    return [text(id_) for (id_,) in execute(url, "SELECT id FROM duetime_workers")]


async def declares(url: str, worker: str, name: str) -> bool:
    found = execute(url, f"SELECT jobs FROM duetime_workers WHERE id = '{worker}'")
    return any(json_names(text(jobs)) == [name] for (jobs,) in found)


def json_names(jobs: str) -> object:
    try:
        return json.loads(jobs)
    except ValueError:
        return None


def text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
