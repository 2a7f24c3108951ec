"""The traceback that is kept of an action's last failed attempt."""

from datetime import timedelta

import pytest

from api.apps import Note, with_payloads
from damaged_rows import execute
from duetime import Context, Duetime, Fail, Release, Retry, RetryAfter, Snooze
from duetime.model.safe_text import UNSAFE_CHARACTER
from duetime.model.traceback_text import MAX_TEXT_LENGTH, MAX_TEXT_LINES
from duetime.testing import FakeClock

DAY = timedelta(days=1)


async def tracebacks(app: Duetime, error: BaseException, retry: Retry) -> list[str | None]:
    """Return the traceback of each run of a handler that raises the error."""

    @app.handler(retry=retry)
    async def note(payload: Note, ctx: Context) -> None:
        secret = "a local variable"  # noqa: F841
        if ctx.attempt == 1:
            raise RuntimeError("at first")
        raise error

    action = await app.schedule(Note("a payload"))
    await app.testing.advance(60)
    return [run.traceback for run in await app.runs(action.id)]


async def test_the_last_one_is_kept_with_its_run(app: Duetime) -> None:
    none, last = await tracebacks(app, ValueError("at last"), Retry(delays=[1]))
    assert none is None
    assert last is not None
    lines = last.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: at last"
    assert any(__file__ in line and "in note" in line for line in lines)
    assert "raise error" in last


async def test_it_holds_no_values_but_those_of_the_error(app: Duetime) -> None:
    _, last = await tracebacks(app, ValueError(), Retry(delays=[1]))
    assert last is not None
    assert "a payload" not in last
    assert "a local variable" not in last


async def test_an_attempt_that_succeeds_leaves_the_earlier_one(app: Duetime) -> None:
    @app.handler(retry=Retry(delays=[1]))
    async def note(payload: Note, ctx: Context) -> str:
        if ctx.attempt == 1:
            raise RuntimeError("at first")
        return "done"

    action = await app.schedule(Note())
    await app.testing.advance(60)
    first, second = await app.runs(action.id)
    assert str(first.traceback).endswith("RuntimeError: at first")
    assert second.traceback is None


@pytest.mark.parametrize("signal", [RetryAfter(1, "busy"), Fail("hopeless"), Release()])
async def test_a_signal_that_fails_the_attempt_shows_where_it_was_raised(
    app: Duetime, signal: Exception
) -> None:
    signal.__cause__ = KeyError("the cause")
    *_, last = await tracebacks(app, signal, Retry(delays=[1]))
    assert "KeyError: 'the cause'" in str(last)


async def test_a_signal_that_uses_no_attempt_leaves_none(app: Duetime) -> None:
    first, *others = await tracebacks(app, Snooze(50), Retry(delays=[1]))
    assert first is not None
    assert others == [None] * len(others)


async def test_hostile_text_is_made_safe_before_it_is_stored(app: Duetime) -> None:
    text = "\x00 \ud800 \x1b[2J \u202e\nTraceback (most recent call last):\nroot: all is well"
    _, last = await tracebacks(app, ValueError(text), Retry(delays=[1]))
    assert last is not None
    assert UNSAFE_CHARACTER.findall(last.replace("\n", "")) == []
    assert "root: all is well" not in last.splitlines()
    assert r"\x00 \ud800 \x1b[2J \u202e\nTraceback" in last


async def test_it_is_bounded(app: Duetime) -> None:
    error = ValueError("x" * 1_000_000)
    for n in range(100):
        earlier, error = error, ValueError(f"{n} " + "y" * 10_000)
        error.__cause__ = earlier
    _, last = await tracebacks(app, error, Retry(delays=[1]))
    assert last is not None
    assert len(last) <= MAX_TEXT_LENGTH + MAX_TEXT_LINES
    assert len(last.splitlines()) <= MAX_TEXT_LINES


async def test_a_setting_turns_it_off(url: str, clock: FakeClock) -> None:
    async with with_payloads(Duetime(url, clock=clock, keep_tracebacks=False)) as app:
        assert await tracebacks(app, ValueError(), Retry(delays=[1])) == [None, None]


async def test_it_is_pruned_with_its_action(durable_url: str, clock: FakeClock) -> None:
    async with with_payloads(Duetime(durable_url, clock=clock)) as app:
        await tracebacks(app, ValueError(), Retry(delays=[1]))
        assert kept(durable_url) == 1
        clock.advance(days=60)
        flow = app.store.prune(keep=0, keep_failed=0, limit=100)
        assert await app.store.perform(flow) == 1
        assert kept(durable_url) == 0


async def test_clearing_a_store_clears_it(durable_url: str, clock: FakeClock) -> None:
    async with with_payloads(Duetime(durable_url, clock=clock)) as app:
        await tracebacks(app, ValueError(), Retry(delays=[1]))
        await app.store.perform(app.store.clear())
        assert kept(durable_url) == 0


async def test_a_traceback_that_older_code_left_is_pruned_too(
    durable_url: str, clock: FakeClock
) -> None:
    """Older code deletes actions without their tracebacks."""
    async with with_payloads(Duetime(durable_url, clock=clock)) as app:
        await tracebacks(app, ValueError(), Retry(delays=[1]))
        execute(durable_url, "DELETE FROM duetime_history")
        micros = DAY // timedelta(microseconds=1)
        limits = {"keep": micros, "keep_failed": 2 * micros, "limit": 100}
        clock.advance(days=1, hours=1)
        await app.store.perform(app.store.prune(**limits))
        assert kept(durable_url) == 1
        clock.advance(days=1)
        await app.store.perform(app.store.prune(**limits))
        assert kept(durable_url) == 0


async def test_a_traceback_of_an_unfinished_action_stays_however_old(
    durable_url: str, clock: FakeClock
) -> None:
    async with with_payloads(Duetime(durable_url, clock=clock)) as app:

        @app.handler(retry=Retry(delays=[30 * DAY]))
        async def note(payload: Note) -> None:
            raise ValueError

        action = await app.schedule(Note())
        await app.testing.drain()
        clock.advance(days=20)
        await app.store.perform(app.store.prune(keep=0, keep_failed=0, limit=100))
        [run] = await app.runs(action.id)
        assert run.traceback is not None


def kept(url: str) -> int:
    ((count,),) = execute(url, "SELECT count(*) FROM duetime_tracebacks")
    return int(count)
