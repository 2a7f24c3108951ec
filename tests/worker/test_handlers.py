"""Handlers: plain functions, sync or async, and the ways in which their runs finish."""

import asyncio
import contextvars
import itertools
import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from api.apps import Note, case_id
from duetime import Cancel, Context, Duetime, Fail, Retry, Snooze, State
from duetime.model.ids import TimeOrderedIds
from duetime.testing import FakeClock


class Model(BaseModel):
    text: str
    number: int = 0


@dataclass
class Nested:
    notes: list[Note]
    model: Model


@pytest.mark.parametrize(
    "payload",
    [Note("a"), Model(text="a", number=7), Nested([Note("x")], Model(text="y"))],
    ids=lambda p: type(p).__name__,
)
@pytest.mark.parametrize("style", ["sync", "async"])
async def test_handlers_of_both_styles_get_payloads_of_both_sorts(
    url: str, clock: FakeClock, payload: Any, style: str
) -> None:
    got: list[object] = []

    async def run(payload: Any) -> str:
        got.append(payload)
        return style

    def run_sync(payload: Any) -> str:
        got.append(payload)
        return style

    async with Duetime(url, clock=clock) as app:
        function = run if style == "async" else run_sync
        function.__annotations__["payload"] = type(payload)
        assert app.handler(kind="x")(function) is function
        action = await app.schedule(payload)
        await app.testing.drain()
        done = await app.get(action.id)
    assert got == [payload]
    assert (done.state, done.result) == (State.succeeded, style)


async def test_a_handler_stays_a_function_that_a_test_can_call(memory_app: Duetime) -> None:
    @memory_app.handler()
    async def note(payload: Note, ctx: Context, factor: int = 2) -> str:
        await ctx.progress(1)
        return payload.text * factor

    context = Context(action_id=TimeOrderedIds()())
    assert await note(Note("ab"), context, factor=3) == "ababab"
    assert (context.attempt, context.by, context.cancelled) == (1, "system", False)


async def test_the_context_describes_the_run(app: Duetime, clock: FakeClock) -> None:
    seen: list[Context] = []

    @app.handler(timeout=30)
    async def note(payload: Note, ctx: Context) -> None:
        seen.append(ctx)

    due = clock.now() + timedelta(seconds=5)
    action = await app.schedule(Note(), at=due, correlation_id="c", tenant="acme", by="ann")
    await app.testing.advance(5)
    (ctx,) = seen
    assert (ctx.action_id, ctx.attempt, ctx.due_at) == (action.id, 1, due)
    assert (ctx.tenant, ctx.by, ctx.correlation_id) == ("acme", "ann", "c")
    assert ctx.deadline == due + timedelta(seconds=30)
    assert (ctx.job, ctx.tick, ctx.triggered_by, ctx.cancelled) == (None, None, None, False)


async def test_the_idempotency_key_is_the_same_for_every_attempt_and_no_other_action(
    app: Duetime,
) -> None:
    keys: dict[str, list[str]] = {}

    @app.handler(retry=Retry(delays=[1, 1]))
    async def note(payload: Note, ctx: Context) -> None:
        keys.setdefault(payload.text, []).append(ctx.idempotency_key)
        raise ValueError

    first = await app.schedule(Note("one"), key="same")
    await app.testing.advance(60)
    await app.retry(first.id)
    await app.testing.advance(60)
    await app.schedule(Note("two"), key="same")
    await app.testing.advance(60)
    assert len(keys["one"]) == 6
    assert set(keys["one"]) == {str(first.id)}
    assert len(set(keys["two"])) == 1
    assert set(keys["two"]) != set(keys["one"])


async def test_progress_is_readable_while_the_handler_runs(app: Duetime) -> None:
    seen: list[object] = []

    @app.handler(retry=Retry(delays=[5]))
    async def note(payload: Note, ctx: Context) -> None:
        seen.append((await app.get(ctx.action_id)).progress)
        await ctx.progress({"done": 3, "of": 7})
        seen.append((await app.get(ctx.action_id)).progress)
        raise ValueError

    action = await app.schedule(Note())
    await app.testing.drain()
    # A new attempt starts without progress.
    assert (await app.get(action.id)).progress is None
    await app.testing.advance(5)
    assert seen == [None, {"done": 3, "of": 7}] * 2


async def test_progress_larger_than_max_payload_is_refused(app: Duetime) -> None:
    @app.handler(retry=Retry.none())
    async def note(payload: Note, ctx: Context) -> None:
        await ctx.progress("fits")
        await ctx.progress(itertools.count() if payload.text == "endless" else ["x" * 999_999])

    endless, large = await app.schedule(Note("endless")), await app.schedule(Note("large"))
    await app.testing.drain()
    for action in (endless, large):
        done = await app.get(action.id)
        assert done.state is State.failed
        assert "1,000,000 are allowed" in str(done.error)
        assert done.progress == "fits"


async def test_an_endless_result_fails_its_action_and_the_others_go_on(app: Duetime) -> None:
    @app.handler(retry=Retry(attempts=5))
    async def note(payload: Note) -> object:
        return {"all": [itertools.count()]} if payload.text == "endless" else payload.text

    endless, other = await app.schedule(Note("endless")), await app.schedule(Note("other"))
    await app.testing.drain()
    done = await app.get(endless.id)
    assert (done.state, done.attempt) == (State.failed, 1)
    assert "more than 1,000,000 bytes of JSON" in str(done.error)
    assert (await app.get(other.id)).result == "other"


async def test_a_sync_handler_stores_its_progress_too(app: Duetime) -> None:
    @app.handler()
    def note(payload: Note, ctx: Context) -> object:
        ctx.sync_progress({"done": 3, "of": 7})
        return app.sync.get(ctx.action_id).progress

    action = await app.schedule(Note())
    await app.testing.drain()
    assert (await app.get(action.id)).result == {"done": 3, "of": 7}


async def test_progress_that_is_not_json_fails_the_attempt(app: Duetime) -> None:
    @app.handler(retry=Retry.none())
    async def note(payload: Note, ctx: Context) -> None:
        await ctx.progress(object())

    action = await app.schedule(Note())
    await app.testing.drain()
    failed = await app.get(action.id)
    assert failed.state is State.failed
    assert "progress=<object object" in str(failed.error)
    assert "not JSON" in str(failed.error)


# -- how a run finishes ---------------------------------------------------------------


@pytest.mark.parametrize("how", ["returned", "raised"])
@pytest.mark.parametrize("style", ["sync", "async"])
async def test_snooze_cancel_and_fail_end_a_run_returned_or_raised(
    app: Duetime, clock: FakeClock, how: str, style: str
) -> None:
    snoozed: list[object] = []

    def end(payload: Note) -> object:
        value: Exception
        match payload.text:
            case "cancel":
                value = Cancel("not wanted")
            case "fail":
                value = Fail("hopeless")
            case _ if snoozed:
                return "awake"
            case _:
                snoozed.append(payload)
                value = Snooze(timedelta(minutes=2))
        if how == "raised":
            raise value
        return value

    async def end_async(payload: Note) -> object:
        return end(payload)

    app.handler(retry=Retry(attempts=9))(end if style == "sync" else end_async)
    made = {text: await app.schedule(Note(text)) for text in ("cancel", "fail", "snooze")}
    start = clock.now()
    assert await app.testing.drain() == 3
    cancelled, failed, asleep = [await app.get(a.id) for a in made.values()]
    assert (cancelled.state, cancelled.error) == (State.cancelled, "not wanted")
    assert cancelled.cancelled_by == "system"
    assert (failed.state, failed.error, failed.attempt) == (State.failed, "hopeless", 1)
    assert (asleep.state, asleep.attempt) == (State.scheduled, 0)
    assert asleep.due_at == start + timedelta(minutes=2)
    await app.testing.advance(120)
    done = await app.get(made["snooze"].id)
    assert (done.state, done.result, done.attempt) == (State.succeeded, "awake", 1)
    outcomes = [r.outcome for r in await app.runs(done.id)]
    assert outcomes == ["snoozed", "succeeded"]


class Odd(BaseException):
    """Not even an Exception."""


@pytest.mark.parametrize("style", ["sync", "async"])
@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        asyncio.CancelledError("own"),
        StopIteration("x"),
        StopAsyncIteration(),
        Odd("odd"),
        BaseExceptionGroup("many", [Odd()]),
        TimeoutError("its own"),
        RecursionError(),
        GeneratorExit(),
    ],
    ids=lambda e: type(e).__name__,
)
async def test_whatever_a_handler_raises_is_a_failed_attempt(
    app: Duetime, style: str, error: BaseException
) -> None:
    def fail(payload: Note) -> None:
        raise error

    async def fail_async(payload: Note) -> None:
        raise error

    app.handler(retry=Retry(delays=[10]))(fail if style == "sync" else fail_async)
    action = await app.schedule(Note())
    assert await app.testing.drain() == 1
    waiting = await app.get(action.id)
    assert (waiting.state, waiting.attempt) == (State.scheduled, 1)
    await app.testing.advance(10)
    failed = await app.get(action.id)
    assert (failed.state, failed.attempt) == (State.failed, 2)
    # A generator or coroutine that raises StopIteration is a RuntimeError to Python.
    assert type(error).__name__ in str(failed.error) or "RuntimeError" in str(failed.error)


async def test_error_text_is_cut_to_500_and_cleaned(app: Duetime) -> None:
    @app.handler(retry=Retry.none())
    async def note(payload: Note) -> None:
        raise ValueError("nul \x00 lone \ud800 " + "x" * 600)

    action = await app.schedule(Note())
    await app.testing.drain()
    error = str((await app.get(action.id)).error)
    assert error.startswith("ValueError: nul \ufffd lone ? xxx")
    assert error.endswith("x [truncated]")
    assert len(error) == 500 + len(" [truncated]")
    assert (await app.runs(action.id))[0].error == error


@pytest.mark.parametrize("bad", [object(), float("nan"), "\ud800", {1: object()}], ids=case_id)
async def test_a_result_that_is_not_json_fails_without_a_second_try(
    app: Duetime, bad: object
) -> None:
    @app.handler(retry=Retry(attempts=5))
    async def note(payload: Note) -> object:
        return bad if payload.text == "bad" else "fine"

    action = await app.schedule(Note("bad"))
    neighbour = await app.schedule(Note("good"))
    await app.testing.drain()
    failed = await app.get(action.id)
    assert (failed.state, failed.attempt, failed.result) == (State.failed, 1, None)
    assert "result is not JSON" in str(failed.error)
    assert (await app.get(neighbour.id)).result == "fine"


async def test_a_result_that_raises_when_it_is_read_fails_alone(memory_app: Duetime) -> None:
    @memory_app.handler()
    async def note(payload: Note) -> object:
        return (1 // int(text) for text in [payload.text])

    wrong = await memory_app.schedule(Note("0"))
    right = await memory_app.schedule(Note("1"))
    async with memory_app.worker(concurrency=1), asyncio.timeout(20):
        failed, done = [await memory_app.wait(action.id) for action in (wrong, right)]
    assert failed.state is State.failed
    assert "ZeroDivisionError" in str(failed.error)
    assert (done.state, done.result) == (State.succeeded, [1])


async def test_a_huge_result_fails_and_says_so(url: str, clock: FakeClock) -> None:
    async with Duetime(url, clock=clock, max_payload=1000) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> str:
            return "x" * 2000

        action = await app.schedule(Note())
        await app.testing.drain()
        failed = await app.get(action.id)
        assert failed.state is State.failed
        assert "2,002 bytes" in str(failed.error)


# -- isolation of runs ----------------------------------------------------------------

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


@pytest.mark.parametrize("style", ["sync", "async"])
async def test_context_variables_of_one_run_are_not_seen_by_the_next(
    real_app: Duetime, style: str
) -> None:
    seen: list[str] = []

    def see(payload: Note) -> None:
        seen.append(variable.get())
        variable.set(payload.text)

    async def see_async(payload: Note) -> None:
        see(payload)

    real_app.handler(kind="note")(see if style == "sync" else see_async)
    async with real_app.worker(concurrency=1):
        for n in range(5):
            action = await real_app.schedule(Note(str(n)))
            await real_app.wait(action.id, timeout=20)
    assert seen == ["unset"] * 5


async def test_sync_handlers_never_delay_each_other(real_app: Duetime) -> None:
    """Each waits until all are running: if one were queued behind another, none would finish."""
    meeting = threading.Barrier(20)

    @real_app.handler(kind="note", retry=Retry.none())
    def note(payload: Note) -> int:
        return meeting.wait(timeout=20)

    async with real_app.worker():
        actions = [await real_app.schedule(Note()) for _ in range(20)]
        done = [await real_app.wait(a.id, timeout=30) for a in actions]
    assert {a.state for a in done} == {State.succeeded}
    assert sorted(int(str(a.result)) for a in done) == list(range(20))


async def test_a_sync_handler_does_not_block_an_async_one(real_app: Duetime) -> None:
    release = threading.Event()

    @dataclass
    class Blocking:
        pass

    @real_app.handler(kind="blocking")
    def blocking(payload: Blocking) -> bool:
        return release.wait(timeout=20)

    @real_app.handler(kind="note")
    async def note(payload: Note) -> None:
        release.set()

    async with real_app.worker():
        blocked = await real_app.schedule(Blocking())
        await real_app.schedule(Note())
        assert (await real_app.wait(blocked.id, timeout=30)).result is True


async def test_each_sync_handler_has_its_thread_to_itself(real_app: Duetime) -> None:
    together = threading.Barrier(2)
    threads: set[int] = set()

    @real_app.handler(kind="note")
    def note(payload: Note) -> None:
        together.wait(timeout=20)
        threads.add(threading.get_ident())
        together.wait(timeout=20)

    async with real_app.worker():
        for action in [await real_app.schedule(Note()) for _ in range(2)]:
            await real_app.wait(action.id, timeout=30)
    assert len(threads) == 2
    assert threading.get_ident() not in threads
