"""Retries as the store shows them: when each attempt ran, and its outcome."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from api.apps import Note
from duetime import Context, Duetime, Retry, RetryAfter, Run, Snooze, State
from duetime.testing import FakeClock


async def attempts(app: Duetime, clock: FakeClock, retry: Retry | None, days: int = 1) -> list[int]:
    """Return the seconds after the start at which a handler that always fails was run."""
    start, tried = clock.now(), list[int]()

    @app.handler(retry=retry)
    async def note(payload: Note) -> None:
        tried.append(round((clock.now() - start).total_seconds()))
        raise RuntimeError(f"attempt {len(tried)}")

    action = await app.schedule(Note())
    await app.testing.advance(days=days)
    failed = await app.get(action.id)
    assert (failed.state, failed.attempt) == (State.failed, len(tried))
    assert failed.error == f"RuntimeError: attempt {len(tried)}"
    outcomes = [run.outcome for run in await all_runs(app, action.id)]
    assert outcomes == ["retried"] * (len(tried) - 1) + ["failed"]
    assert await app.testing.advance(days=1000) == 0
    return tried


async def all_runs(app: Duetime, action_id: UUID) -> list[Run]:
    """Return the runs of an action, oldest first, read a page at a time."""
    found = page = await app.runs(action_id)
    while page:
        page = await app.runs(action_id, before=page[0].id)
        found = page + found
    return found


async def test_explicit_delays_are_kept(app: Duetime, clock: FakeClock) -> None:
    tried = await attempts(app, clock, Retry(delays=[10, timedelta(minutes=1), 300]))
    assert tried == [0, 10, 70, 370]


async def test_backoff_grows_until_its_limit(app: Duetime, clock: FakeClock) -> None:
    retry = Retry(attempts=6, delay=10, factor=3, max_delay=100, jitter=False)
    assert await attempts(app, clock, retry) == [0, 10, 40, 130, 230, 330]


async def test_by_default_there_are_three_attempts(app: Duetime, clock: FakeClock) -> None:
    assert len(await attempts(app, clock, None)) == 3


async def test_none_means_one_attempt(app: Duetime, clock: FakeClock) -> None:
    assert await attempts(app, clock, Retry.none()) == [0]


async def test_many_attempts_without_a_delay_all_run(memory_app: Duetime, clock: FakeClock) -> None:
    tried = await attempts(memory_app, clock, Retry(attempts=1100, delay=0))
    assert tried == [0] * 1100


async def test_retries_survive_a_restart(durable_url: str, clock: FakeClock) -> None:
    seen: list[int] = []

    def declare(app: Duetime) -> None:
        @app.handler(kind="note", retry=Retry(delays=[60, 60]))
        async def note(payload: Note, ctx: Context) -> None:
            seen.append(ctx.attempt)
            raise RuntimeError

    for _ in range(3):
        async with Duetime(durable_url, clock=clock) as app:
            declare(app)
            if not seen:
                action = await app.schedule(Note())
            await app.testing.drain()
            last = await app.get(action.id)
        clock.advance(60)
    assert seen == [1, 2, 3]
    assert last.state is State.failed


async def test_retry_after_uses_up_attempts(app: Duetime, clock: FakeClock) -> None:
    start, tried = clock.now(), list[float]()

    @app.handler(retry=Retry(delays=[5, 5]))
    async def note(payload: Note, ctx: Context) -> RetryAfter:
        tried.append((clock.now() - start).total_seconds())
        if ctx.attempt == 1:
            return RetryAfter(60, "the bank said 60 s")
        raise RetryAfter(timedelta(minutes=2), "the bank said 2 minutes")

    action = await app.schedule(Note())
    await app.testing.drain()
    waiting = await app.get(action.id)
    assert (waiting.state, waiting.error) == (State.scheduled, "the bank said 60 s")
    await app.testing.advance(300)
    failed = await app.get(action.id)
    assert (failed.state, failed.error) == (State.failed, "the bank said 2 minutes")
    assert [r.outcome for r in await app.runs(action.id)] == ["retried", "retried", "failed"]
    assert tried == [0, 60, 180]


@pytest.mark.parametrize(
    ("error", "outcomes"),
    [
        (ConnectionRefusedError, ["retried", "failed"]),
        (ConnectionResetError, ["failed"]),
        (ValueError, ["failed"]),
    ],
)
async def test_only_some_exceptions_are_retried(
    app: Duetime, error: type[Exception], outcomes: list[str]
) -> None:
    @app.handler(retry=Retry(delays=[5], on=ConnectionError, never=(ConnectionResetError,)))
    async def note(payload: Note) -> None:
        raise error

    action = await app.schedule(Note())
    await app.testing.advance(60)
    assert [r.outcome for r in await app.runs(action.id)] == outcomes


async def test_a_timeout_counts_as_a_timeout_error(app: Duetime) -> None:
    @app.handler(timeout=0.02, retry=Retry(delays=[5], never=TimeoutError))
    async def note(payload: Note) -> None:
        await asyncio.Event().wait()

    action = await app.schedule(Note())
    await app.testing.advance(60)
    assert [r.outcome for r in await app.runs(action.id)] == ["failed"]


async def test_a_job_names_its_exceptions_and_is_stored_once(app: Duetime) -> None:
    @app.job("0 2 * * *", name="shop-close", retry=Retry(delays=[1], on=ConnectionError))
    async def close() -> None:
        raise ValueError

    await app.testing.drain()
    job = await app.jobs.get("shop-close")
    assert str(job.retry).endswith("on=(ConnectionError,))")
    await app.testing.drain()
    assert (await app.jobs.get("shop-close")).version == job.version
    await app.jobs.trigger("shop-close")
    await app.testing.drain()
    assert [run.outcome for run in await app.jobs.runs("shop-close")] == ["failed"]


async def test_a_snooze_uses_up_no_attempt(app: Duetime) -> None:
    seen: list[int] = []

    @app.handler(retry=Retry(delays=[5]))
    async def note(payload: Note, ctx: Context) -> Snooze:
        seen.append(ctx.attempt)
        if len(seen) in (4, 6):
            raise RuntimeError
        return Snooze(10)

    action = await app.schedule(Note())
    await app.testing.advance(300)
    assert seen == [1, 1, 1, 1, 2, 2]
    failed = await app.get(action.id)
    assert (failed.state, failed.attempt) == (State.failed, 2)
    outcomes = [str(r.outcome) for r in await app.runs(action.id)]
    assert outcomes == ["snoozed"] * 3 + ["retried", "snoozed", "failed"]


@pytest.mark.parametrize("attempts", [1, 2])
async def test_the_error_of_the_last_attempt_is_shown_until_the_next(
    app: Duetime, attempts: int
) -> None:
    @app.handler(retry=Retry(delays=[60]))
    async def note(payload: Note, ctx: Context) -> str:
        if ctx.attempt <= attempts:
            raise RuntimeError(f"attempt {ctx.attempt}")
        return "fine"

    action = await app.schedule(Note())
    await app.testing.drain()
    waiting = await app.get(action.id)
    assert (waiting.state, waiting.error) == (State.scheduled, "RuntimeError: attempt 1")
    await app.testing.advance(60)
    finished = await app.get(action.id)
    assert (finished.state, finished.error) == (
        (State.succeeded, None) if attempts == 1 else (State.failed, "RuntimeError: attempt 2")
    )
