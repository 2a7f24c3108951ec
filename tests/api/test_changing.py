"""cancel, reschedule, retry, one or many; what is illegal changes nothing."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from api.apps import Log, Note, Other
from duetime import ANY, Action, Context, Duetime, Fail, Retry, State
from duetime.errors import ActionNotFound, IllegalState, InvalidArgument
from duetime.model.actions.claim import ClaimOrder, LaneSpan
from duetime.model.ids import TimeOrderedIds
from duetime.testing import FakeClock

Verb = Callable[[Duetime, Action], Awaitable[object]]


async def test_a_cancelled_action_never_runs_and_says_who_cancelled_it(
    app: Duetime, clock: FakeClock
) -> None:
    log = Log()

    @app.handler()
    async def note(payload: Note) -> None:
        log(payload.text)

    action = await app.schedule(Note(), delay=5)
    clock.advance(1)
    cancelled = await app.cancel(action.id, by="ann")
    assert (cancelled.state, cancelled.cancelled_by) == (State.cancelled, "ann")
    assert (cancelled.finished_at, cancelled.modified_by) == (clock.now(), "ann")
    assert await app.get(action.id) == cancelled
    assert await app.testing.advance(days=1) == 0
    assert log.lines == []


@pytest.mark.parametrize("first", ["later", "earlier"])
async def test_a_rescheduled_action_runs_at_the_new_time_only(
    app: Duetime, clock: FakeClock, first: str
) -> None:
    ran: list[timedelta] = []
    start = clock.now()

    @app.handler()
    async def note(payload: Note) -> None:
        ran.append(clock.now() - start)

    action = await app.schedule(Note(), delay=100)
    minutes = timedelta(seconds=300 if first == "later" else 30)
    moved = await app.reschedule(action.id, at=start + minutes, by="ann")
    assert (moved.due_at, moved.state, moved.modified_by) == (start + minutes, "scheduled", "ann")
    assert await app.testing.advance(days=1) == 1
    assert ran == [minutes]


async def test_reschedule_takes_a_delay_from_now(app: Duetime, clock: FakeClock) -> None:
    action = await app.schedule(Note(), delay=100)
    clock.advance(10)
    moved = await app.reschedule(action.id, delay=timedelta(seconds=7))
    assert moved.due_at == clock.now() + timedelta(seconds=7)


async def test_a_retried_action_has_its_budget_again_and_its_attempts_go_on(
    app: Duetime, clock: FakeClock
) -> None:
    attempts: list[int] = []

    @app.handler(retry=Retry(delays=[10]))
    async def note(payload: Note, ctx: Context) -> None:
        attempts.append(ctx.attempt)
        raise RuntimeError("no")

    action = await app.schedule(Note())
    await app.testing.advance(60)
    failed = await app.get(action.id)
    assert (failed.state, failed.attempt, attempts) == (State.failed, 2, [1, 2])
    again = await app.retry(action.id, by="ann")
    assert (again.state, again.due_at, again.error) == (State.scheduled, clock.now(), None)
    assert (again.modified_by, again.finished_at) == ("ann", None)
    await app.testing.advance(60)
    assert attempts == [1, 2, 3, 4]
    assert (await app.get(action.id)).state is State.failed
    runs = await app.runs(action.id)
    assert [(r.attempt, r.outcome) for r in runs] == [
        (1, "retried"),
        (2, "failed"),
        (3, "retried"),
        (4, "failed"),
    ]


async def in_state(app: Duetime, state: State) -> Action:
    """An action of a kind of its own, in that state; a running one is claimed by hand."""
    if state is State.running:
        action = await app.schedule(Note())
        order = ClaimOrder("hand", [LaneSpan("1.0.default", -(2**62), 0)], 1, 3_600_000_000)
        await app.store.perform(app.store.claim(order))
        return await app.get(action.id)
    if state is State.scheduled:
        return await app.schedule(Note(), delay=60)
    if state is State.cancelled:
        return await app.cancel((await app.schedule(Note())).id)

    @app.handler()
    async def note(payload: Note) -> Fail | None:
        return Fail("no") if state is State.failed else None

    action = await app.schedule(Note())
    await app.testing.drain()
    return await app.get(action.id)


async def cancel(app: Duetime, action: Action) -> object:
    return await app.cancel(action.id)


async def cancel_running(app: Duetime, action: Action) -> object:
    return await app.cancel(action.id, running=True)


async def reschedule(app: Duetime, action: Action) -> object:
    return await app.reschedule(action.id, delay=9)


async def retry(app: Duetime, action: Action) -> object:
    return await app.retry(action.id)


ILLEGAL = [
    *((cancel, state) for state in State if state is not State.scheduled),
    *((cancel_running, state) for state in State if state.finished),
    *((reschedule, state) for state in State if state is not State.scheduled),
    *((retry, state) for state in State if state is not State.failed),
]


@pytest.mark.parametrize(("verb", "state"), ILLEGAL, ids=lambda v: getattr(v, "__name__", v))
async def test_an_illegal_move_names_the_state_it_found_and_changes_nothing(
    app: Duetime, verb: Verb, state: State
) -> None:
    action = await in_state(app, state)
    assert action.state is state
    with pytest.raises(IllegalState, match=f"it is {state}") as caught:
        await verb(app, action)
    assert (caught.value.state, caught.value.action_id) == (state, action.id)
    assert await app.get(action.id) == action if state is not State.scheduled else True
    assert (await app.audit.find(subject=action.id, limit=10, tenant=ANY)).items == (
        [] if state is not State.cancelled else [await _only_audit(app, action)]
    )


async def _only_audit(app: Duetime, action: Action) -> object:
    (entry,) = (await app.audit.find(subject=action.id, limit=10, tenant=ANY)).items
    assert entry.verb == "cancel"
    return entry


@pytest.mark.parametrize("verb", [cancel, reschedule, retry])
async def test_an_action_that_does_not_exist_is_not_found(app: Duetime, verb: Verb) -> None:
    ghost = await app.schedule(Note())
    unknown = TimeOrderedIds()()
    with pytest.raises(ActionNotFound, match=str(unknown)) as caught:
        await verb(app, _with_id(ghost, unknown))
    assert caught.value.action_id == unknown


def _with_id(action: Action, other: object) -> Action:
    return replace(action, id=other)  # type: ignore[arg-type]


# -- many ----------------------------------------------------------------------------


async def test_cancel_many_takes_the_scheduled_ones_that_match(app: Duetime) -> None:
    for kind in (Note(), Other()):
        for correlation in ("a", "b"):
            await app.schedule(kind, delay=60, correlation_id=correlation)
    assert await app.cancel_many(correlation_id="a", kind="note", by="ann") == 1
    assert await app.cancel_many(correlation_id="a", kind="note") == 0
    assert await app.cancel_many(kind="other", state="scheduled") == 2
    left = [(a.kind, a.correlation_id) for a in await app.find(state="scheduled")]
    assert left == [("note", "b")]
    assert {a.cancelled_by for a in await app.find(state="cancelled")} == {"ann", "system"}


async def test_cancel_many_leaves_what_runs_alone(app: Duetime) -> None:
    counts: list[int] = []

    @app.handler()
    async def note(payload: Note) -> str:
        counts.append(await app.cancel_many(kind="note"))
        return "done"

    running = await app.schedule(Note())
    waiting = await app.schedule(Note(), delay=60)
    await app.testing.drain()
    assert counts == [1]
    assert (await app.get(running.id)).state is State.succeeded
    assert (await app.get(waiting.id)).state is State.cancelled


async def test_retry_many_takes_the_failed_ones_that_match(app: Duetime) -> None:
    broken = [True]

    @app.handler()
    async def note(payload: Note) -> Fail | None:
        return Fail("no") if broken[0] else None

    for correlation in ("a", "a", "b"):
        await app.schedule(Note(), correlation_id=correlation)
    await app.schedule(Note(), delay=3600, correlation_id="a")
    await app.testing.drain()
    broken[0] = False
    assert await app.retry_many(correlation_id="a", by="ann") == 2
    assert await app.testing.drain() == 2
    assert len(await app.find(state="failed")) == 1
    assert await app.retry_many(state="failed") == 1
    await app.testing.drain()
    assert {a.state for a in await app.find(state="succeeded")} == {State.succeeded}
    assert len(await app.find(state="succeeded")) == 3


@pytest.mark.parametrize("verb", ["cancel_many", "retry_many"])
async def test_many_of_everything_has_to_be_said(app: Duetime, verb: str) -> None:
    await app.schedule(Note(), delay=5)
    with pytest.raises(InvalidArgument, match="select actions by"):
        await getattr(app, verb)()
    with pytest.raises(InvalidArgument, match="succeeded"):
        await getattr(app, verb)(state="succeeded")
    with pytest.raises(InvalidArgument, match="did you mean 'scheduled'"):
        await getattr(app, verb)(state="schedule")
    assert len(await app.find(state="scheduled", tenant=ANY)) == 1
