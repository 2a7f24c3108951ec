"""Timeouts and requests to stop: what a handler sees, and the outcome of its run."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from api.apps import Note
from duetime import ANY, Cancel, Context, Depends, Duetime, Retry, State
from duetime.errors import IllegalState
from polling import until


@dataclass(frozen=True)
class Other:
    """The payload of a handler with another timeout."""


@dataclass(frozen=True)
class Third:
    """The payload of a handler with a third timeout."""


@pytest.fixture
async def quick_app(url: str) -> AsyncIterator[Duetime]:
    """An app with a heartbeat every third of a second."""
    async with Duetime(url, lease=1, grace=5) as app:
        yield app


async def until_stopped(ctx: Context) -> None:
    """Poll `ctx.cancelled`, as a handler would."""
    moment = asyncio.Event()
    while not ctx.cancelled:
        try:
            async with asyncio.timeout(0.01):
                await moment.wait()
        except TimeoutError:
            continue


async def test_an_async_handler_over_its_time_is_interrupted_and_tried_again(
    app: Duetime,
) -> None:
    seen: list[object] = []

    @app.handler(timeout=0.05, retry=Retry(delays=[30]))
    async def note(payload: Note, ctx: Context) -> str:
        seen.append(ctx.attempt)
        if ctx.attempt == 2:
            return "in time"
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append(ctx.cancelled)
            raise
        return "never"

    action = await app.schedule(Note())
    assert await app.testing.drain() == 1
    waiting = await app.get(action.id)
    assert (waiting.state, waiting.error) == (
        State.scheduled,
        "TimeoutError: timed out after 0.05 s",
    )
    await app.testing.advance(30)
    assert (await app.get(action.id)).result == "in time"
    assert seen == [1, True, 2]
    assert [r.outcome for r in await app.runs(action.id)] == ["retried", "succeeded"]


async def test_each_handler_has_a_time_of_its_own(app: Duetime) -> None:
    """Whichever started first, and however long the others may take."""
    interrupted: list[str] = []

    async def wait(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            interrupted.append(name)

    @app.handler(timeout=0.3, retry=Retry.none())
    async def long(payload: Note) -> None:
        await wait(f"long {payload.text}")

    @app.handler(kind="short", timeout=0.1, retry=Retry.none())
    async def short(payload: Other) -> None:
        await wait("short")

    @app.handler(kind="hour", timeout=3600)
    async def in_time(payload: Third) -> str:
        await until(lambda: len(interrupted) == 3)
        return "in time"

    payloads: list[Any] = [Third(), Note("1"), Note("2"), Other()]
    async with app.worker(), asyncio.timeout(20):
        made = await app.schedule_many([app.request(payload) for payload in payloads])
        first, *others = [await app.wait(action.id) for action in made]
    assert (first.result, sorted(interrupted[1:]), interrupted[0]) == (
        "in time",
        ["long 1", "long 2"],
        "short",
    )
    assert [action.error for action in others] == [
        "TimeoutError: timed out after 0.3 s",
        "TimeoutError: timed out after 0.3 s",
        "TimeoutError: timed out after 0.1 s",
    ]


async def test_a_handler_that_cannot_be_interrupted_leaves_other_timeouts_alone(
    app: Duetime,
) -> None:
    class Stubborn(asyncio.Future[None]):
        def cancel(self, msg: Any = None) -> bool:
            raise RuntimeError("not now")

    errors: list[dict[str, Any]] = []
    release: list[Stubborn] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(context))

    @app.handler(timeout=0.1, retry=Retry.none())
    async def note(payload: Note) -> None:
        await asyncio.Event().wait()

    @app.handler(kind="stubborn", timeout=0.1, retry=Retry.none())
    async def stubborn(payload: Other) -> str:
        release.append(Stubborn(loop=loop))
        await release[0]
        return "at last"

    async with app.worker(), asyncio.timeout(20):
        made = await app.schedule_many(
            [app.request(payload) for payload in (Other(), Note(), Note("2"))]
        )
        late = [await app.wait(action.id) for action in made[1:]]
        release[0].set_result(None)
        assert (await app.wait(made[0].id)).result == "at last"
    assert [action.error for action in late] == ["TimeoutError: timed out after 0.1 s"] * 2
    assert [str(error["exception"]) for error in errors] == ["not now"]


async def test_a_handler_that_finishes_despite_its_interruption_keeps_its_result(
    app: Duetime,
) -> None:
    @app.handler(timeout=0.05)
    async def stubborn(payload: Note) -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "after all"

    action = await app.schedule(Note())
    await app.testing.drain()
    assert (await app.get(action.id)).result == "after all"


async def test_a_timeout_error_of_the_handler_itself_is_a_plain_failure(app: Duetime) -> None:
    @app.handler(timeout=60, retry=Retry.none())
    async def note(payload: Note) -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    action = await app.schedule(Note())
    await app.testing.drain()
    failed = await app.get(action.id)
    assert failed.state is State.failed
    assert "timed out after" not in str(failed.error)
    assert "TimeoutError" in str(failed.error)


async def test_the_time_includes_making_the_dependencies(memory_app: Duetime) -> None:
    async def slow() -> int:
        await asyncio.Event().wait()
        return 1

    @memory_app.handler(timeout=0.02, retry=Retry.none())
    async def note(payload: Note, n: Annotated[int, Depends(slow)]) -> None: ...

    action = await memory_app.schedule(Note())
    await memory_app.testing.drain()
    assert "timed out" in str((await memory_app.get(action.id)).error)


async def test_a_sync_handler_over_its_time_is_asked_to_stop_and_its_outcome_stands(
    app: Duetime,
) -> None:
    @app.handler(timeout=0.02, retry=Retry.none())
    def note(payload: Note, ctx: Context) -> str:
        waiting = threading.Event()
        while not ctx.cancelled:
            waiting.wait(0.01)
        return "stopped in order"

    action = await app.schedule(Note())
    await app.testing.drain()
    done = await app.get(action.id)
    assert (done.state, done.result) == (State.succeeded, "stopped in order")


async def test_a_handler_within_its_time_is_not_asked_to_stop(memory_app: Duetime) -> None:
    seen: list[bool] = []

    @memory_app.handler(timeout=60)
    async def note(payload: Note, ctx: Context) -> None:
        seen.append(ctx.cancelled)

    await memory_app.schedule(Note())
    await memory_app.testing.drain()
    assert seen == [False]


async def test_cancelling_a_running_action_asks_its_handler_and_its_outcome_stands(
    quick_app: Duetime,
) -> None:
    started = asyncio.Event()

    @quick_app.handler(kind="note")
    async def note(payload: Note, ctx: Context) -> str:
        started.set()
        await until_stopped(ctx)
        return "stopped in order"

    async with quick_app.worker():
        action = await quick_app.schedule(Note())
        await asyncio.wait_for(started.wait(), 20)
        with pytest.raises(IllegalState, match="it is running"):
            await quick_app.cancel(action.id)
        running = await quick_app.cancel(action.id, running=True, by="ann")
        assert running.state is State.running
        done = await quick_app.wait(action.id, timeout=20)
    assert (done.state, done.result) == (State.succeeded, "stopped in order")
    (entry,) = (await quick_app.audit.find(subject=action.id, limit=5, tenant=ANY)).items
    assert (entry.verb, entry.by) == ("cancel", "ann")


async def test_a_handler_that_stops_on_request_is_cancelled_by_that_actor(
    quick_app: Duetime,
) -> None:
    started = asyncio.Event()

    @quick_app.handler(kind="note")
    async def note(payload: Note, ctx: Context) -> Cancel:
        started.set()
        await until_stopped(ctx)
        return Cancel("gave in")

    async with quick_app.worker():
        action = await quick_app.schedule(Note(), by="bob")
        await asyncio.wait_for(started.wait(), 20)
        await quick_app.cancel(action.id, running=True, by="ann")
        done = await quick_app.wait(action.id, timeout=20)
    assert (done.state, done.error, done.cancelled_by) == (State.cancelled, "gave in", "ann")


async def test_a_sync_handler_sees_the_request_to_stop_too(quick_app: Duetime) -> None:
    started = threading.Event()

    @quick_app.handler(kind="note")
    def note(payload: Note, ctx: Context) -> str:
        started.set()
        waiting = threading.Event()
        while not ctx.cancelled:
            waiting.wait(0.01)
        return "stopped in order"

    async with quick_app.worker():
        action = await quick_app.schedule(Note())
        await asyncio.to_thread(started.wait, 20)
        await quick_app.cancel(action.id, running=True)
        done = await quick_app.wait(action.id, timeout=20)
    assert (done.state, done.result) == (State.succeeded, "stopped in order")


async def test_only_the_action_that_was_named_is_asked_to_stop(quick_app: Duetime) -> None:
    started = asyncio.Barrier(3)
    seen: dict[str, bool] = {}
    end = asyncio.Event()

    @quick_app.handler(kind="note")
    async def note(payload: Note, ctx: Context) -> None:
        await started.wait()
        if payload.text == "named":
            await until_stopped(ctx)
            end.set()
        await end.wait()
        seen[payload.text] = ctx.cancelled

    async with quick_app.worker():
        named = await quick_app.schedule(Note("named"))
        other = await quick_app.schedule(Note("other"))
        await asyncio.wait_for(started.wait(), 20)
        await quick_app.cancel(named.id, running=True)
        await quick_app.wait(named.id, timeout=20)
        await quick_app.wait(other.id, timeout=20)
    assert seen == {"named": True, "other": False}
