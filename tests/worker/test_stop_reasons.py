"""Why a handler is asked to stop, and what becomes of its action when it does."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from duetime import ANY, Cancel, Context, Duetime, Outcome, Release, Retry, State
from duetime.model.actions.completion import Reschedule
from duetime.testing import FakeClock
from polling import until

StoppingSignal = type[Cancel] | type[Release]
SIGNALS: dict[str, StoppingSignal] = {"cancel": Cancel, "release": Release}
HOWS = ["raised", "returned"]


@dataclass(frozen=True)
class Rows:
    """The payload of a handler that works row by row."""

    count: int


class Import:
    """A handler as the documentation shows it, sync or async, which stops when it is asked to."""

    def __init__(self, signal: StoppingSignal, how: str) -> None:
        self._signal = signal
        self._raises = how == "raised"
        self.started = threading.Event()
        self.reasons: list[str | None] = []

    def declare(self, app: Duetime, *, sync: bool, timeout: float | None = None) -> None:
        """Declare the handler. Its second run has nothing left to do."""
        pause = threading.Event()

        def work(payload: Rows, ctx: Context) -> object:
            first = self._start()
            while first and not ctx.cancelled:
                pause.wait(0.005)
            return self._end(ctx)

        async def work_async(payload: Rows, ctx: Context) -> object:
            if self._start():
                await until(lambda: ctx.cancelled)
            return self._end(ctx)

        retry = Retry(delays=[0])
        declare = app.handler(kind="rows", retry=retry, timeout=timeout)
        declare(work if sync else work_async)

    def _start(self) -> bool:
        """Record a start; return whether it is the first."""
        first = not self.started.is_set()
        self.started.set()
        return first

    def _end(self, ctx: Context) -> object:
        self.reasons.append(ctx.stop_reason)
        if not ctx.cancelled:
            return "whole"
        signal = self._signal("stopped at row 5")
        if self._raises:
            raise signal
        return signal


@pytest.fixture
async def quick(url: str) -> AsyncIterator[Duetime]:
    """An app with a heartbeat every second. Shorter leases run out on a busy machine."""
    async with Duetime(url, lease=3, grace=10) as app:
        yield app


@pytest.fixture(params=[False, True], ids=["async", "sync"])
def sync(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=SIGNALS)
def signal(request: pytest.FixtureRequest) -> StoppingSignal:
    return SIGNALS[request.param]


@pytest.mark.parametrize("how", HOWS)
class TestShutdown:
    async def test_the_run_is_released_and_starts_again(
        self, app: Duetime, sync: bool, signal: StoppingSignal, how: str
    ) -> None:
        handler = Import(signal, how)
        handler.declare(app, sync=sync)
        action = await app.schedule(Rows(10_000))
        async with app.worker():
            await until(handler.started.is_set)
        waiting = await app.get(action.id)
        assert (waiting.state, waiting.attempt, waiting.losses) == (State.scheduled, 0, 0)
        assert waiting.due_at == action.due_at
        assert waiting.cancelled_by is None
        assert "stopped at row 5" in str(waiting.error)
        assert [run.outcome for run in await app.runs(action.id)] == [Outcome.released]
        async with app.worker():
            done = await app.wait(action.id, timeout=20)
        assert (done.result, done.attempt, done.error) == ("whole", 1, None)
        assert handler.reasons == ["shutdown", None]


async def test_an_occurrence_is_released_and_counts_once(app: Duetime, clock: FakeClock) -> None:
    started = asyncio.Event()
    reasons: list[str | None] = []

    @app.job("0 * * * *", name="shop-close")
    async def close(ctx: Context) -> None:
        if not reasons:
            started.set()
            await until(lambda: ctx.cancelled)
        reasons.append(ctx.stop_reason)
        if ctx.cancelled:
            raise Release

    async with app.worker():
        clock.advance(hours=1)
        await started.wait()
    job = await app.jobs.get("shop-close")
    assert (job.state, job.last_outcome, job.consecutive_failures) == ("scheduled", None, 0)
    # The released occurrence is unfinished, so that the next tick is skipped.
    clock.advance(hours=1)
    await app.testing.drain()
    outcomes = [run.outcome for run in await app.jobs.runs("shop-close")]
    assert (outcomes, reasons) == (["skipped", "succeeded"], ["shutdown", None])


@pytest.mark.parametrize("how", HOWS)
async def test_a_cancel_that_only_releases_is_logged_once(
    app: Duetime, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Import(Cancel, how)
    handler.declare(app, sync=False)
    action = await app.schedule(Rows(1))
    with caplog.at_level(logging.INFO, "duetime"):
        async with app.worker():
            await until(handler.started.is_set)
    lines = [r for r in caplog.records if str(action.id) in r.getMessage()]
    [line] = lines
    assert line.levelno == logging.WARNING
    for part in ("released, not cancelled", "shutdown", "stopped at row 5", "raise Release()"):
        assert part in line.getMessage()


async def test_a_release_is_not_logged_as_a_failure(
    app: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Import(Release, "raised")
    handler.declare(app, sync=False)
    action = await app.schedule(Rows(1))
    with caplog.at_level(logging.INFO, "duetime"):
        async with app.worker():
            await until(handler.started.is_set)
    assert not [r for r in caplog.records if str(action.id) in r.getMessage()]


async def test_an_operator_cancels_whatever_signal_the_handler_sends(
    quick: Duetime, sync: bool, signal: StoppingSignal
) -> None:
    handler = Import(signal, "raised")
    handler.declare(quick, sync=sync)
    async with quick.worker():
        action = await quick.schedule(Rows(1), by="bob")
        await until(handler.started.is_set)
        await quick.cancel(action.id, running=True, by="ann")
        done = await quick.wait(action.id, timeout=20)
    assert (done.state, done.error, done.cancelled_by) == (
        State.cancelled,
        "stopped at row 5",
        "ann",
    )
    assert handler.reasons == ["cancelled"]


async def test_a_shutdown_does_not_hide_a_cancellation(quick: Duetime) -> None:
    started = asyncio.Event()
    reasons: list[str | None] = []

    @quick.handler(kind="rows")
    async def rows(payload: Rows, ctx: Context) -> None:
        started.set()
        await until(lambda: ctx.stop_reason == "shutdown")
        reasons.append(ctx.stop_reason)
        # Heartbeats go on while a worker stops.
        await quick.cancel(ctx.action_id, running=True, by="ann")
        await until(lambda: ctx.stop_reason == "cancelled")
        reasons.append(ctx.stop_reason)
        raise Release

    action = await quick.schedule(Rows(1))
    async with quick.worker():
        await started.wait()
    done = await quick.get(action.id)
    assert reasons == ["shutdown", "cancelled"]
    assert (done.state, done.cancelled_by) == (State.cancelled, "ann")


async def test_a_sync_handler_that_stops_at_its_timeout_has_used_an_attempt(
    app: Duetime, signal: StoppingSignal
) -> None:
    handler = Import(signal, "raised")
    handler.declare(app, sync=True, timeout=0.5)
    action = await app.schedule(Rows(1))
    await app.testing.drain()
    done = await app.get(action.id)
    assert (done.result, done.attempt) == ("whole", 2)
    first, _ = await app.runs(action.id)
    assert first.outcome is Outcome.retried
    assert str(first.error).startswith("TimeoutError: ")
    assert handler.reasons == ["timeout", None]


async def test_a_lost_run_learns_of_it_and_its_signal_changes_nothing(quick: Duetime) -> None:
    handler = Import(Cancel, "raised")
    handler.declare(quick, sync=False)
    action = await quick.schedule(Rows(1))
    async with quick.worker():
        await until(handler.started.is_set)
        store = quick.store
        record = await store.perform(store.get(action.id, ANY))
        assert record.token is not None
        # As another worker does that finds the lease expired.
        rescue = Reschedule(action.id, record.token, Outcome.lost, refund=True, lost=1)
        await store.perform(store.complete([rescue]))
        done = await quick.wait(action.id, timeout=20)
    assert (done.state, done.result, done.losses) == (State.succeeded, "whole", 1)
    assert sorted(map(str, handler.reasons)) == ["None", "lost"]
    assert [run.outcome for run in await quick.runs(action.id)] == ["lost", "succeeded"]
