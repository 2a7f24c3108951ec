"""A worker starts nothing of a paused queue, and gives back what it has not started."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from api.apps import Note, Other
from duetime import ANY, Action, Duetime, Retry, RetryAfter, State
from duetime.model.actions.claim import Claimed
from polling import until
from store.postgres_helpers import another

SUSPECT = "UPDATE duetime_actions SET losses = 2, lane = 's.' || lane WHERE id = %s"
PARKED = "UPDATE duetime_actions SET lane = 'p.1.4.note.' || lane WHERE id = %s"


@pytest.fixture
async def app(url: str) -> AsyncIterator[Duetime]:
    """An app in real time that pre-claims early, with handlers for Note and Other."""
    async with Duetime(url, lease=5, grace=5, preclaim=3) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        @app.handler(kind="other")
        async def other(payload: Other) -> None: ...

        yield app


async def started(app: Duetime, queue: str = "billing") -> int:
    """Return how many actions of the queue have started, or have been claimed."""
    found = await app.find(queue=queue, tenant=ANY, limit=200)
    return sum(action.state is not State.scheduled or action.attempt > 0 for action in found)


async def ran_since(app: Duetime) -> None:
    """Return when a worker has claimed and run an action that is scheduled now in another queue:
    what it may do, it has done."""
    for _ in range(3):
        await app.wait(await app.schedule(Other()), timeout=20)


async def test_a_worker_starts_nothing_of_a_paused_queue(app: Duetime) -> None:
    await app.queues.pause("billing")
    waiting = [await app.schedule(Note(), queue="billing") for _ in range(3)]
    async with app.worker():
        await ran_since(app)
        waiting.append(await app.schedule(Note(), queue="billing"))
        await ran_since(app)
        assert await started(app) == 0
        assert await app.queues.resume("billing")
        for action in waiting:
            assert (await app.wait(action, timeout=20)).state is State.succeeded


async def test_a_preclaim_is_given_back_and_costs_no_attempt(app: Duetime) -> None:
    async with app.worker():
        action = await app.schedule(Note(), delay=2, queue="billing")
        await until(lambda: _is_claimed(app, action))
        await app.queues.pause("billing")
        await until(lambda: _is_free(app, action))
        assert (await app.get(action.id)).attempt == 0
        await until(lambda: _is_due(action))
        await ran_since(app)
        assert await started(app) == 0
        await app.queues.resume("billing")
        assert (await app.wait(action, timeout=20)).attempt == 1


async def _is_claimed(app: Duetime, action: Action) -> bool:
    return (await app.get(action.id)).state is State.running


async def _is_free(app: Duetime, action: Action) -> bool:
    return (await app.get(action.id)).state is State.scheduled


def _is_due(action: Action) -> bool:
    assert action.due_at is not None
    return datetime.now(UTC) > action.due_at


async def test_a_claim_that_is_answered_after_the_pause_is_given_back(
    app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race of a pause with a claim: the claim was sent before, and its answer comes after the
    worker has learned of the pause."""
    held = asyncio.Event()
    perform, claimed = app.store.perform, asyncio.Event()

    async def delayed(flow: Any) -> Any:
        answer = await perform(flow)
        if isinstance(answer, Claimed) and answer.claims:
            claimed.set()
            await held.wait()
        return answer

    monkeypatch.setattr(app.store, "perform", delayed)
    async with app.worker() as worker:
        action = await app.schedule(Note(), queue="billing")
        await claimed.wait()
        await app.queues.pause("billing")
        await until(lambda: worker._pauses.queues)
        held.set()
        await until(lambda: _is_free(app, action))
        assert (await app.get(action.id)).attempt == 0
        await app.queues.resume("billing")
        assert (await app.wait(action, timeout=20)).attempt == 1


async def test_what_runs_goes_on(app: Duetime) -> None:
    running, goes_on = asyncio.Event(), asyncio.Event()

    @app.handler(kind="long")
    async def long(payload: Long) -> str:
        running.set()
        await goes_on.wait()
        return "done"

    async with app.worker():
        action = await app.schedule(Long(), queue="billing")
        await running.wait()
        await app.queues.pause("billing")
        await ran_since(app)
        goes_on.set()
        assert (await app.wait(action, timeout=20)).result == "done"


async def test_retries_arrive_and_wait(app: Duetime) -> None:
    runs = 0

    @app.handler(kind="long", retry=Retry(attempts=3))
    async def long(payload: Long) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            await app.queues.pause("billing")
            await until(lambda: worker._pauses.queues)
            raise RetryAfter(0.1)

    async with app.worker() as worker:
        action = await app.schedule(Long(), queue="billing")
        await until(lambda: _is_free(app, action))
        retried = await app.get(action.id)
        await until(lambda: _is_due(retried))
        await ran_since(app)
        assert runs == 1
        await app.queues.resume("billing")
        assert (await app.wait(action, timeout=20)).attempt == 2


async def test_a_pause_ends_by_itself(app: Duetime) -> None:
    end = datetime.now(UTC) + timedelta(seconds=1)
    paused = await app.queues.pause("billing", until=end)
    action = await app.schedule(Note(), queue="billing")
    async with app.worker():
        done = await app.wait(action, timeout=20)
    [run] = await app.runs(action.id)
    assert done.state is State.succeeded
    assert run.started_at is not None
    # On time, although nothing wakes a worker at the end of a pause: its sweeps are 5 s apart.
    assert timedelta(0) <= run.started_at - end < timedelta(seconds=3)
    assert paused.paused_until == end


async def test_the_end_of_a_pause_does_not_lift_the_next_one(app: Duetime) -> None:
    first_end = datetime.now(UTC) + timedelta(seconds=1)
    async with app.worker() as worker:
        await app.queues.pause("billing", until=first_end)
        # On a busy machine the pause may be over before the worker learns of it.
        await until(lambda: worker._pauses.queues or datetime.now(UTC) > first_end)
        await app.queues.pause("billing", note="for longer")
        await app.schedule(Note(), queue="billing")
        await until(lambda: datetime.now(UTC) > first_end)
        await ran_since(app)
        assert await started(app) == 0


@pytest.mark.parametrize("change", [SUSPECT, PARKED], ids=["suspect", "parked"])
async def test_suspects_and_parked_actions_wait_too(postgres_url: str, change: str) -> None:
    async with Duetime(postgres_url, lease=5, grace=5) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None: ...

        @app.handler(kind="other")
        async def other(payload: Other) -> None: ...

        await app.queues.pause("billing")
        action = await app.schedule(Note(), queue="billing")
        with another(postgres_url) as stranger:
            stranger.execute(change.encode(), (action.id,))
        async with app.worker():
            await ran_since(app)
            assert await started(app) == 0
            await app.queues.resume("billing")
            assert (await app.wait(action, timeout=20)).state is State.succeeded


async def test_a_worker_tells_its_version_and_the_use_of_its_slots(app: Duetime) -> None:
    goes_on = asyncio.Event()

    @app.handler(kind="long")
    async def long(payload: Long) -> None:
        await goes_on.wait()

    async with app.worker(concurrency=3, queues={"billing": 2}) as worker:
        await app.schedule(Long(), queue="billing")
        await until(lambda: _slots_used(app, 1, worker._sweeper.sweep))
        [living] = await app.workers.list()
        assert living.version is not None
        assert (living.slots, living.concurrency) == (5, 3)
        assert [(pool.queues, pool.used) for pool in living.pools] == [(("billing",), 1), (None, 0)]
        assert living.started_at is not None
        assert living.started_at <= living.seen_at
        goes_on.set()


async def _slots_used(app: Duetime, count: int, sweep: Callable[[], Any]) -> bool:
    await sweep()
    [living] = await app.workers.list()
    return living.slots_used == count


class Long(Note):
    """A payload of a kind whose handler a test defines."""


async def test_why_says_that_the_slots_are_full(app: Duetime) -> None:
    goes_on = asyncio.Event()

    @app.handler(kind="long")
    async def long(payload: Long) -> None:
        await goes_on.wait()

    async with app.worker(concurrency=1) as worker:
        running = await app.schedule(Long())
        waiting = await app.schedule(Long())
        await until(lambda: _slots_used(app, 1, worker._sweeper.sweep))
        states = {
            running.id: [reason.code for reason in await app.why(running.id)],
            waiting.id: [reason.code for reason in await app.why(waiting.id)],
        }
        assert sorted(states.values()) == [["running"], ["slots-full"]]
        goes_on.set()


async def test_a_worker_that_starts_during_a_pause_catches_nothing_up(
    app: Duetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught_up: list[UUID] = []
    action = await app.schedule(
        Note(), at=datetime.now(UTC) - timedelta(minutes=5), queue="billing"
    )
    await app.queues.pause("billing")
    worker = app.worker()
    monkeypatch.setattr(worker._claimer, "_caught_up", lambda claims: caught_up.extend(claims))
    async with worker:
        await ran_since(app)
        await app.queues.resume("billing")
        await app.wait(action, timeout=20)
    assert caught_up == []
