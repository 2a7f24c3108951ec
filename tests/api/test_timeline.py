"""`app.timeline`: what ran, what is scheduled, and the coming ticks of jobs."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.apps import Note, Other, case_id
from duetime import ANY, Cron, Duetime, Every, Fail, Outcome, State, Timeline
from duetime.errors import InvalidArgument, NaiveDatetime
from duetime.model.timeline import MAX_TICKS, MAX_TICKS_OF_JOB
from duetime.testing import FakeClock

HOUR = timedelta(hours=1)
START = datetime(2030, 1, 1, tzinfo=UTC)
NAIVE = START.replace(tzinfo=None)


def handle_notes(app: Duetime) -> None:
    @app.handler(kind="note")
    async def note(payload: Note) -> object:
        return Fail("no") if payload.text == "fails" else None


async def around_now(app: Duetime, **wanted: Any) -> Timeline:
    return await app.timeline(app.clock.now() - HOUR, app.clock.now() + HOUR, **wanted)


async def test_what_ran_what_is_scheduled_and_what_will_tick(
    app: Duetime, clock: FakeClock
) -> None:
    handle_notes(app)
    await app.schedule(Note())
    await app.testing.drain()
    clock.advance(60)
    await app.schedule(Note("fails"))
    await app.testing.drain()
    soon = await app.schedule(Note(), delay=90)
    await app.schedule(Note(), delay=7200)
    await app.jobs.put("note-all", Every(minutes=25), payload=Note())
    found = await around_now(app)
    now = clock.now()
    assert (found.start, found.end, found.at) == (now - HOUR, now + HOUR, now)
    assert [(ran.state, ran.outcome) for ran in found.ran] == [
        (State.failed, Outcome.failed),
        (State.succeeded, Outcome.succeeded),
    ]
    assert [ran.finished_at for ran in found.ran] == [now, now - timedelta(seconds=60)]
    [scheduled] = found.scheduled
    assert (scheduled.id, scheduled.due_at, scheduled.state) == (
        soon.id,
        soon.due_at,
        State.scheduled,
    )
    [ticks] = found.ticks
    assert (ticks.job, ticks.kind, ticks.queue, ticks.capped) == (
        "note-all",
        "note",
        "default",
        False,
    )
    assert list(ticks.ticks) == (await app.jobs.preview("note-all", 2))
    assert not any((found.ran_capped, found.scheduled_capped, found.ticks_capped))
    assert app.sync.timeline(found.start, found.end) == found


async def test_ticks_are_left_out_on_request(app: Duetime) -> None:
    handle_notes(app)
    await app.jobs.put("note-all", Every(minutes=5), payload=Note())
    assert len((await around_now(app)).ticks) == 1
    assert (await around_now(app, ticks=False)).ticks == ()


async def test_ticks_are_those_of_the_window(app: Duetime, clock: FakeClock) -> None:
    handle_notes(app)
    await app.jobs.put("note-all", Every(minutes=5), payload=Note())
    first, second, third, *_ = await app.jobs.preview("note-all", 5)
    [found] = (await app.timeline(second, third)).ticks
    assert list(found.ticks) == [second]
    assert (await app.timeline(clock.now() - HOUR, first)).ticks == ()
    await app.jobs.pause("note-all")
    assert (await around_now(app)).ticks == ()


async def test_a_job_has_at_most_200_ticks_and_says_so(app: Duetime, clock: FakeClock) -> None:
    handle_notes(app)
    await app.jobs.put("note-often", Every(seconds=1), payload=Note())
    await app.jobs.put("note-rarely", Every(minutes=10), payload=Note())
    often, rarely = (await around_now(app)).ticks
    assert (often.job, len(often.ticks), often.capped) == ("note-often", MAX_TICKS_OF_JOB, True)
    assert (rarely.job, rarely.capped) == ("note-rarely", False)
    exact = await app.timeline(clock.now(), often.ticks[-1] + timedelta(microseconds=1))
    assert (len(exact.ticks[0].ticks), exact.ticks[0].capped) == (MAX_TICKS_OF_JOB, False)


async def test_all_ticks_together_are_bounded(memory_app: Duetime) -> None:
    handle_notes(memory_app)
    for number in range(MAX_TICKS // MAX_TICKS_OF_JOB + 2):
        await memory_app.jobs.put(f"job-{number}", Every(seconds=1), payload=Note())
    found = await around_now(memory_app)
    assert sum(len(job.ticks) for job in found.ticks) == MAX_TICKS
    assert found.ticks_capped


async def test_lists_are_cut_and_say_so(app: Duetime) -> None:
    handle_notes(app)
    for _ in range(3):
        await app.schedule(Note())
    await app.testing.drain()
    for name in ("job-a", "job-b", "job-c"):
        await app.schedule(Note(), delay=60)
        await app.jobs.put(name, Every(minutes=10), payload=Note())
    cut, whole = await around_now(app, limit=2), await around_now(app, limit=3)
    for found, count in ((cut, 2), (whole, 3)):
        assert [len(part) for part in (found.ran, found.scheduled, found.ticks)] == [count] * 3
        assert [found.ran_capped, found.scheduled_capped, found.ticks_capped] == [count == 2] * 3


async def test_a_job_sooner_than_others_comes_first(app: Duetime) -> None:
    handle_notes(app)
    await app.jobs.put("note-late", Every(minutes=30), payload=Note())
    await app.jobs.put("note-soon", Every(minutes=5), payload=Note())
    assert [ticks.job for ticks in (await around_now(app)).ticks] == ["note-soon", "note-late"]


async def test_other_tenants_are_not_shown(app: Duetime) -> None:
    handle_notes(app)
    for tenant in (None, "a", "b"):
        with app.acting(tenant=tenant):
            await app.schedule(Note())
            await app.schedule(Other(), delay=60)
            await app.jobs.put(f"job-{tenant or 'none'}", Every(minutes=10), payload=Note())
    await app.testing.drain()
    for tenant in (None, "a"):
        with app.acting(tenant=tenant):
            found = await around_now(app)
        for part in (found.ran, found.scheduled, found.ticks):
            assert [shown.tenant for shown in part] == [tenant]
    everything = await around_now(app, tenant=ANY)
    for part in (everything.ran, everything.scheduled, everything.ticks):
        assert {shown.tenant for shown in part} == {None, "a", "b"}


async def test_a_run_of_now_says_since_when(real_app: Duetime) -> None:
    inside: list[Timeline] = []

    @real_app.handler(kind="note")
    async def note(payload: Note) -> None:
        inside.append(await around_now(real_app))

    async with real_app.worker():
        action = await real_app.schedule(Note())
        await real_app.wait(action.id, timeout=20)
    [running] = inside[0].scheduled
    assert (running.state, running.id) == (State.running, action.id)
    assert running.started_at is not None


BAD: list[tuple[dict[str, Any], str]] = [
    ({"start": START + HOUR, "end": START}, "end"),
    ({"end": START}, "after start"),
    ({"start": "now"}, "start"),
    ({"end": None}, "end"),
    ({"limit": 0}, "limit"),
    ({"limit": 501}, "from 1 to 500"),
    ({"limit": True}, "limit"),
    ({"limit": "9"}, "limit"),
    ({"ticks": "no"}, "ticks"),
    ({"ticks": 0}, "ticks"),
    ({"tenant": ""}, "tenant"),
]


@pytest.mark.parametrize(("wrong", "match"), BAD, ids=case_id)
async def test_bad_arguments_are_refused(
    memory_app: Duetime, wrong: dict[str, Any], match: str
) -> None:
    given: dict[str, Any] = {"start": START, "end": START + HOUR} | wrong
    with pytest.raises(InvalidArgument, match=match):
        await memory_app.timeline(given.pop("start"), given.pop("end"), **given)


@pytest.mark.parametrize("name", ["start", "end"])
async def test_naive_instants_are_refused(memory_app: Duetime, name: str) -> None:
    given: dict[str, Any] = {"start": START, "end": START + HOUR, name: NAIVE}
    with pytest.raises(NaiveDatetime, match=name):
        await memory_app.timeline(**given)


async def test_all_of_time_can_be_shown(app: Duetime) -> None:
    handle_notes(app)
    await app.schedule(Note(), at=datetime.max.replace(tzinfo=UTC))
    await app.schedule(Note(), at=datetime(1, 1, 1, tzinfo=UTC))
    await app.jobs.put("note-all", Every(minutes=5), payload=Note())
    await app.testing.drain()
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    found = await app.timeline(first, last)
    assert (len(found.ran), len(found.ticks[0].ticks)) == (1, MAX_TICKS_OF_JOB)


async def test_a_rule_that_hardly_ever_ticks_is_not_searched_to_its_end(
    memory_app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its ticks comes after 90,000 that are left out, each of which is looked at."""
    handle_notes(memory_app)
    rare = Every(seconds=1) - (Every(seconds=1) - Every(seconds=90_000))
    for name in ("note-a", "note-b"):
        await memory_app.jobs.put(name, rare, payload=Note())
    checks, latest = itertools.count(), Every.latest

    def counted(rule: Every, after: datetime, until: datetime) -> datetime | None:
        next(checks)
        return latest(rule, after, until)

    monkeypatch.setattr(Every, "latest", counted)
    now = memory_app.clock.now()
    found = await memory_app.timeline(now, now + timedelta(days=300))
    assert found.ticks_capped
    assert next(checks) < 100_000


def test_a_search_finds_what_between_finds() -> None:
    rules = [
        Every(minutes=7),
        Cron("*/5 * * * *") - Cron("*/10 * * * *"),
        Every(seconds=60) - START.date() - Every(seconds=120),
        (Every(hours=5) - Cron("0 5 * * *")) | Cron("30 3 * * *", tz="Europe/Paris"),
    ]
    for rule in rules:
        until = START + timedelta(days=9)
        for limit in (1, 50, 5000):
            found, left = rule.search(START, until, limit, 10_000)
            assert found == rule.between(START, until, limit)
            assert left > 0
