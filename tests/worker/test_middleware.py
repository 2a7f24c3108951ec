"""Middleware: coroutine functions around every handler's call."""

import asyncio
import contextvars
import threading
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from api.apps import Log, Note, Other, case_id
from duetime import (
    ActionFailed,
    CallNext,
    Cancel,
    Context,
    Depends,
    Duetime,
    Every,
    Fail,
    Retry,
    Snooze,
    State,
)
from duetime.errors import ConfigError
from duetime.model.actions.action import Action
from duetime.testing import FakeClock


async def finished(app: Duetime, payload: Any = None) -> Action:
    """Schedule a note, run it, and return what it came to."""
    action = await app.schedule(Note() if payload is None else payload)
    await app.testing.drain()
    return await app.get(action.id)


def declare_note(app: Duetime, log: Log, style: str, **options: Any) -> None:
    """Declare a handler of notes that logs its text and returns `done`."""

    async def awaited(payload: Note) -> str:
        log("handler")
        return "done"

    def plain(payload: Note) -> str:
        log("handler")
        return "done"

    app.handler(**options)(plain if style == "sync" else awaited)


@pytest.fixture(params=["async", "sync"])
def style(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class TestOrder:
    async def test_the_first_declared_is_the_outermost(self, app: Duetime, style: str) -> None:
        log = Log()

        @app.middleware
        async def outer(ctx: Context, call_next: CallNext) -> object:
            log("outer in")
            result = await call_next()
            log("outer out")
            return result

        declare_note(app, log, style)

        @app.middleware
        async def inner(ctx: Context, call_next: CallNext) -> object:
            log("inner in")
            result = await call_next()
            log("inner out")
            return result

        done = await finished(app)
        assert (done.state, done.result) == (State.succeeded, "done")
        assert log.lines == ["outer in", "inner in", "handler", "inner out", "outer out"]

    async def test_a_class_with_an_async_call_is_middleware_too(self, memory_app: Duetime) -> None:
        class Counter:
            runs = 0

            async def __call__(self, ctx: Context, call_next: CallNext) -> object:
                self.runs += 1
                return await call_next()

        counter = memory_app.middleware(Counter())
        declare_note(memory_app, Log(), "async")
        await finished(memory_app)
        assert counter.runs == 1


class TestWhatItSurrounds:
    async def test_the_context_is_the_one_of_the_handler(self, app: Duetime) -> None:
        contexts: list[Context] = []

        @app.middleware
        async def keep(ctx: Context, call_next: CallNext) -> object:
            contexts.append(ctx)
            return await call_next()

        @app.handler()
        async def note(payload: Note, ctx: Context) -> None:
            contexts.append(ctx)

        action = await app.schedule(Note(), tenant="acme", by="ann")
        await app.testing.drain()
        first, second = contexts
        assert first is second
        assert (first.action_id, first.kind) == (action.id, "note")
        assert (first.tenant, first.by) == ("acme", "ann")

    async def test_context_variables_reach_the_handler_and_its_dependencies(
        self, app: Duetime, style: str
    ) -> None:
        request_id = contextvars.ContextVar("request_id", default="none")
        threads: list[bool] = []

        @app.middleware
        async def mark(ctx: Context, call_next: CallNext) -> object:
            threads.append(threading.current_thread() is threading.main_thread())
            request_id.set(ctx.kind)
            return await call_next()

        def current() -> Iterator[str]:
            yield request_id.get()

        async def awaited(payload: Note, seen: Annotated[str, Depends(current)]) -> list[str]:
            return [seen, request_id.get()]

        def plain(
            payload: Note,
            seen: Annotated[str, Depends(current)],
            name: Annotated[str, Depends(lambda: threading.current_thread().name)],
        ) -> list[str]:
            assert threading.current_thread().name == name
            assert threading.current_thread() is not threading.main_thread()
            return [seen, request_id.get()]

        app.handler()(awaited if style == "async" else plain)
        assert (await finished(app)).result == ["note", "note"]
        assert threads == [True]

    async def test_a_sync_handler_with_an_async_dependency(self, memory_app: Duetime) -> None:
        @memory_app.middleware
        async def around(ctx: Context, call_next: CallNext) -> object:
            return [await call_next()]

        async def number() -> int:
            return 5

        @memory_app.handler()
        def note(payload: Note, n: Annotated[int, Depends(number)]) -> int:
            assert threading.current_thread() is not threading.main_thread()
            return n

        assert (await finished(memory_app)).result == [5]

    async def test_occurrences_of_jobs(self, app: Duetime, clock: FakeClock) -> None:
        jobs: list[str | None] = []

        @app.middleware
        async def keep(ctx: Context, call_next: CallNext) -> object:
            jobs.append(ctx.job)
            return await call_next()

        @app.job(Every(minutes=5), name="demo-tick")
        def tick() -> str:
            return "ticked"

        await app.testing.advance(minutes=6)
        assert jobs == ["demo-tick"]
        [newest, *_] = await app.jobs.runs("demo-tick")
        assert newest.outcome == "succeeded"

    async def test_durable_subscribers(self, app: Duetime) -> None:
        log = Log()

        @app.middleware
        async def keep(ctx: Context, call_next: CallNext) -> object:
            log(ctx.kind)
            return await call_next()

        async def watch(event: ActionFailed) -> None:
            log(f"event of {event.kind}")

        app.on(ActionFailed, watch, durable=True)

        @app.handler(retry=Retry.none())
        async def note(payload: Note) -> None:
            raise ValueError

        await finished(app)
        assert log.lines == ["note", "on-action-failed-watch", "event of note"]

    async def test_handlers_declared_while_a_worker_runs(self) -> None:
        app, log = Duetime("memory://"), Log()
        async with app, app.worker():
            declare_note(app, log, "async", kind="note")

            @app.middleware
            async def late(ctx: Context, call_next: CallNext) -> object:
                log("late")
                return await call_next()

            action = await app.schedule(Note())
            await app.wait(action.id, timeout=20)
        assert log.lines == ["late", "handler"]


class TestResults:
    async def test_what_it_returns_is_the_result(self, app: Duetime, style: str) -> None:
        @app.middleware
        async def wrap(ctx: Context, call_next: CallNext) -> object:
            return {"was": await call_next()}

        declare_note(app, Log(), style)
        assert (await finished(app)).result == {"was": "done"}

    async def test_without_a_return_the_handlers_result_stands(self, app: Duetime) -> None:
        """A forgotten `return` loses neither a result nor a Cancel that the handler returned."""

        @app.middleware
        async def forgetful(ctx: Context, call_next: CallNext) -> None:
            await call_next()

        declare_note(app, Log(), "async")

        @app.handler()
        async def other(payload: Other) -> Cancel:
            return Cancel("not needed")

        assert (await finished(app)).result == "done"
        cancelled = await finished(app, Other())
        assert (cancelled.state, cancelled.error) == (State.cancelled, "not needed")

    @pytest.mark.parametrize("how", ["return", "raise"])
    @pytest.mark.parametrize(
        ("signal", "state", "outcome"),
        [
            (Cancel("off"), State.cancelled, "cancelled"),
            (Fail("off"), State.failed, "failed"),
            (Snooze(60), State.scheduled, "snoozed"),
        ],
        ids=case_id,
    )
    async def test_a_signal_ends_the_run_without_the_handler(
        self, memory_app: Duetime, signal: Any, state: State, outcome: str, how: str
    ) -> None:
        log = Log()

        @memory_app.middleware
        async def off(ctx: Context, call_next: CallNext) -> object:
            if how == "raise":
                raise signal
            return signal

        declare_note(memory_app, log, "async")
        done = await finished(memory_app)
        assert done.state is state
        assert [run.outcome for run in await memory_app.runs(done.id)] == [outcome]
        assert log.lines == []

    async def test_an_error_of_the_handler_passes_through_or_is_swallowed(
        self, app: Duetime, style: str
    ) -> None:
        seen: list[str] = []

        @app.middleware
        async def catch(ctx: Context, call_next: CallNext) -> object:
            try:
                return await call_next()
            except LookupError as error:
                seen.append(repr(error))
                return "swallowed"

        async def awaited(payload: Note) -> None:
            raise KeyError(payload.text) if payload.text == "key" else ValueError("bad")

        def plain(payload: Note) -> None:
            raise KeyError(payload.text) if payload.text == "key" else ValueError("bad")

        app.handler(retry=Retry.none())(awaited if style == "async" else plain)
        assert (await finished(app, Note("key"))).result == "swallowed"
        failed = await finished(app, Note("other"))
        assert (failed.state, failed.error) == (State.failed, "ValueError: bad")
        assert seen == ["KeyError('key')"]

    async def test_its_own_error_is_a_failed_attempt(self, app: Duetime) -> None:
        log = Log()

        @app.middleware
        async def once(ctx: Context, call_next: CallNext) -> object:
            if ctx.attempt == 1:
                raise ValueError("not yet")
            return await call_next()

        declare_note(app, log, "async", retry=Retry(delays=[5]))
        action = await app.schedule(Note())
        await app.testing.advance(10)
        assert [run.outcome for run in await app.runs(action.id)] == ["retried", "succeeded"]
        assert log.lines == ["handler"]


class TestMistakes:
    async def run_through(self, app: Duetime, log: Log, middleware: Any) -> Action:
        app.middleware(middleware)
        declare_note(app, log, "async", retry=Retry.none())
        return await finished(app)

    async def test_never_calling_on_fails_the_run_and_names_the_middleware(
        self, app: Duetime
    ) -> None:
        async def forgetful(ctx: Context, call_next: CallNext) -> object:
            return "fine"

        log = Log()
        done = await self.run_through(app, log, forgetful)
        assert (done.state, done.result, log.lines) == (State.failed, None, [])
        assert "forgetful returned without awaiting call_next()" in (done.error or "")

    async def test_calling_twice_fails_the_run(self, app: Duetime) -> None:
        async def eager(ctx: Context, call_next: CallNext) -> object:
            await call_next()
            return await call_next()

        log = Log()
        done = await self.run_through(app, log, eager)
        assert (done.state, log.lines) == (State.failed, ["handler"])
        assert "eager called call_next() twice" in (done.error or "")

    async def test_returning_before_the_handler_has_ended_fails_the_run(self, app: Duetime) -> None:
        tasks: list[Any] = []

        async def hasty(ctx: Context, call_next: CallNext) -> object:
            tasks.append(asyncio.ensure_future(call_next()))
            await asyncio.sleep(0)
            return "early"

        app.middleware(hasty)
        release = asyncio.Event()

        @app.handler(retry=Retry.none())
        async def note(payload: Note) -> None:
            await release.wait()

        done = await finished(app)
        release.set()
        await tasks[0]
        assert done.state is State.failed
        assert "hasty returned while call_next() was still running" in (done.error or "")


class TestRefused:
    async def test_what_is_no_coroutine_function(self, memory_app: Duetime) -> None:
        def plain(ctx: Context, call_next: CallNext) -> object:
            return call_next()

        async def stream(ctx: Context, call_next: CallNext) -> Any:
            yield await call_next()

        wrong: list[Any] = [plain, stream, None, 3]
        for value in wrong:
            with pytest.raises(ConfigError, match=r"async def .*\(ctx, call_next\)"):
                memory_app.middleware(value)
        log = Log()
        declare_note(memory_app, log, "async")
        assert (await finished(memory_app)).result == "done"

    async def test_another_signature(self, memory_app: Duetime) -> None:
        async def nothing() -> None: ...
        async def less(ctx: Context) -> None: ...
        async def more(ctx: Context, call_next: CallNext, db: object) -> None: ...
        async def named(*, ctx: Context, call_next: CallNext) -> None: ...

        wrong: list[Any] = [nothing, less, more, named]
        for value in wrong:
            with pytest.raises(ConfigError, match=r"takes exactly \(ctx, call_next\)"):
                memory_app.middleware(value)

    async def test_the_same_twice(self, memory_app: Duetime) -> None:
        async def m(ctx: Context, call_next: CallNext) -> object:
            return await call_next()

        memory_app.middleware(m)
        with pytest.raises(ConfigError, match="declared as middleware twice"):
            memory_app.middleware(m)


class TestTime:
    @pytest.mark.parametrize("place", ["before", "after", "handler"])
    async def test_the_timeout_covers_middleware_and_handler(
        self, memory_app: Duetime, place: str
    ) -> None:
        forever = asyncio.Event()

        @memory_app.middleware
        async def slow(ctx: Context, call_next: CallNext) -> object:
            if place == "before":
                await forever.wait()
            result = await call_next()
            if place == "after":
                await forever.wait()
            return result

        @memory_app.handler(timeout=0.05, retry=Retry.none())
        async def note(payload: Note) -> None:
            if place == "handler":
                await forever.wait()

        done = await finished(memory_app)
        assert (done.state, done.error) == (State.failed, "TimeoutError: timed out after 0.05 s")

    async def test_a_limit_set_by_middleware_waits_for_the_thread_of_a_sync_handler(
        self, memory_app: Duetime
    ) -> None:
        """A thread cannot be interrupted: its run must not end before it."""
        log, release = Log(), threading.Event()

        @memory_app.middleware
        async def limit(ctx: Context, call_next: CallNext) -> object:
            try:
                async with asyncio.timeout(0.02):
                    return await call_next()
            except TimeoutError:
                log("late")
                return "late"

        @memory_app.handler()
        def note(payload: Note) -> None:
            release.wait(20)
            log("handler")

        asyncio.get_running_loop().call_later(0.2, release.set)
        assert (await finished(memory_app)).result == "late"
        assert log.lines == ["handler", "late"]

    async def test_a_worker_stops_although_the_thread_does_not(self) -> None:
        started, release = threading.Event(), threading.Event()
        app = Duetime("memory://", grace=0.05)

        @app.middleware
        async def around(ctx: Context, call_next: CallNext) -> object:
            return await call_next()

        @app.handler(kind="note")
        def note(payload: Note) -> None:
            started.set()
            release.wait(20)

        async with app:
            async with asyncio.timeout(10), app.worker():
                action = await app.schedule(Note())
                await asyncio.to_thread(started.wait, 20)
            # As without middleware: the lease expires, then another worker runs the action.
            assert (await app.get(action.id)).state is State.running
            release.set()

    async def test_a_sync_handler_over_its_time_is_asked_to_stop(self, memory_app: Duetime) -> None:
        @memory_app.middleware
        async def around(ctx: Context, call_next: CallNext) -> object:
            return [await call_next(), ctx.cancelled]

        @memory_app.handler(timeout=0.05)
        def note(payload: Note, ctx: Context) -> bool:
            waiting = threading.Event()
            while not ctx.cancelled:
                waiting.wait(0.01)
            return True

        assert (await finished(memory_app)).result == [True, True]
