"""`get`, `cancel`, `reschedule` and `retry` of the action that a kind and key name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from api.apps import Note, Other
from duetime import ANY, Action, ActionCancelled, Duetime, Fail, Retry, State
from duetime.errors import ActionNotFound, DuplicateKey, IllegalState, InvalidArgument
from duetime.testing import FakeClock

NAMED: dict[str, Any] = {"kind": "note", "key": "k"}
VERBS: dict[str, dict[str, Any]] = {
    "get": {},
    "cancel": {},
    "reschedule": {"delay": 5},
    "retry": {},
}


@pytest.fixture
def failing(app: Duetime) -> Duetime:
    """An app whose handler of `note` fails if the text says so."""

    @app.handler(retry=Retry.none())
    async def note(payload: Note) -> None:
        if payload.text == "bad":
            raise Fail("as asked")

    return app


async def finish(app: Duetime, text: str, **given: Any) -> Action:
    action = await app.schedule(Note(text), key="k", **given)
    await app.testing.drain()
    return await app.get(action.id, tenant=ANY)


async def everything(app: Duetime) -> object:
    """Return all actions and audit entries of all tenants."""
    actions, audited = await app.find(tenant=ANY), await app.audit.find(tenant=ANY)
    return list(actions), [(entry.verb, entry.subject_id) for entry in audited]


async def test_each_verb_finds_the_unfinished_action_by_its_key(
    app: Duetime, clock: FakeClock
) -> None:
    action = await app.schedule(Note(), key="k", delay=60)
    other = await app.schedule(Note(), key="other", delay=60)
    assert await app.get(**NAMED) == await app.get(action.id)
    moved = await app.reschedule(**NAMED, delay=5, by="ann")
    assert moved.due_at is not None
    assert (moved.id, (moved.due_at - clock.now()).total_seconds()) == (action.id, 5)
    cancelled = await app.cancel(**NAMED, by="ann")
    assert (cancelled.id, cancelled.state) == (action.id, State.cancelled)
    audited = await app.audit.find(by="ann")
    assert [(entry.verb, entry.subject_id) for entry in audited] == [
        ("cancel", str(action.id)),
        ("reschedule", str(action.id)),
    ]
    assert (await app.get(other.id)).state is State.scheduled


async def test_the_blocking_verbs_find_it_too(app: Duetime) -> None:
    action = app.sync.schedule(Note(), key="k", delay=60)
    assert app.sync.get(**NAMED).id == action.id
    assert app.sync.reschedule(**NAMED, delay=5).id == action.id
    assert app.sync.cancel(**NAMED).state is State.cancelled
    with pytest.raises(ActionNotFound):
        app.sync.retry(**NAMED)


async def test_get_prefers_the_unfinished_action_and_then_the_newest(failing: Duetime) -> None:
    first, second = await finish(failing, "bad"), await finish(failing, "good")
    assert (await failing.get(**NAMED)).id == second.id
    await failing.retry(first.id)
    assert (await failing.get(**NAMED)).id == first.id


async def test_retry_takes_the_newest_failed_action(failing: Duetime) -> None:
    await finish(failing, "bad")
    failed, _ = await finish(failing, "bad"), await finish(failing, "good")
    retried = await failing.retry(**NAMED)
    assert (retried.id, retried.state) == (failed.id, State.scheduled)
    with pytest.raises(DuplicateKey, match=str(failed.id)):
        await failing.retry(**NAMED)


async def test_cancel_by_key_asks_a_running_handler_to_stop(app: Duetime) -> None:
    seen: list[object] = []

    @app.handler()
    async def note(payload: Note) -> None:
        try:
            await app.cancel(**NAMED)
        except IllegalState as error:
            seen.append(error.state)
        seen.append((await app.cancel(**NAMED, running=True)).state)

    await app.schedule(Note(), key="k")
    await app.testing.drain()
    assert seen == ["running", State.running]


async def test_cancel_by_key_settles_children_and_emits_events(app: Duetime) -> None:
    emitted: list[ActionCancelled] = []
    app.on(ActionCancelled, emitted.append)
    parent = await app.schedule(Note(), key="k", delay=60)
    child = await app.schedule(Other(), after=parent)
    await app.cancel(**NAMED)
    assert (await app.get(child.id)).state is State.cancelled
    assert {event.action_id for event in emitted} == {parent.id, child.id}


@pytest.mark.parametrize("verb", ["cancel", "reschedule", "retry"])
async def test_a_key_of_a_finished_action_changes_nothing(failing: Duetime, verb: str) -> None:
    await finish(failing, "good")
    before = await everything(failing)
    states = "failed" if verb == "retry" else "unfinished"
    with pytest.raises(ActionNotFound, match=f"no {states} action of kind 'note' with key 'k'"):
        await getattr(failing, verb)(**NAMED, **VERBS[verb])
    assert await everything(failing) == before


@pytest.mark.parametrize("verb", VERBS)
async def test_verbs_stay_in_their_tenant(failing: Duetime, verb: str) -> None:
    app = failing
    text, delay = ("bad", 0) if verb == "retry" else ("good", 60)
    ours = await finish(app, text, delay=delay, tenant="a")
    theirs = await finish(app, text, delay=delay, tenant="b")
    with app.acting(tenant="a"):
        assert (await getattr(app, verb)(**NAMED, **VERBS[verb])).id == ours.id
    assert await app.get(theirs.id, tenant="b") == theirs
    for tenant in (None, "c"):
        with pytest.raises(ActionNotFound, match="kind 'note' with key 'k'"):
            await getattr(app, verb)(**NAMED, **VERBS[verb], tenant=tenant)
    assert await app.get(theirs.id, tenant="b") == theirs


@pytest.mark.parametrize("verb", VERBS)
async def test_any_tenant_is_no_guess(failing: Duetime, verb: str) -> None:
    app = failing
    text, delay = ("bad", 0) if verb == "retry" else ("good", 60)
    only = await finish(app, text, delay=delay, tenant="a")
    assert (await app.get(**NAMED, tenant=ANY)).id == only.id
    await finish(app, text, delay=delay, tenant="b")
    before = await everything(app)
    with pytest.raises(InvalidArgument, match=r"several tenants .*name the tenant"):
        await getattr(app, verb)(**NAMED, **VERBS[verb], tenant=ANY)
    assert await everything(app) == before


NEITHER_NOR: list[tuple[dict[str, Any], str]] = [
    ({}, "id=None.*the action's id, a UUID, or kind= and key="),
    ({"action_id": None}, "id=None.*the action's id, a UUID, or kind= and key="),
    ({"action_id": UUID(int=7), "kind": "note", "key": "k"}, "key='k'.*either the action's id, or"),
    ({"action_id": UUID(int=7), "key": "k"}, "key='k'.*either the action's id, or"),
    ({"action_id": UUID(int=7), "kind": "note"}, "kind='note'.*either the action's id, or"),
    ({"key": "k"}, "key='k'.*give kind="),
    ({"kind": "note"}, "kind='note'.*give key="),
    *(({"kind": bad, "key": "k"}, "kind=") for bad in ("", " ", "a\x00", 7, b"k", Note)),
    *(({"kind": "note", "key": bad}, "key=") for bad in ("", " ", "\ud800", 7, b"k", UUID(int=7))),
    ({"kind": "k" * 201, "key": "k"}, "201 characters"),
    ({"kind": "note", "key": "k" * 501}, "501 characters"),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("given", "message"), NEITHER_NOR, ids=lambda case: str(case)[:40])
async def test_an_id_or_kind_and_key_name_an_action_never_both(
    memory_app: Duetime, verb: str, given: dict[str, Any], message: str
) -> None:
    await memory_app.schedule(Note(), key="k", delay=60)
    before = await everything(memory_app)
    call: Callable[..., Any] = getattr(memory_app, verb)
    with pytest.raises(InvalidArgument, match=message):
        await call(**given, **VERBS[verb])
    assert await everything(memory_app) == before


@pytest.mark.parametrize("verb", ["get", "cancel", "reschedule", "retry", "runs"])
async def test_an_action_in_place_of_its_id_names_the_remedy(app: Duetime, verb: str) -> None:
    action = await app.schedule(Note(), delay=60)
    with pytest.raises(InvalidArgument, match=rf"pass its id: {action.id}"):
        await getattr(app, verb)(action, **({"delay": 1} if verb == "reschedule" else {}))
    assert await app.get(action.id) == replace(action, created=False)
