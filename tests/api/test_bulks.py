"""`app.bulk`: many actions at once, counted before, and resumed after."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from api.apps import Note
from duetime import ANY, ActionCancelled, ActionRescheduled, BulkResult, Duetime, Retry, State
from duetime.errors import InvalidArgument
from duetime.events.types import Event
from duetime.model.bulk import BULK_SIZE, MAX_BULK_IDS, to_bulk_cursor
from duetime.model.validation import MILLENNIUM_SECONDS
from duetime.testing import FakeClock

AWARE = datetime(2030, 1, 1, tzinfo=UTC)
NAIVE = AWARE.replace(tzinfo=None)
NOTES = {"kind": "note"}
SOME_ID = UUID(int=7)
TOO_MANY = tuple(UUID(int=number) for number in range(MAX_BULK_IDS + 1))


async def scheduled(app: Duetime, count: int, **given: Any) -> None:
    await app.schedule_many([app.request(Note(), delay=60, **given) for _ in range(count)])


async def test_a_dry_run_counts_and_shows_some(app: Duetime) -> None:
    await scheduled(app, 12)
    found = await app.bulk("cancel", filter=NOTES, dry_run=True)
    assert (found.count, found.capped, len(found.sample)) == (12, False, 10)
    assert found.sample == (await app.find(limit=10)).items
    assert (found.changed, found.skipped, found.next_cursor) == (0, 0, None)
    assert await app.audit.find() == app.sync.audit.find()
    assert len(await app.audit.find()) == 0


async def test_a_count_is_capped(memory_app: Duetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duetime.store.memory.bulks.MAX_COUNTED", 5)
    await scheduled(memory_app, 6)
    found = await memory_app.bulk("cancel", filter=NOTES, dry_run=True)
    assert (found.count, found.capped) == (5, True)


async def test_every_action_is_shifted_once_over_several_calls(
    app: Duetime, clock: FakeClock
) -> None:
    await scheduled(app, BULK_SIZE + 5)
    first = await app.bulk("shift", filter=NOTES, seconds=3600, by="bob", note="outage")
    assert (first.changed, first.skipped) == (BULK_SIZE, 0)
    assert first.next_cursor is not None
    again = await app.bulk("shift", cursor=first.next_cursor, by="bob")
    assert again == BulkResult(5, 0, None)
    assert await app.bulk("shift", cursor=first.next_cursor, by="bob") == again
    assert app.sync.bulk("shift", cursor=first.next_cursor, by="bob") == again
    due = clock.now() + timedelta(seconds=3660)
    assert len((await app.find(due_from=due, limit=200)).items) == 200
    assert (await app.find(due_before=due)).items == []
    entries = [entry async for entry in app.audit.export(verb="reschedule")]
    assert len({entry.subject_id for entry in entries}) == len(entries) == BULK_SIZE + 5
    assert {(entry.by, entry.note) for entry in entries} == {("bob", "outage")}
    [entry] = await app.audit.find(verb="bulk")
    assert {entry.subject_id} == {e.after["bulk"] for e in entries}
    assert entry.after["count"] == BULK_SIZE + 5


async def test_a_reply_lost_at_the_first_call_can_be_asked_for_again(app: Duetime) -> None:
    """A caller that makes the cursor itself may send the first call again."""
    action = await app.schedule(Note(), delay=60)
    cursor = to_bulk_cursor(uuid4(), 0)
    for _ in range(3):
        result = await app.bulk("shift", filter=NOTES, seconds=5, cursor=cursor)
        assert result == BulkResult(1, 0, None)
    assert action.due_at is not None
    assert (await app.get(action.id)).due_at == action.due_at + timedelta(seconds=5)


async def test_ids_may_be_texts_and_repeat(app: Duetime) -> None:
    first, second = [await app.schedule(Note(), delay=60) for _ in range(2)]
    ids: list[UUID | str] = [first.id, str(first.id), uuid4()]
    assert await app.bulk("cancel", ids=ids) == BulkResult(1, 1, None)
    assert (await app.get(second.id)).state is State.scheduled


async def test_at_moves_all_to_one_time(app: Duetime, clock: FakeClock) -> None:
    await scheduled(app, 3)
    to = clock.now() + timedelta(days=1)
    await app.bulk("reschedule", filter=NOTES, at=to)
    assert {action.due_at for action in await app.find()} == {to}


async def test_failed_actions_are_retried(app: Duetime) -> None:
    failing = True

    @app.handler(kind="note", retry=Retry.none())
    async def handle(note: Note) -> None:
        if failing:
            raise ValueError("down")

    await app.schedule_many([app.request(Note()) for _ in range(3)])
    await app.testing.drain()
    failing = False
    assert (await app.bulk("retry", filter=NOTES)).changed == 3
    await app.testing.drain()
    assert {action.state for action in await app.find()} == {State.succeeded}


async def test_children_of_cancelled_actions_are_settled(app: Duetime) -> None:
    parent = await app.schedule(Note(), delay=60)
    child = await app.schedule(Note("then"), after=parent)
    await app.bulk("cancel", ids=[parent.id])
    assert (await app.get(child.id)).state is State.cancelled


async def test_a_bulk_in_a_tenant(app: Duetime) -> None:
    for tenant in (None, "a", "b"):
        await app.schedule(Note(), delay=60, tenant=tenant)
    assert (await app.bulk("cancel", filter={"kind": "note", "tenant": "a"})).changed == 1
    with app.acting(tenant="b"):
        assert (await app.bulk("cancel", filter=NOTES)).changed == 1
    assert (await app.bulk("cancel", filter=NOTES, tenant=ANY)).changed == 1


async def test_another_actor_or_tenant_cannot_go_on(app: Duetime) -> None:
    await scheduled(app, BULK_SIZE + 1, tenant="a")
    first = await app.bulk("cancel", filter=NOTES, by="bob", tenant="a")
    others: list[dict[str, Any]] = [
        {"by": "eve", "tenant": "a"},
        {"by": "bob", "tenant": "b"},
        {"by": "bob"},
    ]
    for other in others:
        with pytest.raises(InvalidArgument, match="cursor") as caught:
            await app.bulk("cancel", cursor=first.next_cursor, **other)
        assert "bob" not in str(caught.value)
    assert len(await app.find(state="scheduled", tenant=ANY)) == 1
    last = await app.bulk("cancel", cursor=first.next_cursor, by="bob", tenant="a")
    assert last.changed == 1


async def test_events_are_emitted_for_each_action(app: Duetime) -> None:
    seen: list[Event] = []
    app.on(ActionCancelled, seen.append)
    app.on(ActionRescheduled, seen.append)
    action = await app.schedule(Note(), delay=60)
    result = await app.bulk("shift", ids=[action.id], seconds=5, by="bob")
    await app.bulk("cancel", ids=[action.id], by="eve")
    assert result.changed == 1
    assert [(type(e), e.by) for e in seen] == [(ActionRescheduled, "bob"), (ActionCancelled, "eve")]


async def test_durable_subscribers_get_an_action_in_the_same_transaction(app: Duetime) -> None:
    async def tell(event: ActionCancelled) -> None: ...

    app.on(ActionCancelled, tell, durable=True, kind="note")
    await scheduled(app, 3)
    await app.bulk("cancel", filter=NOTES)
    subscribed = await app.find(state="scheduled")
    assert len(subscribed) == 3
    assert {action.kind for action in subscribed} == {"on-action-cancelled-tell"}


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("delete", {"filter": NOTES}, "verb='delete'.*'cancel', 'retry'"),
    ("cancle", {"filter": NOTES}, "did you mean 'cancel'"),
    (7, {"filter": NOTES}, "verb=7"),  # type: ignore[list-item]
    ("cancel", {}, "filter=None.*filter= or by ids="),
    ("cancel", {"filter": {}}, "filter="),
    ("cancel", {"filter": {"kind": None, "queue": None}}, "filter="),
    ("cancel", {"filter": "note"}, "filter='note'"),
    ("cancel", {"filter": [("kind", "note")]}, "filter="),
    ("cancel", {"filter": {"kinds": "note"}}, "kinds"),
    ("cancel", {"filter": {"kind": "note", "limit": 5}}, "limit"),
    ("cancel", {"filter": {"kind": "note", "cursor": "x"}}, "cursor"),
    ("cancel", {"filter": {"kind": "a\x00"}}, "NUL"),
    ("cancel", {"filter": {"kind": 7}}, "kind"),
    ("cancel", {"filter": {"state": "failed"}}, "scheduled actions only"),
    ("retry", {"filter": {"state": "scheduled"}}, "failed actions only"),
    ("cancel", {"filter": {"due_from": NAIVE}}, "due_from"),
    ("cancel", {"filter": {"kind": "note", "tenant": "a"}, "tenant": "b"}, "another tenant"),
    ("cancel", {"filter": NOTES, "ids": [SOME_ID]}, "either ids= or filter="),
    ("cancel", {"ids": []}, "ids"),
    ("cancel", {"ids": "abc"}, "ids='abc'"),
    ("cancel", {"ids": ["abc"]}, "id='abc'"),
    ("cancel", {"ids": 7}, "ids=7"),
    ("cancel", {"ids": [None]}, "id=None"),
    ("cancel", {"ids": TOO_MANY}, "1 to 10000"),
    ("shift", {"filter": NOTES}, "seconds"),
    ("shift", {"filter": NOTES, "seconds": 0}, "seconds=0"),
    ("shift", {"filter": NOTES, "seconds": 1e-9}, "microsecond"),
    ("shift", {"filter": NOTES, "seconds": "5"}, "seconds='5'"),
    ("shift", {"filter": NOTES, "seconds": True}, "seconds=True"),
    ("shift", {"filter": NOTES, "seconds": float("nan")}, "finite"),
    ("shift", {"filter": NOTES, "seconds": float("-inf")}, "finite"),
    ("shift", {"filter": NOTES, "seconds": 2 * MILLENNIUM_SECONDS}, "at most"),
    ("shift", {"filter": NOTES, "seconds": 5, "at": AWARE}, "shift takes none"),
    ("reschedule", {"filter": NOTES}, "at=None"),
    ("reschedule", {"filter": NOTES, "at": NAIVE}, "at="),
    ("reschedule", {"filter": NOTES, "at": "soon"}, "at='soon'"),
    ("reschedule", {"filter": NOTES, "at": AWARE, "seconds": 5}, "reschedule takes none"),
    ("cancel", {"filter": NOTES, "seconds": 5}, "cancel takes none"),
    ("retry", {"filter": NOTES, "at": AWARE}, "retry takes none"),
    ("cancel", {"filter": NOTES, "by": ""}, "by"),
    ("cancel", {"filter": NOTES, "note": "n" * 501}, "note"),
    ("cancel", {"filter": NOTES, "tenant": "\ud800"}, "tenant"),
    ("cancel", {"cursor": "x"}, "cursor='x'"),
    ("cancel", {"cursor": 7}, "cursor=7"),
    ("cancel", {"cursor": ""}, "cursor=''"),
    ("cancel", {"cursor": "a" * 27}, "no bulk of yours"),
    ("cancel", {"cursor": to_bulk_cursor(SOME_ID, 0)}, "no bulk of yours"),
    ("cancel", {"cursor": to_bulk_cursor(SOME_ID, 3), "filter": NOTES}, "no bulk of yours"),
    ("cancel", {"cursor": to_bulk_cursor(SOME_ID, 3), "dry_run": True}, "a dry run has none"),
    ("cancel", {"dry_run": True}, "filter=None"),
]


@pytest.mark.parametrize(
    ("verb", "given", "message"), BAD, ids=[str(number) for number in range(len(BAD))]
)
async def test_bad_input_changes_nothing(
    memory_app: Duetime, verb: Any, given: dict[str, Any], message: str
) -> None:
    action = await memory_app.schedule(Note(), delay=60)
    with pytest.raises(InvalidArgument, match=message):
        await memory_app.bulk(verb, **given)
    assert (await memory_app.get(action.id)).modified_at is None
    assert len(await memory_app.audit.find()) == 0
