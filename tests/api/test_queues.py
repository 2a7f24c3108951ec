"""`app.queues`, `app.workers` and `app.why`: what operators see and do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.apps import Note, case_id
from duetime import Duetime, PausedQueue, Queue, State
from duetime.errors import ActionNotFound, InvalidArgument, NaiveDatetime
from duetime.testing import FakeClock

NAIVE = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)


async def test_a_pause_is_returned_and_listed(app: Duetime, clock: FakeClock) -> None:
    until = clock.now() + timedelta(hours=2)
    await app.schedule(Note(), queue="billing")
    paused = await app.queues.pause("billing", by="ann", note="bank is down", until=until)
    assert paused == PausedQueue(
        name="billing",
        paused_at=clock.now(),
        paused_by="ann",
        pause_note="bank is down",
        paused_until=until,
        served_by=(),
        ignored_by=(),
    )
    assert await app.queues.list() == [
        Queue(
            name="billing",
            paused_at=clock.now(),
            paused_by="ann",
            pause_note="bank is down",
            paused_until=until,
            scheduled=1,
        )
    ]
    assert app.sync.queues.list() == await app.queues.list()


async def test_the_blocking_verbs_do_what_the_others_do(app: Duetime) -> None:
    assert app.sync.queues.pause("billing").name == "billing"
    assert [queue.name for queue in app.sync.queues.list()] == ["billing"]
    assert app.sync.queues.resume("billing", by="ann")
    assert not app.sync.queues.resume("billing")
    assert app.sync.queues.list() == []
    assert app.sync.workers.list() == await app.workers.list() == []


async def test_the_actor_is_the_one_in_whose_name_the_code_acts(app: Duetime) -> None:
    with app.acting(by="ann", tenant="a"):
        assert (await app.queues.pause("billing")).paused_by == "ann"
    assert (await app.queues.pause("mail")).paused_by == "system"
    [entry] = await app.audit.find(subject="billing")
    assert (entry.by, entry.subject, entry.source, entry.tenant) == ("ann", "queue", "python", None)


async def test_acts_are_audited_with_their_notes(app: Duetime, clock: FakeClock) -> None:
    until = clock.now() + timedelta(hours=1)
    await app.queues.pause("billing", by="ann", note="bank is down", until=until)
    await app.queues.resume("billing", by="bob", note="is back")
    resumed, paused = await app.audit.find(subject="billing")
    assert (paused.verb, paused.note, paused.after["paused_until"]) == (
        "pause",
        "bank is down",
        until,
    )
    assert (resumed.verb, resumed.by, resumed.note) == ("resume", "bob", "is back")
    assert resumed.before == paused.after


PAST = datetime(2001, 1, 1, tzinfo=UTC)
BAD_UNTIL: list[tuple[Any, type[Exception], str]] = [
    (PAST, InvalidArgument, "until.*give an instant in the future"),
    (NAIVE, NaiveDatetime, "until"),
    ("2030-01-01", InvalidArgument, "until.*aware datetime"),
    (3600, InvalidArgument, "until.*aware datetime"),
]


@pytest.mark.parametrize(("until", "error", "text"), BAD_UNTIL, ids=case_id)
async def test_a_bad_end_is_refused_and_changes_nothing(
    app: Duetime, until: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        await app.queues.pause("billing", until=until)
    assert await app.queues.list() == []
    assert not await app.audit.find(subject="billing")


async def test_a_long_name_is_refused(app: Duetime) -> None:
    with pytest.raises(InvalidArgument, match="201 characters, 200 are allowed"):
        await app.queues.pause("x" * 201)


async def test_paused_work_waits_in_tests_as_it_does_in_production(
    app: Duetime, clock: FakeClock
) -> None:
    ran: list[str] = []

    @app.handler(kind="note")
    async def note(payload: Note) -> None:
        ran.append(payload.text)

    await app.queues.pause("billing", until=clock.now() + timedelta(hours=1))
    await app.queues.pause("mail")
    for queue in ("billing", "mail", "open"):
        await app.schedule(Note(queue), queue=queue)
    assert await app.testing.drain() == 1
    stats = await app.stats()
    assert (stats.scheduled, stats.overdue, stats.paused_queues) == (2, 0, ("billing", "mail"))
    assert await app.testing.advance(hours=2) == 1
    assert ran == ["open", "billing"]
    [held] = await app.find(state=State.scheduled)
    [reason] = [reason for reason in await app.why(held.id) if reason.code == "queue-paused"]
    assert "queue mail is paused by system" in reason.text
    await app.queues.resume("mail")
    assert await app.testing.drain() == 1


async def test_why_by_id_and_by_key(app: Duetime) -> None:
    action = await app.schedule(Note(), key="k", delay=3600)
    found = await app.why(action.id)
    assert [reason.code for reason in found] == ["not-due", "no-worker"]
    assert all(reason.text and reason.remedy for reason in found)
    assert await app.why(kind="note", key="k") == found
    assert app.sync.why(action.id) == found
    with pytest.raises(InvalidArgument, match="give either"):
        await app.why(action.id, kind="note", key="k")
    with pytest.raises(InvalidArgument, match="id"):
        await app.why()


async def test_why_tells_nothing_of_another_tenant(app: Duetime) -> None:
    action = await app.schedule(Note(), key="k", tenant="a")
    assert await app.why(action.id, tenant="a")
    for tenant in ("b", None):
        with pytest.raises(ActionNotFound):
            await app.why(action.id, tenant=tenant)
        with pytest.raises(ActionNotFound):
            await app.why(kind="note", key="k", tenant=tenant)
