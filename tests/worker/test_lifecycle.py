"""A worker from its start to its end, on real stores in real time."""

import asyncio
import threading
import time
from datetime import timedelta

import pytest

from api.apps import Note, Other, with_payloads
from duetime import Context, Duetime, Outcome, Retry, State
from duetime.testing import FakeClock
from duetime.worker.worker import Worker
from polling import until


async def test_a_worker_runs_what_is_due_and_what_becomes_due(real_app: Duetime) -> None:
    @real_app.handler(kind="note")
    async def note(payload: Note, ctx: Context) -> str:
        return payload.text

    before = await real_app.schedule(Note("before"))
    async with real_app.worker() as worker:
        now = await real_app.schedule(Note("now"))
        soon = await real_app.schedule(Note("soon"), delay=0.3)
        later = await real_app.schedule(Note("later"), delay=3600)
        done = [await real_app.wait(a.id, timeout=20) for a in (before, now, soon)]
        await real_app.reschedule(later.id, delay=0)
        done.append(await real_app.wait(later.id, timeout=20))
    assert [a.result for a in done] == ["before", "now", "soon", "later"]
    for action in done:
        (run,) = await real_app.runs(action.id)
        assert run.worker == worker.id == action.worker
        assert run.late_by is not None
        assert run.late_by >= timedelta(0)
        assert run.started_at is not None
        assert action.due_at is not None
        assert run.started_at >= action.due_at


async def test_two_workers_run_each_action_once(real_app: Duetime) -> None:
    ran: list[str] = []

    @real_app.handler(kind="note")
    async def note(payload: Note) -> None:
        ran.append(payload.text)
        await asyncio.sleep(0)

    async with real_app.worker(concurrency=3), real_app.worker(concurrency=3):
        actions = await real_app.schedule_many([real_app.request(Note(str(n))) for n in range(100)])
        for action in actions:
            assert (await real_app.wait(action.id, timeout=30)).attempt == 1
    assert sorted(ran, key=int) == [str(n) for n in range(100)]


async def test_stopping_waits_for_running_handlers_and_records_them(real_app: Duetime) -> None:
    started, released = asyncio.Event(), asyncio.Event()

    @real_app.handler(kind="note")
    async def note(payload: Note, ctx: Context) -> bool:
        started.set()
        await released.wait()
        return ctx.cancelled

    async def stop() -> None:
        async with real_app.worker():
            await asyncio.wait_for(started.wait(), 20)

    action = await real_app.schedule(Note())
    stopping = asyncio.create_task(stop())
    await asyncio.wait_for(started.wait(), 20)
    # The worker is stopping now, or will be: the handler continues until it is released.
    for _ in range(50):
        await asyncio.sleep(0)
    assert not stopping.done()
    released.set()
    await asyncio.wait_for(stopping, 20)
    done = await real_app.get(action.id)
    assert (done.state, done.attempt) == (State.succeeded, 1)


async def test_stopping_asks_running_handlers_to_stop(real_app: Duetime) -> None:
    started = asyncio.Event()

    @real_app.handler(kind="note")
    async def note(payload: Note, ctx: Context) -> str:
        started.set()
        moment = asyncio.Event()
        while not ctx.cancelled:
            try:
                async with asyncio.timeout(0.01):
                    await moment.wait()
            except TimeoutError:
                continue
        return "saw it"

    action = await real_app.schedule(Note())
    async with real_app.worker():
        await asyncio.wait_for(started.wait(), 20)
    assert (await real_app.get(action.id)).result == "saw it"


async def test_what_was_claimed_but_not_started_is_released_without_an_attempt(url: str) -> None:
    async with with_payloads(Duetime(url, preclaim=60)) as app:
        early = await app.schedule(Note("early"), delay=40)
        async with app.worker(), asyncio.timeout(20):
            while (await app.get(early.id)).state is not State.running:  # noqa: ASYNC110
                await asyncio.sleep(0)
        waiting = await app.get(early.id)
        assert (waiting.state, waiting.attempt, waiting.losses) == (State.scheduled, 0, 0)
        assert (waiting.worker, waiting.lease_expires_at) == (None, None)
        assert [run.outcome for run in await app.runs(early.id)] == [Outcome.released]


async def test_after_the_grace_time_an_async_handler_is_interrupted_and_released(
    url: str,
) -> None:
    started, cleaned = asyncio.Event(), asyncio.Event()

    async with Duetime(url, grace=0.05) as app:

        @app.handler(kind="note", retry=Retry.none())
        async def note(payload: Note) -> str:
            if started.is_set():
                return "second time"
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.set()
            return "never"

        action = await app.schedule(Note())
        async with app.worker():
            await asyncio.wait_for(started.wait(), 20)
        assert cleaned.is_set()
        released = await app.get(action.id)
        assert (released.state, released.attempt, released.losses) == (State.scheduled, 0, 0)
        assert "worker stopped" in str(released.error)
        assert [r.outcome for r in await app.runs(action.id)] == ["released"]
        async with app.worker():
            done = await app.wait(action.id, timeout=20)
        assert (done.result, done.attempt, done.error) == ("second time", 1, None)


async def test_a_sync_handler_that_outlives_the_grace_keeps_a_short_lease(url: str) -> None:
    started, release, finished = threading.Event(), threading.Event(), threading.Event()

    async with Duetime(url, grace=0.05, lease=60) as app:

        @app.handler(kind="note")
        def note(payload: Note) -> None:
            started.set()
            release.wait(60)
            finished.set()

        action = await app.schedule(Note())
        async with app.worker():
            await asyncio.to_thread(started.wait, 20)
        left = await app.get(action.id)
        assert (left.state, left.attempt) == (State.running, 1)
        assert left.lease_expires_at is not None
        assert left.lease_expires_at - left.created_at < timedelta(seconds=30)
        # No worker runs it a second time while the first run may still be active.
        assert not finished.is_set()
        release.set()
        await asyncio.to_thread(finished.wait, 20)


async def test_an_action_due_soon_is_started_at_its_time_and_not_before(
    real_app: Duetime,
) -> None:
    """All stores of these tests take the time from this machine."""

    @real_app.handler(kind="note")
    async def note(payload: Note) -> float:
        return time.time()

    async with real_app.worker():
        actions = [await real_app.schedule(Note(), delay=0.05 * n) for n in range(10)]
        for action in actions:
            finished = await real_app.wait(action.id, timeout=20)
            (run,) = await real_app.runs(action.id)
            assert action.due_at is not None
            assert isinstance(finished.result, float)
            assert finished.result >= action.due_at.timestamp()
            assert run.late_by is not None
            assert run.late_by >= timedelta(0)


# -- queues --------------------------------------------------------------------------


async def test_a_queue_with_slots_of_its_own_is_not_delayed_by_the_others(
    real_app: Duetime,
) -> None:
    release = asyncio.Event()

    @real_app.handler(kind="note")
    async def note(payload: Note) -> None:
        await release.wait()

    @real_app.handler(kind="other", queue="mail")
    async def other(payload: Other) -> int:
        return payload.number

    async with real_app.worker(concurrency=1, queues={"mail": 1}):
        blocked = [await real_app.schedule(Note()) for _ in range(3)]
        mail = [await real_app.schedule(Other(n)) for n in range(3)]
        assert [(await real_app.wait(a.id, timeout=20)).result for a in mail] == [0, 1, 2]
        assert {(await real_app.get(a.id)).finished_at for a in blocked} == {None}
        release.set()
        for action in blocked:
            await real_app.wait(action.id, timeout=20)


async def test_slots_limit_how_much_runs_at_once(real_app: Duetime) -> None:
    running, most = 0, 0

    @real_app.handler(kind="note", queue="mail")
    async def note(payload: Note) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(20):
            await asyncio.sleep(0)
        running -= 1

    async with real_app.worker(concurrency=50, queues={"mail": 3}):
        actions = await real_app.schedule_many([real_app.request(Note()) for _ in range(30)])
        for action in actions:
            await real_app.wait(action.id, timeout=30)
    assert most == 3


async def test_a_worker_of_named_queues_serves_only_those(real_app: Duetime) -> None:
    @real_app.handler(kind="note")
    async def note(payload: Note) -> None: ...

    async with real_app.worker(queues=["mail", "sms"]):
        others = [await real_app.schedule(Note(), queue=q) for q in ("default", "mailx")]
        served = [await real_app.schedule(Note(), queue=q) for q in ("mail", "sms")]
        for action in served:
            await real_app.wait(action.id, timeout=20)
        assert {(await real_app.get(a.id)).state for a in others} == {State.scheduled}
    async with real_app.worker():
        for action in others:
            await real_app.wait(action.id, timeout=20)


async def test_what_is_critical_comes_first_and_everything_comes(real_app: Duetime) -> None:
    order: list[str] = []

    @real_app.handler(kind="note")
    async def note(payload: Note) -> None:
        order.append(payload.text)

    requests = [
        real_app.request(Note(priority), priority=priority)
        for priority in ("low", "critical")
        for _ in range(60)
    ]
    actions = await real_app.schedule_many(requests)
    async with real_app.worker(concurrency=1):
        for action in actions:
            await real_app.wait(action.id, timeout=60)
    assert order.count("low") == order.count("critical") == 60
    assert order[0] == "critical"


async def test_a_stop_that_is_interrupted_renews_nothing_any_more(real_app: Duetime) -> None:
    started = asyncio.Event()

    @real_app.handler(kind="note")
    async def note(payload: Note) -> None:
        started.set()
        await asyncio.Event().wait()

    await real_app.schedule(Note())
    before = set(threading.enumerate())
    worker = real_app.worker()
    await worker.__aenter__()
    await asyncio.wait_for(started.wait(), 20)
    await interrupted_stop(worker)
    beats = [t for t in threading.enumerate() if t not in before and "heartbeat" in t.name]
    for beat in beats:
        await asyncio.to_thread(beat.join, 20)
        assert not beat.is_alive()


async def test_a_stop_that_is_interrupted_starts_nothing_of_what_is_early(
    app: Duetime, clock: FakeClock
) -> None:
    """The leases of pre-claims are not renewed any more."""
    ran: list[Note] = []

    @app.handler(kind="note")
    async def note(payload: Note) -> None:
        ran.append(payload)

    async def claimed() -> bool:
        return (await app.get(action.id)).state is State.running

    action = await app.schedule(Note(), delay=0.3)
    worker = app.worker()
    await worker.__aenter__()
    await until(claimed)
    await interrupted_stop(worker)
    clock.advance(1)
    for _ in range(5):
        assert (await app.get(action.id)).state is State.running
    assert not ran


async def test_a_stop_that_is_interrupted_starts_nothing_that_waits_for_a_slot(
    real_app: Duetime,
) -> None:
    ran: list[Note] = []
    waiting, going_on = asyncio.Event(), asyncio.Event()

    @real_app.handler(kind="note")
    async def note(payload: Note) -> None:
        ran.append(payload)
        if len(ran) == 200:
            waiting.set()
            await going_on.wait()

    made = await real_app.schedule_many(real_app.request(Note(str(n))) for n in range(600))
    worker = real_app.worker(concurrency=1)
    await worker.__aenter__()
    await asyncio.wait_for(waiting.wait(), 20)
    await interrupted_stop(worker)
    going_on.set()
    for _ in range(5):
        await real_app.get(made[0].id)
    assert len(ran) == 200


async def interrupted_stop(worker: Worker) -> None:
    stopping = asyncio.create_task(worker.__aexit__(None, None, None))
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.wait([stopping])


@pytest.mark.parametrize("fails", [RuntimeError("body"), KeyboardInterrupt()])
async def test_an_error_in_the_body_stops_the_worker_in_order(
    memory_app: Duetime, fails: BaseException
) -> None:
    with pytest.raises(type(fails)):
        async with memory_app.worker():
            raise fails
    assert not [t for t in threading.enumerate() if t.name == "duetime-heartbeat" and t.is_alive()]
