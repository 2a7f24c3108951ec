"""PostgreSQL has lost the record of a job: workers start beside it, the others tick and are
retired, and its occurrences end."""

from __future__ import annotations

from typing import Any

import pytest

from api.apps import Note
from damaged_rows import execute, long_text, lose_long_texts
from duetime import Duetime, Every, State
from duetime.errors import UnreadableJob
from polling import until

SETTINGS: dict[str, Any] = {"lease": 2, "sweep": 0.1, "poll": 0.1}


def new_app(url: str, *declared: str) -> Duetime:
    app = Duetime(url, name="shop", **SETTINGS)

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text[:20]

    for name in declared:

        @app.job(Every(hours=1), name=name)
        async def tick() -> None: ...

    return app


async def put_lost_job(app: Duetime, url: str) -> None:
    """Put a job that is due, and lose its record."""
    await app.jobs.put("shop-lost", Every(seconds=1), payload=Note(long_text()))
    lose_long_texts(url, "duetime_jobs")
    execute(url, "UPDATE duetime_jobs SET next_due_at = 1 WHERE name = 'shop-lost'")


async def test_other_jobs_tick_beside_a_lost_one(postgres_url: str) -> None:
    async with new_app(postgres_url, "shop-mail") as app:
        await put_lost_job(app, postgres_url)
        await app.jobs.put("shop-good", Every(seconds=1), payload=Note())
        async with app.worker():
            await until(lambda: has_succeeded(app, "shop-good"))
            await until(lambda: has_state(app, "shop-mail", "scheduled"))
            assert (await app.stats()).workers[0].health.problems == ()


@pytest.mark.parametrize("declared", [["shop-mail"], ["shop-mail", "shop-lost"]])
async def test_other_jobs_are_retired_beside_a_lost_one(
    postgres_url: str, declared: list[str]
) -> None:
    async with new_app(postgres_url, "shop-gone", "shop-lost") as former, former.worker():
        pass
    async with new_app(postgres_url, *declared) as app:
        execute(
            postgres_url,
            f"UPDATE duetime_jobs SET record = '{long_text()}' WHERE name = 'shop-lost'",
        )
        lose_long_texts(postgres_url, "duetime_jobs")
        async with app.worker():
            await until(lambda: has_state(app, "shop-gone", "retired"))
            assert (await app.stats()).workers[0].health.problems == ()


async def test_a_run_whose_job_is_lost_ends(postgres_url: str) -> None:
    async with new_app(postgres_url) as app:
        await app.jobs.put("shop-lost", Every(hours=1), payload=Note(long_text()))
        async with app.worker():
            occurrence = await app.jobs.trigger("shop-lost")
            await app.wait(occurrence.id, timeout=15)
            lose_long_texts(postgres_url, "duetime_jobs")
            execute(
                postgres_url,
                "INSERT INTO duetime_actions (id, due_at, created_at, version, priority, kind, "
                "lane, queue, created_by, payload, job) SELECT gen_random_uuid(), 1, 1, 1, 1, "
                "'note', '1.0.default', 'default', 'me', '{}', 'shop-lost'",
            )
            await until(lambda: have_all_ended(app, 2))
            assert (await app.stats()).succeeded == 2


async def test_operators_see_it_among_the_others(postgres_url: str) -> None:
    async with new_app(postgres_url) as app:
        await put_lost_job(app, postgres_url)
        await app.jobs.put("shop-good", Every(seconds=1), payload=Note())
        good, lost = await app.jobs.list()
        assert (good.name, good.last_error, lost.name) == ("shop-good", None, "shop-lost")
        assert str(lost.last_error).startswith("unreadable: ")
        assert (await app.stats()).jobs.unreadable == ("shop-lost",)
        with pytest.raises(UnreadableJob, match="shop-lost"):
            await app.jobs.get("shop-lost")


async def has_succeeded(app: Duetime, name: str) -> bool:
    return any(o.state is State.succeeded for o in await app.jobs.runs(name))


async def has_state(app: Duetime, name: str, state: str) -> bool:
    return (await app.jobs.get(name)).state == state


async def have_all_ended(app: Duetime, count: int) -> bool:
    stats = await app.stats()
    return stats.succeeded + stats.failed == count
