"""app.testing: users' tests in their own time."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from api.apps import Note, Other
from duetime import Context, Duetime, Retry, Snooze
from duetime.errors import ConfigError, NaiveDatetime
from duetime.testing import FakeClock, check_conventions


async def test_advance_runs_everything_on_the_way_at_its_own_time(
    app: Duetime, clock: FakeClock
) -> None:
    start, seen = clock.now(), list[tuple[str, int, int]]()

    @app.handler(retry=Retry(delays=[3600, 86_400]))
    async def note(payload: Note, ctx: Context) -> object:
        hours = (clock.now() - start) // timedelta(hours=1)
        seen.append((payload.text, hours, ctx.attempt))
        if payload.text == "fails":
            raise RuntimeError
        if payload.text == "snoozes" and hours < 10:
            return Snooze(timedelta(hours=5))
        if payload.text == "chains":
            await app.schedule(Note("chained"), delay=timedelta(hours=48))
        return None

    await app.schedule(Note("fails"), delay=3600)
    await app.schedule(Note("snoozes"))
    await app.schedule(Note("chains"), at=start + timedelta(days=3))
    await app.schedule(Note("never"), delay=timedelta(days=31))
    assert await app.testing.advance(days=30) == 8
    assert seen == [
        ("snoozes", 0, 1),
        ("fails", 1, 1),
        ("fails", 2, 2),
        ("snoozes", 5, 1),
        ("snoozes", 10, 1),
        ("fails", 26, 3),
        ("chains", 72, 1),
        ("chained", 120, 1),
    ]
    assert clock.now() == start + timedelta(days=30)


@pytest.mark.parametrize(
    ("by", "units"), [(90, {}), (timedelta(seconds=90), {}), (30, {"minutes": 1})]
)
async def test_advance_takes_seconds_a_timedelta_or_units(
    memory_app: Duetime, clock: FakeClock, by: float | timedelta, units: dict[str, float]
) -> None:
    start = clock.now()
    await memory_app.testing.advance(by, **units)
    assert clock.now() == start + timedelta(seconds=90)


async def test_drain_runs_what_is_due_and_what_that_makes_due(app: Duetime) -> None:
    seen: list[str] = []

    @app.handler()
    async def note(payload: Note) -> None:
        seen.append(payload.text)
        if len(payload.text) < 4:
            await app.schedule(Note(payload.text + "x"))

    await app.schedule(Note("x"))
    await app.schedule(Note("later"), delay=1)
    assert await app.testing.drain() == 4
    assert seen == ["x", "xx", "xxx", "xxxx"]
    assert await app.testing.drain() == 0


async def test_a_handler_that_schedules_itself_forever_is_reported(memory_app: Duetime) -> None:
    @memory_app.handler()
    async def note(payload: Note) -> None:
        await memory_app.schedule_many([memory_app.request(Note()) for _ in range(2)])

    await memory_app.schedule(Note())
    with pytest.raises(AssertionError, match=r"more than 10000 runs.*'note' schedule itself"):
        await memory_app.testing.drain()


async def test_drain_works_with_the_real_clock_and_records_real_times(url: str) -> None:
    async with Duetime(url) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        before = datetime.now(UTC) - timedelta(seconds=60)
        action = await app.schedule(Note())
        assert await app.testing.drain() == 1
        (run,) = await app.runs(action.id)
        assert run.started_at is not None
        assert before < run.started_at < before + timedelta(seconds=120)
        assert run.late_by is not None
        assert run.late_by >= timedelta(0)


async def test_advance_without_a_fake_clock_says_how_to_have_one() -> None:
    async with Duetime("memory://") as app:
        with pytest.raises(ConfigError, match=r"clock=FakeClock\(\)"):
            await app.testing.advance(5)


# -- assertions ----------------------------------------------------------------------


async def test_scheduled_lists_unfinished_actions_of_every_tenant_soonest_first(
    app: Duetime,
) -> None:
    await app.schedule(Note("b"), delay=20, tenant="acme")
    await app.schedule(Note("a"), delay=10)
    await app.schedule(Other(1), delay=15)
    await app.cancel((await app.schedule(Note("gone"), delay=5)).id)
    assert [a.payload for a in await app.testing.scheduled()] == [Note("a"), Other(1), Note("b")]
    assert [a.payload for a in await app.testing.scheduled(Note)] == [Note("a"), Note("b")]


async def test_assert_scheduled_finds_by_payload_type_time_and_count(
    app: Duetime, clock: FakeClock
) -> None:
    testing, at = app.testing, clock.now() + timedelta(hours=1)
    first = await app.schedule(Note("a"), at=at)
    await app.schedule(Note("b"), at=at)
    assert [a.id for a in await testing.assert_scheduled(Note("a"))] == [first.id]
    assert len(await testing.assert_scheduled(Note, at=at, count=2)) == 2
    await testing.assert_scheduled(Note("b"), at=at, count=1)
    await testing.assert_not_scheduled(Note("c"))
    await testing.assert_not_scheduled(Other)


async def test_a_failed_assertion_lists_what_is_scheduled(app: Duetime, clock: FakeClock) -> None:
    testing, at = app.testing, clock.now() + timedelta(hours=1)
    with pytest.raises(AssertionError, match=r"expected some scheduled .*; scheduled are: nothing"):
        await testing.assert_scheduled(Note)
    await app.schedule(Note("a"), at=at)
    with pytest.raises(AssertionError, match=r"found 0; scheduled are: Note\(text='a'\) at 2030"):
        await testing.assert_scheduled(Note("b"))
    with pytest.raises(AssertionError, match=r"expected some .* at 2030-01-01 00:00:00.*found 0"):
        await testing.assert_scheduled(Note("a"), at=clock.now())
    with pytest.raises(AssertionError, match=r"expected 2 .*found 1"):
        await testing.assert_scheduled(Note, count=2)
    with pytest.raises(AssertionError, match=r"expected 0 .*found 1"):
        await testing.assert_not_scheduled(Note)
    with pytest.raises(NaiveDatetime):
        await testing.assert_scheduled(Note, at=datetime(2030, 1, 1))  # noqa: DTZ001


# -- the clock -----------------------------------------------------------------------


def test_a_fake_clock_stands_still_and_goes_where_it_is_set() -> None:
    clock = FakeClock(datetime(2040, 1, 1, tzinfo=UTC))
    assert clock.now() == clock.now() == datetime(2040, 1, 1, tzinfo=UTC)
    clock.set(datetime(2039, 1, 1, tzinfo=UTC))
    clock.advance(1.5, hours=1)
    assert clock.now() == datetime(2039, 1, 1, 1, 0, 1, 500_000, tzinfo=UTC)
    with pytest.raises(NaiveDatetime):
        clock.set(datetime(2030, 1, 1))  # noqa: DTZ001
    with pytest.raises(NaiveDatetime):
        FakeClock(datetime(2030, 1, 1))  # noqa: DTZ001


async def test_moving_the_clock_wakes_a_worker(url: str, clock: FakeClock) -> None:
    async with Duetime(url, clock=clock) as app:

        @app.handler(kind="note")
        async def note(payload: Note, ctx: Context) -> str:
            return clock.now().isoformat()

        async with app.worker():
            action = await app.schedule(Note(), delay=timedelta(days=400))
            clock.advance(days=400)
            done = await app.wait(action.id, timeout=20)
    assert done.result == clock.now().isoformat()
    assert done.due_at == clock.now()


class TestConventions:
    def test_good_names_pass(self, memory_app: Duetime) -> None:
        memory_app.job("0 2 * * *", name="billing-nightly-close")(nothing)
        check_conventions(memory_app)

    def test_all_wrong_names_are_listed(self, memory_app: Duetime) -> None:
        @dataclass(frozen=True)
        class Wrong:
            n: int = 1

        @memory_app.handler(kind="Send_Mail")
        def mail(wrong: Wrong) -> None: ...

        with pytest.raises(AssertionError, match=r"'Send_Mail'.*send-reminder"):
            check_conventions(memory_app)


def nothing() -> None: ...
