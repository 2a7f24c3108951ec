"""Handlers that strike at their worker: it goes on, or stops in order and says who did it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from api.apps import Note
from duetime import Context, Duetime, Retry, State
from duetime.errors import WorkerInterrupted
from polling import until


@dataclass(frozen=True)
class Strike:
    """What one handler does to its worker."""

    how: str


def cancel_all() -> None:
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.cancel()


def cancel_everything() -> None:
    for task in asyncio.all_tasks():
        task.cancel()


def cancel_the_services() -> None:
    for task in asyncio.all_tasks():
        if "Service" in repr(task.get_coro()):
            task.cancel()


async def in_a_task(error: BaseException) -> None:
    async def fail() -> None:
        raise error

    task = asyncio.create_task(fail())
    # Otherwise asyncio complains, in whatever test comes next.
    task.add_done_callback(asyncio.Task.exception)
    await asyncio.Event().wait()


# What is due later than a test can last is claimed all the same.
PRECLAIM_SECONDS = 120
STRIKES: dict[str, Callable[[], Awaitable[None] | None]] = {
    "cancel all": cancel_all,
    "cancel everything": cancel_everything,
    "cancel the services": cancel_the_services,
    "stop the loop": lambda: asyncio.get_running_loop().stop(),
    "interrupt": lambda: raise_(KeyboardInterrupt()),
    "interrupt in a task": lambda: in_a_task(KeyboardInterrupt()),
    "exit in a task": lambda: in_a_task(SystemExit(3)),
}
# What ends the program: whoever runs it has to see it.
ENDS: dict[str, type[BaseException]] = {
    "cancel all": WorkerInterrupted,
    "cancel everything": WorkerInterrupted,
    "cancel the services": WorkerInterrupted,
    "stop the loop": RuntimeError,
    "interrupt": KeyboardInterrupt,
    "interrupt in a task": KeyboardInterrupt,
    "exit in a task": SystemExit,
}
NAMED = {"cancel all", "cancel everything", "interrupt"}
# The run that strikes returns or is cancelled; what it raised itself counts as a failed attempt.
AFTERWARDS = {"cancel all": State.succeeded, "interrupt": State.failed}


def raise_(error: BaseException) -> None:
    raise error


def make_app(url: str) -> Duetime:
    app = Duetime(url, lease=600, sweep=600, poll=600, grace=5, preclaim=PRECLAIM_SECONDS)

    @app.handler(kind="strike", retry=Retry.none())
    async def strike(payload: Strike) -> str:
        await app_is_busy(app)
        done = STRIKES[payload.how]()
        if done is not None:
            await done
        return "struck"

    @app.handler(kind="note", retry=Retry.none())
    async def wait(payload: Note) -> None:
        busy(app).set()
        await asyncio.Event().wait()

    return app


def busy(app: Duetime) -> asyncio.Event:
    """Set once another handler runs, which has to be handed back."""
    event = vars(app).setdefault("_busy", asyncio.Event())
    assert isinstance(event, asyncio.Event)
    return event


async def app_is_busy(app: Duetime) -> None:
    await busy(app).wait()


async def play(app: Duetime) -> None:
    async with app, app.worker():
        await asyncio.Event().wait()


@pytest.mark.parametrize("how", STRIKES)
def test_a_strike_stops_the_worker_in_order(
    how: str, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "duetime")
    app = make_app(url)
    other, strike = app.sync.schedule(Note()), app.sync.schedule(Strike(how))
    later = app.sync.schedule(Note("later"), delay=PRECLAIM_SECONDS / 2)
    with pytest.raises(ENDS[how]):
        asyncio.run(play(app))
    found = [app.sync.get(action.id) for action in (other, later)]
    # Handed back as by any stop: no attempt and no loss is counted, no lease is left.
    assert [(a.state, a.attempt, a.losses) for a in found] == [(State.scheduled, 0, 0)] * 2
    done = app.sync.get(strike.id)
    assert done.losses == 0
    assert done.state is AFTERWARDS.get(how, done.state)
    assert done.state is not State.running
    assert asyncio.run(unregistered(app))
    lines = [record.getMessage() for record in caplog.records]
    assert any("stops" in line and str(strike.id) in line for line in lines), lines
    assert any(line.endswith("stopped") for line in lines)
    named = [line for line in lines if "stops" in line and "while these ran" not in line]
    assert bool(named) == (how in NAMED)
    app.sync.close()


async def unregistered(app: Duetime) -> bool:
    """Whether the worker signed off, so that no other waits for it."""
    stats = await app.stats()
    await app.aclose()
    return not stats.workers


async def test_an_interrupt_in_a_sync_handler_stops_the_worker(app: Duetime) -> None:
    @app.handler(retry=Retry.none())
    def note(payload: Note) -> None:
        raise KeyboardInterrupt

    action = await app.schedule(Note())
    with pytest.raises(KeyboardInterrupt):
        async with app.worker():
            await asyncio.Event().wait()
    done = await app.get(action.id)
    assert (done.state, done.error) == (State.failed, "KeyboardInterrupt")


async def test_an_interrupt_during_the_stop_is_raised_after_it(app: Duetime) -> None:
    started = asyncio.Event()

    @app.handler(retry=Retry.none())
    async def note(payload: Note, ctx: Context) -> None:
        started.set()
        await until(lambda: ctx.cancelled)
        raise KeyboardInterrupt

    action = await app.schedule(Note())
    with pytest.raises(KeyboardInterrupt):
        async with app.worker():
            await started.wait()
    assert (await app.get(action.id)).state is State.failed


async def test_tasks_that_are_cancelled_during_the_stop_do_not_end_it(app: Duetime) -> None:
    started = asyncio.Event()

    @app.handler(retry=Retry.none())
    async def note(payload: Note, ctx: Context) -> str:
        started.set()
        await until(lambda: ctx.cancelled)
        cancel_all()
        return "done"

    action = await app.schedule(Note())
    with pytest.raises(WorkerInterrupted):
        async with app.worker():
            await started.wait()
    assert (await app.get(action.id)).result == "done"


async def test_drain_records_the_action_and_raises_the_interrupt(app: Duetime) -> None:
    @app.handler(retry=Retry.none())
    async def note(payload: Note) -> None:
        raise KeyboardInterrupt

    action = await app.schedule(Note())
    with pytest.raises(KeyboardInterrupt):
        await app.testing.drain()
    assert (await app.get(action.id)).state is State.failed


async def test_an_error_of_the_block_is_not_replaced(app: Duetime) -> None:
    @app.handler(retry=Retry.none())
    async def note(payload: Note) -> None:
        raise KeyboardInterrupt

    await app.schedule(Note())
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        async with app.worker():
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ZeroDivisionError from None


async def test_a_handler_that_cancels_itself_fails_and_the_worker_goes_on(app: Duetime) -> None:
    @app.handler(retry=Retry.none())
    async def note(payload: Note) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    first = await app.schedule(Note())
    async with app.worker():
        assert (await app.wait(first.id, timeout=10)).state is State.failed
        second = await app.schedule(Note())
        assert (await app.wait(second.id, timeout=10)).state is State.failed
