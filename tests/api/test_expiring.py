"""`expires=`: no run of an action starts after that instant; it is cancelled instead."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from api.apps import Note, Other
from duetime import ActionCancelled, Context, Duetime, Retry, Snooze, State
from duetime.errors import ActionExpired, IllegalState, InvalidArgument, NaiveDatetime
from duetime.model.actions.action import Action
from duetime.testing import FakeClock

MINUTE = timedelta(minutes=1)
NAIVE = datetime(2031, 1, 1)  # noqa: DTZ001 - what is tested


class Handler:
    """Remembers when each run of Note started, and then does as its test says."""

    def __init__(self, app: Duetime, clock: FakeClock, **options: Any) -> None:
        self.started: list[datetime] = []
        self.result: object = None

        @app.handler(**options)
        async def note(payload: Note, ctx: Context) -> object:
            self.started.append(clock.now())
            if isinstance(self.result, Exception):
                raise self.result
            return self.result


async def test_the_expiry_comes_back_as_it_is_stored(app: Duetime, clock: FakeClock) -> None:
    expires = clock.now() + timedelta(hours=1, microseconds=7)
    action = await app.schedule(Note(), delay=5, expires=expires)
    assert action.created
    assert action.expires_at == expires
    assert await app.get(action.id) == replace(action, created=False)


async def test_actions_of_one_call_expire_each_at_its_own_time(
    app: Duetime, clock: FakeClock
) -> None:
    expiries = [None, clock.now() + MINUTE, clock.now() + 2 * MINUTE]
    requests = [app.request(Note(), expires=expires) for expires in expiries]
    actions = await app.schedule_many(requests)
    assert [action.expires_at for action in actions] == expiries
    assert [(await app.get(action.id)).expires_at for action in actions] == expiries
    same = await app.schedule_many(app.request(Note(), expires=expiries[1]) for _ in range(3))
    assert {action.expires_at for action in same} == {expiries[1]}


def test_blocking_verbs_take_it_too(memory_app: Duetime, clock: FakeClock) -> None:
    action = memory_app.sync.schedule(Note(), expires=clock.now() + MINUTE)
    assert action.expires_at == clock.now() + MINUTE


# -- bad input -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expires", "message"),
    [
        (NAIVE, "expires=.*time zone"),
        ("tomorrow", "expires='tomorrow'"),
        (date(2031, 1, 1), "expires="),
        (60, "expires=60"),
        (timedelta(seconds=60), "expires=.*timedelta"),
        (True, "expires=True"),
        (datetime(2020, 1, 1, tzinfo=UTC), "expires=.*it has passed"),
    ],
    ids=repr,
)
async def test_what_is_no_instant_to_come_is_refused(
    app: Duetime, expires: Any, message: str
) -> None:
    for key in (None, "k"):
        with pytest.raises(InvalidArgument, match=message) as caught:
            await app.schedule(Note(), expires=expires, key=key)
        assert caught.value.argument == "expires"
        with pytest.raises(InvalidArgument, match=message):
            await app.schedule_many(
                [app.request(Note()), app.request(Note(), expires=expires, key=key)]
            )
    assert len(await app.find()) == 0


def test_a_naive_expiry_has_an_error_of_its_own(memory_app: Duetime) -> None:
    with pytest.raises(NaiveDatetime):
        memory_app.sync.schedule(Note(), expires=NAIVE)


async def test_an_expiry_before_the_due_time_is_refused(app: Duetime, clock: FakeClock) -> None:
    at = clock.now() + MINUTE
    for when in ({"at": at}, {"delay": MINUTE}):
        for expires in (at, at - timedelta(seconds=1)):
            with pytest.raises(InvalidArgument, match=r"not due before 2030-.*could never start"):
                await app.schedule(Note(), **when, expires=expires)
    assert len(await app.find()) == 0


async def test_a_refused_replacement_changes_nothing(app: Duetime, clock: FakeClock) -> None:
    before = await app.schedule(Note("old"), delay=MINUTE, key="k")
    with pytest.raises(InvalidArgument, match="has passed"):
        await app.schedule(Note("new"), key="k", if_exists="replace", expires=clock.now())
    assert await app.get(before.id) == replace(before, created=False)


async def test_rescheduling_beyond_the_expiry_is_refused(app: Duetime, clock: FakeClock) -> None:
    expires = clock.now() + MINUTE
    action = await app.schedule(Note(), expires=expires)
    for when in ({"at": expires}, {"delay": MINUTE}):
        with pytest.raises(InvalidArgument, match="the action expires at 2030-"):
            await app.reschedule(action.id, **when)
    assert await app.get(action.id) == replace(action, created=False)
    assert (await app.reschedule(action.id, delay=30)).expires_at == expires


async def test_retrying_an_expired_action_is_refused(app: Duetime, clock: FakeClock) -> None:
    handler = Handler(app, clock, retry=Retry.none())
    handler.result = ValueError("no")
    action = await app.schedule(Note(), expires=clock.now() + MINUTE)
    await app.testing.drain()
    await app.testing.advance(MINUTE)
    with pytest.raises(ActionExpired, match="it expired at 2030-") as caught:
        await app.retry(action.id)
    assert isinstance(caught.value, IllegalState)
    assert await app.retry_many(kind="note") == 0
    assert (await app.get(action.id)).state is State.failed


# -- expired ---------------------------------------------------------------------------


@pytest.fixture
async def cancelled(app: Duetime) -> list[ActionCancelled]:
    """The events of this kind."""
    events: list[ActionCancelled] = []
    app.on(ActionCancelled, events.append)
    return events


def assert_expired(action: Action, at: datetime) -> None:
    assert (action.state, action.cancelled_by) == (State.cancelled, "system")
    said = at.strftime("%Y-%m-%dT%H:%M:%S")
    assert (action.error or "").startswith(f"expired at {said}")
    assert action.finished_at is not None


async def test_an_action_that_no_worker_ran_in_time_is_cancelled(
    app: Duetime, clock: FakeClock, cancelled: list[ActionCancelled]
) -> None:
    handler = Handler(app, clock)
    expires = clock.now() + MINUTE
    action = await app.schedule(Note(), expires=expires)
    clock.advance(MINUTE + timedelta(microseconds=1))
    assert (await app.get(action.id)).state is State.scheduled
    await app.testing.drain()
    expired = await app.get(action.id)
    assert_expired(expired, expires)
    assert (handler.started, expired.attempt, await app.runs(action.id)) == ([], 0, [])
    [event] = cancelled
    assert (event.action_id, event.by, event.reason) == (action.id, "system", expired.error)


async def test_an_action_may_start_until_it_expires(app: Duetime, clock: FakeClock) -> None:
    handler = Handler(app, clock)
    action = await app.schedule(Note(), expires=clock.now() + MINUTE)
    clock.advance(MINUTE)
    await app.testing.drain()
    assert (await app.get(action.id)).state is State.succeeded
    assert handler.started == [clock.now()]


@pytest.mark.parametrize("result", [ValueError("boom"), Snooze(90)], ids=repr)
async def test_another_try_does_not_start_after_the_expiry(
    app: Duetime, clock: FakeClock, result: object
) -> None:
    handler = Handler(app, clock, retry=Retry(delays=[90]))
    handler.result = result
    began, expires = clock.now(), clock.now() + MINUTE
    action = await app.schedule(Note(), expires=expires)
    await app.testing.drain()
    assert (await app.get(action.id)).due_at == began + timedelta(seconds=90)
    await app.testing.advance(90)
    assert_expired(await app.get(action.id), expires)
    assert handler.started == [began]
    [run] = await app.runs(action.id)
    assert run.outcome == ("snoozed" if isinstance(result, Snooze) else "retried")


async def test_a_child_expires_while_it_waits(app: Duetime, clock: FakeClock) -> None:
    handler = Handler(app, clock)
    app.handler()(other)
    expires = clock.now() + MINUTE
    parent = await app.schedule(Other(), delay=2 * MINUTE)
    child = await app.schedule(Note(), after=parent, expires=expires)
    await app.testing.advance(2 * MINUTE)
    assert_expired(await app.get(child.id), expires)
    assert handler.started == []


async def test_children_of_an_expired_action_are_settled(app: Duetime, clock: FakeClock) -> None:
    Handler(app, clock)
    app.handler()(other)
    parent = await app.schedule(Note(), expires=clock.now() + MINUTE)
    needs_success = await app.schedule(Other(), after=parent)
    any_end = await app.schedule(Other(), after=parent, on="finished")
    clock.advance(2 * MINUTE)
    await app.testing.drain()
    assert (await app.get(needs_success.id)).state is State.cancelled
    assert (await app.get(any_end.id)).state is State.succeeded


async def test_an_expired_action_of_an_unknown_kind_is_cancelled_and_not_parked(
    app: Duetime, clock: FakeClock
) -> None:
    expires = clock.now() + MINUTE
    action = await app.schedule(Note(), expires=expires)
    clock.advance(2 * MINUTE)
    await app.testing.drain()
    assert_expired(await app.get(action.id), expires)


async def test_an_action_that_a_worker_cancelled_frees_its_key(
    app: Duetime, clock: FakeClock
) -> None:
    Handler(app, clock)
    await app.schedule(Note(), key="k", expires=clock.now() + MINUTE)
    clock.advance(2 * MINUTE)
    await app.testing.drain()
    assert (await app.schedule(Note(), key="k")).created


async def other(payload: Other) -> None: ...
