"""`app.repeat`: a finished action is scheduled anew."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from api.apps import Note, Other, case_id
from duetime import Action, ActionCancelled, Duetime, State
from duetime.errors import (
    ActionNotFound,
    IllegalState,
    InvalidArgument,
    InvalidPayload,
    UnknownKind,
)
from duetime.testing import FakeClock

AWARE = datetime(2030, 1, 1, tzinfo=UTC)
NAIVE = AWARE.replace(tzinfo=None)


async def finished(app: Duetime, **given: Any) -> Action:
    action = await app.schedule(Note("first"), delay=60, **given)
    return await app.cancel(action.id, tenant=given.get("tenant"))


async def test_a_finished_action_is_scheduled_anew(app: Duetime, clock: FakeClock) -> None:
    old = await finished(app, key="k", correlation_id="c", priority="high", queue="mails")
    new = await app.repeat(old.id, by="bob", note="asked again")
    assert (new.payload, new.kind, new.state) == (Note("first"), "note", State.scheduled)
    assert (new.priority, new.queue, new.correlation_id) == ("high", "mails", "c")
    assert (new.key, new.due_at, new.created_by) == (None, clock.now(), "bob")
    assert await app.get(old.id) == old
    [entry] = await app.audit.find(verb="repeat")
    assert (entry.subject_id, entry.note) == (str(old.id), "asked again")
    assert entry.after["repeated_as"] == str(new.id)


async def test_at_delay_and_payload(app: Duetime, clock: FakeClock) -> None:
    old = await finished(app)
    at = clock.now() + timedelta(hours=1)
    assert (await app.repeat(old.id, at=at)).due_at == at
    assert (await app.repeat(old.id, delay=3600)).due_at == at
    assert app.sync.repeat(old.id, payload=Note("second")).payload == Note("second")


async def test_it_runs_like_any_other(app: Duetime) -> None:
    ran: list[str] = []

    @app.handler(kind="note")
    async def handle(note: Note) -> None:
        ran.append(note.text)

    first = await app.schedule(Note("again"))
    await app.testing.drain()
    await app.repeat(first.id)
    await app.testing.drain()
    assert ran == ["again", "again"]


async def test_an_occurrence_of_a_job_is_repeated_outside_its_job(app: Duetime) -> None:
    ran: list[Other] = []

    @app.handler(kind="other")
    async def count_up(payload: Other) -> None:
        ran.append(payload)

    await app.jobs.put("count-up", "0 0 * * *", payload=Other(1))
    triggered = await app.jobs.trigger("count-up")
    await app.testing.drain()
    new = await app.repeat(triggered.id, payload=Other(2))
    assert (triggered.job, new.job, new.kind) == ("count-up", None, "other")
    await app.testing.drain()
    assert ran == [Other(1), Other(2)]


async def test_a_payload_of_another_kind_is_refused(app: Duetime) -> None:
    old = await finished(app)
    for payload in (Other(), {"text": "x"}, Note, "x"):
        with pytest.raises(InvalidArgument, match=r"payload=.*instance of Note"):
            await app.repeat(old.id, payload=payload)
    with pytest.raises(InvalidPayload):
        await app.repeat(old.id, payload=Note(text=7))  # type: ignore[arg-type]
    assert len(await app.find()) == 1


async def test_a_kind_that_is_not_known_here_keeps_its_payload(durable_url: str) -> None:
    async with Duetime(durable_url) as app:
        app.payload(Note, kind="note")
        old = await finished(app)
    async with Duetime(durable_url) as stranger:
        new = await stranger.repeat(old.id)
        assert new.payload == {"text": "first"}
        with pytest.raises(UnknownKind):
            await stranger.repeat(old.id, payload=Note())


async def test_erased_data_is_not_repeated(app: Duetime) -> None:
    old = await finished(app, correlation_id="c")
    await app.erase(correlation_id="c")
    with pytest.raises(InvalidPayload):
        await app.repeat(old.id)
    assert len(await app.find()) == 1
    assert (await app.repeat(old.id, payload=Note("new"))).payload == Note("new")


async def test_an_unfinished_action_is_not_repeated(app: Duetime) -> None:
    action = await app.schedule(Note(), delay=60)
    with pytest.raises(IllegalState, match="scheduled"):
        await app.repeat(action.id)
    with pytest.raises(ActionNotFound):
        await app.repeat(uuid4())


async def test_other_tenants_cannot_repeat(app: Duetime) -> None:
    old = await finished(app, tenant="a")
    with pytest.raises(ActionNotFound):
        await app.repeat(old.id, tenant="b")
    assert (await app.repeat(old.id, tenant="a")).tenant == "a"


async def test_no_event_is_emitted_about_the_finished_action(app: Duetime) -> None:
    seen: list[object] = []
    old = await finished(app)
    app.on(ActionCancelled, seen.append)
    await app.repeat(old.id)
    assert seen == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at": NAIVE}, "at="),
        ({"at": AWARE, "delay": 5}, "either at= or delay="),
        ({"delay": -1}, "negative"),
        ({"by": " "}, "by"),
        ({"note": "\x00"}, "note"),
        ({"tenant": ""}, "tenant"),
        ({"action_id": "x"}, "id='x'"),
        ({"action_id": None}, "id=None"),
    ],
    ids=case_id,
)
async def test_bad_input_schedules_nothing(
    memory_app: Duetime, given: dict[str, Any], message: str
) -> None:
    old = await finished(memory_app)
    with pytest.raises(InvalidArgument, match=message):
        await memory_app.repeat(**{"action_id": old.id, **given})
    assert len(await memory_app.find()) == 1
