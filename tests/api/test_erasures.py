"""`app.erase`: personal data is wiped, and nothing else."""

from typing import Any

import pytest

from api.apps import Note, case_id
from duetime import ANY, ActionCancelled, Context, Duetime, ErasureResult, Fail, Retry, State
from duetime.errors import InvalidArgument
from duetime.events.types import Event
from duetime.model.erasure import ERASURE_SIZE, HIGHEST, to_erasure_cursor
from duetime.model.filter import Filter
from duetime.testing import FakeClock

PERSONAL = "ann@example.org"


async def test_all_that_is_stored_of_a_person_is_wiped(app: Duetime) -> None:
    @app.handler(kind="note", retry=Retry(attempts=2, delay=1))
    async def handle(note: Note, ctx: Context) -> str:
        await ctx.progress(note.text)
        if ctx.attempt == 1:
            raise ValueError(note.text)
        return note.text

    done = await app.schedule(Note(PERSONAL), correlation_id="ann")
    other = await app.schedule(Note(PERSONAL), correlation_id="bob")
    await app.testing.advance(5)
    waiting = await app.schedule(Note(PERSONAL), correlation_id="ann", delay=60)
    assert PERSONAL in str((await app.get(done.id), await app.runs(done.id)))
    result = await app.erase(correlation_id="ann", by="dpo", note="request 7")
    assert result == ErasureResult(2, 1, 0, 0, 0, None)
    after = await app.get(done.id)
    assert (after.state, after.payload, after.result, after.progress) == (
        State.succeeded,
        None,
        None,
        None,
    )
    for action in (done, waiting):
        assert PERSONAL not in str((await app.get(action.id), await app.runs(action.id)))
    assert (await app.get(waiting.id)).cancelled_by == "dpo"
    assert (await app.get(other.id)).payload == Note(PERSONAL)
    [entry] = await app.audit.find(verb="erase")
    assert (entry.by, entry.note) == ("dpo", "request 7")
    assert PERSONAL not in str((await app.audit.find(tenant=ANY)).items)
    assert app.sync.erase(correlation_id="ann") == ErasureResult(0, 0, 0, 0, 0, None)


async def test_all_of_a_tenant(app: Duetime) -> None:
    for tenant in (None, "a", "b"):
        await app.schedule(Note(PERSONAL), delay=60, tenant=tenant)
    await app.jobs.put("a-report", "0 0 * * *", payload=Note(), tenant="a")
    result = await app.erase(tenant="a")
    assert (result.erased, result.jobs) == (1, 1)
    left = await app.find(state="scheduled", tenant=ANY)
    assert {action.tenant for action in left} == {None, "b"}


async def test_figures_of_a_tenant_stay(app: Duetime, clock: FakeClock) -> None:
    """They are sums of runs by minute, queue, kind and tenant, and hold nothing of an action."""

    @app.handler(kind="note")
    async def handle(note: Note) -> None: ...

    async with app.worker():
        done = await app.schedule(Note(PERSONAL), tenant="a")
        await app.wait(done.id, timeout=20, tenant="a")
    [before] = await app.series("executed", since=clock.now(), tenant="a")
    assert (await app.erase(tenant="a")).erased == 1
    [after] = await app.series("executed", since=clock.now(), tenant="a")
    assert after == before
    assert [point.value for point in after.points] == [1]


async def test_a_correlation_id_is_meant_in_the_current_tenant(app: Duetime) -> None:
    for tenant in (None, "a", "b"):
        await app.schedule(Note(), delay=60, tenant=tenant, correlation_id="c")
    with app.acting(tenant="a"):
        assert (await app.erase(correlation_id="c")).erased == 1
    assert (await app.erase(correlation_id="c")).erased == 1
    assert (await app.erase(correlation_id="c", tenant=ANY)).erased == 1


async def test_a_large_erasure_goes_on_with_its_cursor(app: Duetime) -> None:
    count = ERASURE_SIZE + 5
    await app.schedule_many([app.request(Note(PERSONAL), delay=60, tenant="a")] * count)
    first = await app.erase(tenant="a")
    assert (first.erased, first.cancelled, first.left) == (ERASURE_SIZE, ERASURE_SIZE, 5)
    last = await app.erase(tenant="a", cursor=first.next_cursor)
    assert last == ErasureResult(5, 5, 0, 0, 0, None)


async def test_children_are_cancelled_and_events_emitted(app: Duetime) -> None:
    seen: list[Event] = []
    app.on(ActionCancelled, seen.append)
    parent = await app.schedule(Note(), delay=60, correlation_id="c")
    child = await app.schedule(Note(), after=parent)
    await app.erase(correlation_id="c", by="dpo")
    assert (await app.get(child.id)).state is State.cancelled
    assert [event.by for event in seen] == ["dpo", "system"]


async def test_an_erased_failure_that_is_retried_fails_for_want_of_its_payload(
    app: Duetime,
) -> None:
    @app.handler(kind="note", retry=Retry.none())
    async def handle(note: Note) -> None:
        raise Fail("no")

    action = await app.schedule(Note(), correlation_id="c")
    await app.testing.drain()
    await app.erase(correlation_id="c")
    await app.retry(action.id)
    await app.testing.drain()
    after = await app.get(action.id)
    assert after.state is State.failed
    assert after.error is not None
    assert "InvalidPayload" in after.error


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "correlation_id= or tenant="),
        ({"tenant": None}, "correlation_id= or tenant="),
        ({"tenant": ANY}, "correlation_id= or tenant="),
        ({"correlation_id": None}, "correlation_id= or tenant="),
        ({"correlation_id": "c", "tenant": "a"}, "tenant='a'.*either"),
        ({"correlation_id": ""}, "correlation_id=''"),
        ({"correlation_id": 7}, "correlation_id=7"),
        ({"correlation_id": "\ud800"}, "correlation_id"),
        ({"tenant": ""}, "tenant=''"),
        ({"tenant": 7}, "tenant=7"),
        ({"correlation_id": "c", "by": ""}, "by=''"),
        ({"correlation_id": "c", "note": "n" * 501}, "note"),
        ({"correlation_id": "c", "cursor": "x"}, "cursor='x'"),
        ({"correlation_id": "c", "cursor": 7}, "cursor=7"),
        (
            {
                "correlation_id": "c",
                "cursor": to_erasure_cursor(HIGHEST, Filter(correlation_id="d", tenant=None)),
            },
            "another erasure",
        ),
    ],
    ids=case_id,
)
async def test_bad_input_erases_nothing(
    memory_app: Duetime, given: dict[str, Any], message: str
) -> None:
    action = await memory_app.schedule(Note(), delay=60, correlation_id="c")
    with pytest.raises(InvalidArgument, match=message):
        await memory_app.erase(**given)
    assert (await memory_app.get(action.id)).modified_at is None


async def test_without_a_filter_the_current_tenant_is_not_erased_either(app: Duetime) -> None:
    action = await app.schedule(Note(), delay=60, tenant="a")
    with app.acting(tenant="a"), pytest.raises(InvalidArgument):
        await app.erase()
    assert (await app.get(action.id, tenant="a")).state is State.scheduled
