"""Services of a worker besides running actions: catch-up, parking, pruning, audit, logs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest

from api.apps import Note, Other, with_payloads
from duetime import ANY, Duetime, Fail, Retry, State
from duetime.errors import ActionNotFound
from duetime.store.listeners import Listeners
from duetime.testing import FakeClock


def deafen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lose every wake, as a cut LISTEN connection or a full notify queue would."""
    monkeypatch.setattr(Listeners, "notify", lambda self, wakes: None)


async def test_an_action_whose_wake_was_lost_is_found_by_the_sweep(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Duetime(url, sweep=0.2, poll=0.2, poll_unheard=0.2, listen=False) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> str:
            return "found"

        async with app.worker():
            first = await app.schedule(Note())
            await app.wait(first.id, timeout=20)
            deafen(monkeypatch)
            action = await app.schedule(Note())
            done = await app.wait(action.id, timeout=20)
    assert (done.result, done.attempt) == ("found", 1)


async def test_a_worker_parks_what_it_does_not_know_and_another_brings_it_back(
    durable_url: str,
) -> None:
    async with Duetime(durable_url) as ignorant, Duetime(durable_url) as able:
        with_payloads(ignorant)

        @ignorant.handler()
        async def other(payload: Other) -> None: ...

        @able.handler(kind="note")
        async def note(payload: Note) -> str:
            return payload.text

        async with ignorant.worker():
            unknown = await ignorant.schedule(Note("unknown"))
            neighbour = await ignorant.schedule(Other())
            await ignorant.wait(neighbour.id, timeout=20)
            parked = await reason(ignorant, unknown.id)
            assert "'note'" in parked
            assert (await ignorant.get(unknown.id)).attempt == 0
            async with able.worker():
                done = await able.wait(unknown.id, timeout=30)
    assert (done.state, done.result, done.attempt) == (State.succeeded, "unknown", 1)
    assert done.error is None


async def reason(app: Duetime, action_id: UUID) -> str:
    """Wait until the action is parked; `wait` would wait for it to finish."""
    async with asyncio.timeout(20):
        while (action := await app.get(action_id)).error is None:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert action.state is State.scheduled
    return action.error


@pytest.fixture
async def pruned(url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    app = Duetime(url, clock=clock, retention=timedelta(days=1), retention_failed=timedelta(days=3))
    async with with_payloads(app):
        yield app


async def test_finished_actions_are_pruned_after_their_retention(
    pruned: Duetime, clock: FakeClock
) -> None:
    @pruned.handler(retry=Retry(delays=[1]))
    async def note(payload: Note) -> object:
        if payload.text == "fails":
            raise RuntimeError
        return Fail("no") if payload.text == "gives up" else None

    made = {t: await pruned.schedule(Note(t)) for t in ("works", "fails", "gives up")}
    made["cancelled"] = await pruned.schedule(Note(), delay=9)
    await pruned.cancel(made["cancelled"].id)
    made["waits"] = await pruned.schedule(Note("waits"), delay=86_400 * 365)
    await pruned.testing.advance(60)

    async def left() -> set[str]:
        return {name for name, a in made.items() if await exists(pruned, a.id)}

    async with pruned.worker():
        pass
    assert await left() == {"works", "fails", "gives up", "cancelled", "waits"}
    clock.advance(days=1)
    await prune_once(pruned, made["works"].id)
    assert await left() == {"fails", "gives up", "waits"}
    assert len(await pruned.runs(made["fails"].id)) == 2
    clock.advance(days=2)
    await prune_once(pruned, made["fails"].id)
    assert await left() == {"waits"}
    with pytest.raises(ActionNotFound, match="pruned"):
        await pruned.runs(made["fails"].id)


async def test_audit_entries_are_pruned_after_a_year(memory_app: Duetime, clock: FakeClock) -> None:
    old = await memory_app.grants.set("a", "jobs.read")
    clock.advance(days=364)
    new = await memory_app.grants.set("b", "jobs.read")
    clock.advance(days=1, seconds=1)
    async with memory_app.worker(), asyncio.timeout(20):
        while (await memory_app.audit.find(subject=old.id)).items:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert len((await memory_app.audit.find(subject=new.id)).items) == 1


async def exists(app: Duetime, action_id: UUID) -> bool:
    try:
        await app.get(action_id)
    except ActionNotFound:
        return False
    return True


async def prune_once(app: Duetime, gone: UUID) -> None:
    """Start a worker, which prunes when it starts."""
    async with app.worker(), asyncio.timeout(20):
        while await exists(app, gone):  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_every_administrative_act_is_in_the_audit_log(app: Duetime, clock: FakeClock) -> None:
    @app.handler()
    async def note(payload: Note) -> Fail:
        return Fail("no")

    action = await app.schedule(Note(), delay=60, tenant="acme", by="ann")
    due = action.due_at
    with app.acting(tenant="acme"):
        moved = await app.reschedule(action.id, delay=5, by="bob")
        await app.testing.advance(5)
        await app.retry(action.id, by="cy")
        await app.cancel(action.id, by="dee")
    entries = (await app.audit.find(subject=action.id, limit=10, tenant=ANY)).items
    assert [(e.verb, e.by, e.tenant, e.subject) for e in entries] == [
        ("cancel", "dee", "acme", "action"),
        ("retry", "cy", "acme", "action"),
        ("reschedule", "bob", "acme", "action"),
    ]
    cancelled, retried, rescheduled = entries
    assert (cancelled.before["state"], cancelled.after["state"]) == ("scheduled", "cancelled")
    assert (retried.before["state"], retried.after["state"]) == ("failed", "scheduled")
    assert due is not None
    assert moved.due_at is not None
    assert (rescheduled.before["due_at"], rescheduled.after["due_at"]) == (due, moved.due_at)
    assert rescheduled.at == clock.now() - timedelta(seconds=5)
    assert len({e.id for e in entries}) == 3
    newest = (await app.audit.find(subject=action.id, limit=1, tenant=ANY)).items
    assert newest == entries[:1]


async def test_failed_attempts_are_logged_with_their_ids_and_the_last_with_its_traceback(
    app: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    @app.handler(retry=Retry(delays=[60]))
    async def note(payload: Note) -> None:
        raise ZeroDivisionError("seen in the log")

    action = await app.schedule(Note(), tenant="acme", correlation_id="order:7")
    with caplog.at_level(logging.WARNING, "duetime"):
        await app.testing.advance(60)
    first, second = [r for r in caplog.records if r.name == "duetime.worker"]
    for number, record in enumerate((first, second), 1):
        extra = vars(record)
        assert extra["action_id"] == str(action.id)
        assert (extra["kind"], extra["attempt"]) == ("note", number)
        assert (extra["tenant"], extra["correlation_id"]) == ("acme", "order:7")
        assert str(action.id) in record.getMessage()
    assert (first.levelno, first.exc_info) == (logging.WARNING, None)
    assert second.levelno == logging.ERROR
    assert second.exc_info is not None
    assert second.exc_info[0] is ZeroDivisionError
    assert "retrying in 60.0 s" in first.getMessage()
    assert "again" not in second.getMessage()
    assert caplog.text.count("Traceback") == 1
    assert "in note" in caplog.text


async def test_outcomes_that_a_handler_chose_are_not_logged_as_failures(
    memory_app: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    @memory_app.handler()
    async def note(payload: Note) -> Fail:
        raise Fail("chosen")

    await memory_app.schedule(Note())
    with caplog.at_level(logging.WARNING, "duetime"):
        await memory_app.testing.drain()
    assert caplog.records == []
