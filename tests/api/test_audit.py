"""`app.audit.find`: who changed what, and when; of the caller's tenant only."""

import asyncio
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from api.apps import Note, case_id
from duetime import ANY, AuditEntry, Duetime, Fail, Retry, State
from duetime.errors import InvalidArgument
from duetime.model.access.identity import Identity
from duetime.model.access.refusal import Refusal
from duetime.model.access.sessions import StoredSession
from duetime.model.act import SYSTEM_ACT, Act, acting_from
from duetime.model.audit import AUDITED_VERBS, changed_fields
from duetime.notifications.links import make_token
from duetime.testing import FakeClock
from duetime.testing.conformance.subscribing import unstored

NAME = "bills-close"
NAIVE = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)


@dataclass(frozen=True)
class ChangePlan:
    plan: str
    seats: int = 1


def seen(entries: Any) -> list[tuple[str, str]]:
    return [(entry.verb, entry.by) for entry in entries]


async def test_a_replacement_is_found_with_what_changed(app: Duetime, clock: FakeClock) -> None:
    app.payload(ChangePlan, kind="change-plan")
    action = await app.schedule(ChangePlan("basic"), delay=60, key="s1", by="ann")
    await app.schedule(ChangePlan("free"), delay=90, key="s1", by="mallory", if_exists="replace")
    [entry] = await app.audit.find(subject=action.id)
    assert isinstance(entry, AuditEntry)
    assert (entry.at, entry.by, entry.verb) == (clock.now(), "mallory", "replace")
    assert (entry.subject, entry.subject_id) == ("action", str(action.id))
    assert (entry.note, entry.source, entry.tenant) == (None, "python", None)
    assert entry.after["payload_changed"] == ["plan"]
    assert entry.before["due_at"] != entry.after["due_at"]
    assert not any(value in str(entry) for value in ("basic", "free"))
    assert app.sync.audit.find(subject=str(action.id)).items == [entry]


async def test_every_act_keeps_its_note_and_source(app: Duetime) -> None:
    app.payload(ChangePlan, kind="change-plan")
    jobs = app.jobs
    await jobs.put(NAME, "0 2 * * *", payload=ChangePlan("basic"), note="put it")
    await jobs.pause(NAME, note="pause it")
    await jobs.resume(NAME, note="resume it")
    triggered = await jobs.trigger(NAME, note="trigger it")
    await jobs.remove(NAME, note="remove it")
    await jobs.restore(NAME, note="restore it")
    notes = [f"{verb} it" for verb in ("restore", "remove", "trigger", "resume", "pause", "put")]
    assert [entry.note for entry in await app.audit.find(subject=NAME)] == notes

    await app.cancel_many(kind="change-plan", note="no triggers")
    moved = await app.schedule(ChangePlan("pro"), delay=60)
    await app.reschedule(moved.id, delay=90, note="later")
    with acting_from("api"):
        await app.cancel(moved.id, note="customer left")
    entries = await app.audit.find(subject=moved.id)
    assert [(entry.note, entry.source) for entry in entries] == [
        ("customer left", "api"),
        ("later", "python"),
    ]
    assert triggered.state is State.scheduled


async def test_a_schedule_is_audited_where_its_action_does_not_say_it_all(app: Duetime) -> None:
    app.payload(ChangePlan, kind="change-plan")
    plain = await app.schedule(ChangePlan("basic"))
    [noted] = await app.schedule_many([app.request(ChangePlan("free"))], note="asked by phone")
    with acting_from("cli"):
        by_command = await app.schedule(ChangePlan("pro"), by="ann", key="s1")
        again = await app.schedule(ChangePlan("pro"), by="ann", key="s1")
    assert again.id == by_command.id
    entries = [(e.subject_id, e.verb, e.by, e.note, e.source) for e in await app.audit.find()]
    assert sorted(entries) == sorted(
        [
            (str(noted.id), "schedule", "system", "asked by phone", "python"),
            (str(by_command.id), "schedule", "ann", None, "cli"),
        ]
    )
    assert plain.created_by == "system"


async def test_a_replacement_keeps_its_note(app: Duetime) -> None:
    app.payload(ChangePlan, kind="change-plan")
    await app.schedule(ChangePlan("basic"), delay=60, key="s1")
    given: dict[str, Any] = {"if_exists": "replace", "note": "they asked"}
    replaced = await app.schedule(ChangePlan("free"), delay=90, key="s1", by="ann", **given)
    [entry] = await app.audit.find(subject=replaced.id)
    assert (entry.verb, entry.by, entry.note) == ("replace", "ann", "they asked")


async def test_retries_keep_their_note(app: Duetime) -> None:
    @app.handler(kind="change-plan", retry=Retry.none())
    async def change_plan(payload: ChangePlan) -> None:
        raise Fail("no such plan")

    first, second = [await app.schedule(ChangePlan("x")) for _ in range(2)]
    await app.testing.drain()
    await app.retry(first.id, note="plan added")
    await app.retry_many(kind="change-plan", note="all of them")
    assert [entry.note for entry in await app.audit.find(verb="retry")] == [
        "all of them",
        "plan added",
    ]
    assert [entry.subject_id for entry in await app.audit.find(verb="retry")] == [
        str(second.id),
        str(first.id),
    ]


@pytest.mark.parametrize("note", ["", 7, "a\x00b", "x" * 501])
async def test_a_note_that_cannot_be_kept_changes_nothing(app: Duetime, note: Any) -> None:
    action = await app.schedule(Note(), delay=60)
    with pytest.raises(InvalidArgument, match="note"):
        await app.cancel(action.id, note=note)
    assert (await app.get(action.id)).state is State.scheduled


async def test_many_that_replace_are_each_found(app: Duetime) -> None:
    requests = [app.request(Note(str(n)), delay=60, key=f"k{n}") for n in range(3)]
    made = await app.schedule_many(requests)
    again = [app.request(Note("x"), delay=60, key=f"k{n}", by="bob") for n in range(2)]
    await app.schedule_many(again, if_exists="replace")
    for action, expected in zip(
        made, ([("replace", "bob")], [("replace", "bob")], []), strict=True
    ):
        assert seen(await app.audit.find(subject=action.id)) == expected


async def test_racing_replacements_are_audited_in_the_order_of_their_effects(
    durable_url: str,
) -> None:
    """What an entry shows as before is what the entry before it left behind."""
    async with Duetime(durable_url) as app:
        app.payload(Note, kind="note")
        action = await app.schedule(Note("first"), delay=60, key="k")

        async def replace(count: int) -> None:
            text = f"text {count}"
            await app.schedule(Note(text), delay=60 + count, key="k", if_exists="replace", by=text)

        await asyncio.gather(*(replace(count) for count in range(12)))
        entries = [*await app.audit.find(subject=action.id, limit=200)]
        assert len(entries) == 12
        left = {str(entry.after["payload"]): entry for entry in entries}
        last = await app.get(action.id)
        assert isinstance(last.payload, Note)
        entry, chain = next(e for e in entries if e.by == last.payload.text), 1
        while str(entry.before["payload"]) in left:
            entry, chain = left[str(entry.before["payload"])], chain + 1
        assert chain == 12


async def test_jobs_are_found_by_name_and_each_filter_narrows(
    app: Duetime, clock: FakeClock
) -> None:
    start = clock.now()
    await app.jobs.put(NAME, "0 2 * * *", payload=Note("secret"), by="ann")
    clock.advance(seconds=1)
    await app.jobs.pause(NAME, by="bob", note="why")
    clock.advance(seconds=1)
    await app.jobs.resume(NAME, by="ann")
    found = [("resume", "ann"), ("pause", "bob"), ("put", "ann")]
    later = start + timedelta(seconds=1)
    wanted: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
        ({}, found),
        ({"subject": NAME}, found),
        ({"subject": "bills-send"}, []),
        ({"by": "ann"}, [found[0], found[2]]),
        ({"verb": "pause"}, [found[1]]),
        ({"since": later}, found[:2]),
        ({"before": later}, found[2:]),
        ({"since": later, "before": later + timedelta(seconds=1), "by": "bob"}, [found[1]]),
        ({"limit": 1}, found[:1]),
    ]
    for arguments, expected in wanted:
        assert seen(await app.audit.find(**arguments)) == expected, arguments
    assert "secret" not in str(await app.audit.find())


async def test_pages_hold_everything_once(app: Duetime) -> None:
    action = await app.schedule(Note(), delay=60)
    for count in range(5):
        await app.reschedule(action.id, delay=60, by=f"user-{count}")
    everything = (await app.audit.find()).items
    pages, cursor = [], None
    while True:
        page = await app.audit.find(limit=2, cursor=cursor, verb="reschedule")
        pages.append(page.items)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert [len(items) for items in pages] == [2, 2, 1]
    assert [entry for items in pages for entry in items] == everything


async def test_a_tenant_sees_its_own_entries_only(app: Duetime) -> None:
    actions = {tenant: await app.schedule(Note(), delay=60, tenant=tenant) for tenant in ("a", "b")}
    for tenant, action in actions.items():
        await app.cancel(action.id, tenant=tenant, by=f"user of {tenant}")
    assert seen(await app.audit.find(tenant="a")) == [("cancel", "user of a")]
    assert seen(await app.audit.find(tenant="a", subject=actions["b"].id)) == []
    assert seen(await app.audit.find()) == []
    assert len([*await app.audit.find(tenant=ANY)]) == 2
    with app.acting(tenant="b"):
        assert seen(await app.audit.find()) == [("cancel", "user of b")]
        assert seen(app.sync.audit.find()) == [("cancel", "user of b")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"subject": 5}, "give an action's id or a job's name"),
        ({"subject": ""}, "must not be empty"),
        ({"subject": "x" * 201}, "200 are allowed"),
        ({"by": ""}, "must not be empty"),
        ({"by": 5}, "give a string"),
        ({"verb": "cancle"}, "did you mean 'cancel'"),
        ({"verb": ["cancel"]}, "give one of"),
        ({"since": NAIVE}, "no time zone"),
        ({"before": "today"}, "aware datetime"),
        ({"limit": 0}, "from 1 to 200"),
        ({"limit": 201}, "from 1 to 200"),
        ({"cursor": "garbage"}, "next_cursor"),
        ({"cursor": "é"}, "next_cursor"),
        ({"cursor": 5}, "next_cursor"),
        ({"cursor": ""}, "next_cursor"),
        ({"tenant": 5}, "give a string"),
    ],
    ids=case_id,
)
async def test_a_wrong_argument_is_refused(
    memory_app: Any, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        await memory_app.audit.find(**arguments)
    with pytest.raises(InvalidArgument, match=said):
        memory_app.sync.audit.find(**arguments)


async def test_a_cursor_of_another_filter_is_refused(memory_app: Duetime) -> None:
    action = await memory_app.schedule(Note(), delay=60)
    for _ in range(3):
        await memory_app.reschedule(action.id, delay=60, by="ann")
    cursor = (await memory_app.audit.find(limit=1, by="ann")).next_cursor
    assert cursor is not None
    assert len((await memory_app.audit.find(limit=2, by="ann", cursor=cursor)).items) == 2
    others: list[dict[str, Any]] = [{}, {"by": "bob"}, {"by": "ann", "tenant": ANY}]
    for other in others:
        with pytest.raises(InvalidArgument, match="belongs to another filter"):
            await memory_app.audit.find(cursor=cursor, **other)


async def test_entries_of_the_callers_own_transaction_are_seen_in_it(tmp_path: Any) -> None:
    app = Duetime(f"sqlite:///{tmp_path / 'shop.db'}")
    app.payload(Note, kind="note")
    action = app.sync.schedule(Note(), delay=60)
    connection = sqlite3.connect(tmp_path / "shop.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    app.sync.cancel(action.id, by="ann", connection=connection)
    assert seen(app.sync.audit.find(connection=connection)) == [("cancel", "ann")]
    connection.execute("ROLLBACK")
    connection.close()
    assert seen(app.sync.audit.find()) == []
    app.sync.close()


async def test_each_verb_that_is_written_can_be_asked_for(app: Duetime, clock: FakeClock) -> None:
    @app.handler()
    def run(payload: Note) -> None:
        raise RuntimeError("no")

    action = await app.schedule(Note(), delay=60, key="k")
    await app.schedule(Note("other"), delay=60, key="k", if_exists="replace")
    await app.reschedule(action.id, delay=0)
    await app.testing.advance(minutes=10)
    await app.retry(action.id)
    await app.cancel((await app.schedule(Note(), delay=60)).id)
    await app.jobs.put(NAME, "0 * * * *", payload=Note())
    await app.jobs.pause(NAME)
    await app.jobs.resume(NAME)
    await app.jobs.trigger(NAME)
    await app.jobs.backfill(NAME, clock.now() - timedelta(hours=3), clock.now(), dry_run=False)
    await app.jobs.remove(NAME)
    await app.jobs.restore(NAME)
    await app.grants.set("support", "jobs.read")
    key = await app.api_keys.create("deploy", ["support"])
    session = StoredSession(uuid4(), Identity("ann"), key.id, False, 0, 0, 0, "")
    await app.store.perform(app.store.add_session(session, Act("ann")))
    await app.store.perform(app.store.end_session(session.id, Act("ann")))
    await app.api_keys.revoke(key.id)
    await app.store.perform(app.store.add_refusal(Refusal("rate", "GET /api/me"), SYSTEM_ACT))
    gone = await app.schedule(Note(), delay=60, correlation_id="c", note="why")
    await app.bulk("cancel", ids=[gone.id])
    await app.repeat(gone.id)
    await app.erase(correlation_id="c")
    await app.store.perform(app.store.audit_transition("sweep", Act("ann"), "Order.at", {}, {}))
    await change_a_subscription(app, clock)
    assert {entry.verb for entry in await app.audit.find(limit=200)} == {*AUDITED_VERBS}
    for verb in AUDITED_VERBS:
        assert {entry.verb for entry in await app.audit.find(verb=verb)} == {verb}


async def change_a_subscription(app: Duetime, clock: FakeClock) -> None:
    """All that can happen to one by e-mail; this app has no mail server."""
    new = unstored(channel="email", address="ann@example.org")
    stored = await app.store.perform(app.store.add_subscription(new, Act("ann")))
    verbs = app.notifications
    await verbs.test(stored.id)
    await verbs.confirm(make_token("confirm", stored))
    await verbs.test(stored.id)
    await verbs.change(stored.id, minimum="critical")
    await verbs.mute(stored.id, until=clock.now() + timedelta(hours=1))
    await verbs.mute(stored.id, until=None)
    await verbs.unsubscribe(make_token("unsubscribe", stored))


def test_changed_fields_are_named() -> None:
    cases = [
        ('{"a": 1}', '{"a": 1}', []),
        ('{"a": 1}', '{"a": true}', ["a"]),
        ('{"a": 1}', '{"a": 1, "b": null}', ["b"]),
        ('{"a": {"x": 1}}', '{"a": {"x": 2}}', ["a"]),
        ('{"a": 1}', "not json", ["a"]),
        ("[1]", "[2]", []),
    ]
    for before, after, names in cases:
        assert changed_fields(before, after) == names, (before, after)


async def test_an_unknown_subject_has_no_entries(memory_app: Duetime) -> None:
    assert (await memory_app.audit.find(subject=uuid4())).items == []
    assert (await memory_app.audit.find(since=datetime(2000, 1, 1, tzinfo=UTC))).items == []
