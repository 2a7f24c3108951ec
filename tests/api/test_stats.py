"""`app.stats()`: the health figures, on every store."""

import sqlite3
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest

from api.apps import Note, Other
from duetime import ANY, Duetime, Every, Parked
from duetime.model.health.stats import clock_offset
from duetime.testing import FakeClock
from polling import until


async def test_the_figures_of_a_life(app: Duetime, clock: FakeClock) -> None:
    await app.schedule(Note(), delay=60)
    await app.schedule(Other())
    clock.advance(5)
    found = await app.stats()
    assert found.at == clock.now()
    assert (found.scheduled, found.running, found.waiting, found.parked) == (2, 0, 0, 0)
    assert (found.overdue, found.oldest_overdue) == (1, 5.0)
    assert (found.succeeded, found.failed, found.cancelled) == (0, 0, 0)
    assert (found.expired_leases, found.unreachable, found.clock_offset) == (0, 0, 0.0)
    assert (found.workers, found.unknown_kinds) == ((), ())
    await app.cancel_many(kind="note")
    assert app.sync.stats().cancelled == 1


async def test_other_tenants_are_not_counted_by_default(app: Duetime) -> None:
    for tenant in (None, "a", "a"):
        await app.schedule(Note(), tenant=tenant)
    with app.acting(tenant="a"):
        mine = await app.stats()
    given = [await app.stats(tenant=None), await app.stats(tenant="a"), await app.stats(tenant=ANY)]
    assert [item.scheduled for item in (await app.stats(), mine, *given)] == [1, 2, 1, 2, 3]


async def test_living_workers_and_what_they_do_not_know(real_app: Duetime) -> None:
    real_app.payload(Note, kind="note")

    @real_app.handler(kind="other", queue="q")
    async def other(payload: Other) -> None: ...

    async def is_parked() -> bool:
        return (await real_app.get(note.id)).error is not None

    note = await real_app.schedule(Note())
    async with real_app.worker(concurrency=7, queues=["default", "q"]) as worker:
        done = await real_app.schedule(Other())
        await real_app.wait(done.id, timeout=20)
        await until(is_parked)
        found = await real_app.stats()
    [seen] = found.workers
    assert (seen.id, seen.app, seen.kinds) == (worker.id, "duetime", ("other",))
    assert (seen.queues, seen.concurrency) == (("default", "q"), 7)
    assert found.at - seen.seen_at < timedelta(seconds=30)
    assert found.parked_kinds == (Parked("note", 1, 1),)
    assert found.unknown_kinds == ("note",)
    assert abs(found.clock_offset) < 5
    assert (await real_app.stats()).workers == ()


async def test_jobs_and_what_is_the_matter_with_them(app: Duetime, clock: FakeClock) -> None:
    app.handler(kind="note")(takes_note)
    for name in ("note-1", "note-2", "note-3"):
        await app.jobs.put(name, Every(minutes=1), payload=Note())
    await app.jobs.pause("note-3")
    clock.advance(minutes=3)
    found = (await app.stats()).jobs
    assert (found.scheduled, found.paused, found.retired) == (2, 1, 0)
    assert (found.overdue, found.oldest_overdue) == (2, 120.0)
    assert (found.overdue_apps, found.failing, found.unreadable) == (("duetime",), (), ())
    await app.testing.drain()
    found = (await app.stats()).jobs
    assert (found.overdue, found.oldest_overdue, found.overdue_apps) == (0, None, ())


async def takes_note(payload: Note) -> None: ...


BROKEN = {
    "no lane": "lane = NULL",
    "a lane that is none": "lane = 'elsewhere'",
    "a parking lane that is none": "lane = 'p.x'",
    "waiting for nobody": "due_at = NULL, lane = NULL",
    "running without a due time": "due_at = NULL, token = id, lease_until = 1",
    "running outside every lane": "lane = NULL, token = id, lease_until = 1",
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
async def test_rows_that_nothing_would_find(durable_url: str, change: str) -> None:
    async with Duetime(durable_url) as app:
        app.payload(Note, kind="note")
        await app.schedule(Note(), delay=60)
        await app.schedule(Note(), delay=60)
        assert (await app.stats()).unreachable == 0
        execute(durable_url, f"UPDATE duetime_actions SET {change} WHERE {OLDEST}")
        found = await app.stats()
        assert found.unreachable == 1
        assert found.scheduled + found.waiting + found.running == 2


async def test_a_waiting_child_is_reachable(durable_url: str) -> None:
    async with Duetime(durable_url) as app:
        app.payload(Note, kind="note")
        await app.schedule(Note(), delay=60)
        waiting = (
            f"UPDATE duetime_actions SET due_at = NULL, lane = NULL, after = id WHERE {OLDEST}"
        )
        execute(durable_url, waiting)
        found = await app.stats()
        assert (found.waiting, found.scheduled, found.unreachable) == (1, 0, 0)


async def test_a_lane_that_cannot_be_parsed_stops_no_worker(durable_url: str) -> None:
    async with Duetime(durable_url) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> str:
            return payload.text

        await app.schedule(Note())
        execute(durable_url, "UPDATE duetime_actions SET lane = 'elsewhere'")
        async with app.worker():
            action = await app.schedule(Note("goes on"))
            assert (await app.wait(action.id, timeout=10)).result == "goes on"


OLDEST = "created_at = (SELECT min(created_at) FROM duetime_actions)"


def execute(url: str, sql: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as lite:
            lite.execute(sql)
            lite.commit()
    else:
        with psycopg.connect(url) as post:
            post.execute(sql.encode())


@pytest.mark.parametrize(
    ("now", "seconds"),
    [(10, 0.0), (15, 0.0), (20, 0.0), (1_000_020, 1.0), (-999_990, -1.0)],
)
def test_an_offset_is_what_the_question_cannot_explain(now: int, seconds: float) -> None:
    assert clock_offset(now, 10, 20) == seconds
