"""get, find, runs, results and wait."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from api.apps import Note, Other
from duetime import Action, Duetime, Page, Retry, State
from duetime.errors import ActionNotFound, InvalidArgument, WaitTimeout
from duetime.testing import FakeClock


async def test_an_unknown_id_is_not_found_and_the_message_says_where_to_look(app: Duetime) -> None:
    unknown = UUID(int=7)
    with pytest.raises(ActionNotFound, match="tenant=ANY") as caught:
        await app.get(unknown)
    assert caught.value.action_id == unknown
    with pytest.raises(ActionNotFound):
        await app.runs(unknown)


async def test_an_id_may_be_given_as_text(app: Duetime) -> None:
    action = await app.schedule(Note())
    assert (await app.get(str(action.id))).id == action.id  # type: ignore[arg-type]


async def test_a_page_iterates_over_its_items_newest_first(app: Duetime) -> None:
    ids = [(await app.schedule(Note(), delay=n)).id for n in range(3)]
    page = await app.find()
    assert isinstance(page, Page)
    assert [a.id for a in page] == ids[::-1] == [a.id for a in page.items]
    assert (len(page), page.next_cursor) == (3, None)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6])
async def test_cursors_lead_through_everything_once(app: Duetime, limit: int) -> None:
    @app.handler()
    async def note(payload: Note) -> None: ...

    made = [await app.schedule(Note(str(n))) for n in range(3)]
    await app.testing.drain()
    made += [await app.schedule(Note(str(n)), delay=9) for n in range(3, 6)]
    seen, cursor, pages = list[UUID](), None, 0
    while True:
        page = await app.find(limit=limit, cursor=cursor)
        seen += [a.id for a in page]
        pages += 1
        cursor = page.next_cursor
        if cursor is None:
            break
        # What arrives meanwhile does not disturb the walk.
        await app.schedule(Other())
    assert seen == [a.id for a in reversed(made)]
    assert pages == -(-6 // limit)


async def test_find_filters_by_everything_it_names(app: Duetime, clock: FakeClock) -> None:
    @app.handler()
    async def other(payload: Other) -> int:
        return payload.number

    start = clock.now()
    first = await app.schedule(Note("a"), delay=10, correlation_id="x", key="k1")
    second = await app.schedule(Note("b"), delay=20, queue="mail", key="k2")
    third = await app.schedule(Other(3), correlation_id="x")
    await app.testing.drain()

    async def found(**wanted: object) -> list[UUID]:
        return [a.id for a in await app.find(**wanted)]  # type: ignore[arg-type]

    assert await found(state="succeeded") == [third.id]
    assert await found(state=State.scheduled) == [second.id, first.id]
    assert await found(kind="note") == [second.id, first.id]
    assert await found(queue="mail") == [second.id]
    assert await found(correlation_id="x") == [third.id, first.id]
    assert await found(correlation_id="x", kind="note", state="scheduled") == [first.id]
    assert await found(key="k2") == [second.id]
    assert await found(due_from=start + timedelta(seconds=10)) == [second.id, first.id]
    assert await found(due_before=start + timedelta(seconds=20)) == [third.id, first.id]
    due = start + timedelta(seconds=10)
    assert await found(due_from=due, due_before=start + timedelta(seconds=20)) == [first.id]
    assert await found(kind="nobody-knows") == []


async def test_a_kind_this_process_does_not_know_is_shown_as_plain_data(
    durable_url: str, clock: FakeClock
) -> None:
    async with Duetime(durable_url, clock=clock) as writer:
        writer.payload(Note, kind="note")
        action = await writer.schedule(Note("plain"))
    async with Duetime(durable_url, clock=clock) as reader:
        assert (await reader.get(action.id)).payload == {"text": "plain"}
        assert [a.payload for a in await reader.find()] == [{"text": "plain"}]


async def test_each_run_shows_its_worker_times_and_outcome(app: Duetime, clock: FakeClock) -> None:
    @app.handler(retry=Retry(delays=[30]))
    async def note(payload: Note) -> dict[str, int]:
        clock.set(clock.now() + timedelta(seconds=2))
        if len(await app.runs(action.id)) == 1:
            raise ValueError("first time")
        return {"n": 7}

    start = clock.now()
    action = await app.schedule(Note(), at=start - timedelta(seconds=5))
    assert await app.runs(action.id) == []
    await app.testing.advance(60)
    first, second = await app.runs(action.id)
    assert first.id != second.id
    assert {first.action_id, second.action_id} == {action.id}
    assert (first.attempt, first.outcome, first.result) == (1, "retried", None)
    assert first.error == "ValueError: first time"
    assert (first.started_at, first.finished_at) == (start, start + timedelta(seconds=2))
    assert first.late_by == timedelta(seconds=5)
    assert first.worker is not None
    assert first.lease_expires_at is not None
    assert (second.attempt, second.outcome, second.error) == (2, "succeeded", None)
    assert second.started_at == start + timedelta(seconds=32)
    assert (second.result, second.late_by) == ({"n": 7}, timedelta(0))
    done = await app.get(action.id)
    assert (done.result, done.attempt, done.error) == ({"n": 7}, 2, None)
    assert done.finished_at == second.finished_at


async def test_a_run_is_shown_while_it_goes_on(app: Duetime) -> None:
    seen: list[tuple[Action, object]] = []

    @app.handler()
    async def note(payload: Note) -> None:
        seen.append((await app.get(action.id), await app.runs(action.id)))

    action = await app.schedule(Note())
    await app.testing.drain()
    running, runs = seen[0]
    assert isinstance(runs, list)
    assert (running.state, running.attempt) == (State.running, 1)
    assert running.worker is not None
    assert running.lease_expires_at is not None
    assert [(r.outcome, r.finished_at, r.worker) for r in runs] == [(None, None, running.worker)]


RESULTS = [
    None,
    0,
    False,
    "",
    "nul \x00 and 😀",
    [1, [2, {"a": None}]],
    {"n": 1.5, "list": []},
]


@pytest.mark.parametrize("result", RESULTS, ids=repr)
async def test_a_result_is_read_back_as_it_was_returned(app: Duetime, result: object) -> None:
    @app.handler()
    async def note(payload: Note) -> object:
        return result

    action = await app.schedule(Note())
    await app.testing.drain()
    done = await app.get(action.id)
    assert (done.state, done.result) == (State.succeeded, result)
    assert (await app.runs(action.id))[0].result == result


async def test_a_result_of_rich_types_is_kept_as_json(app: Duetime) -> None:
    @app.handler()
    async def note(payload: Note) -> object:
        return {"at": datetime(2030, 1, 2, tzinfo=UTC), "who": UUID(int=1), "note": payload}

    action = await app.schedule(Note("x"))
    await app.testing.drain()
    assert (await app.get(action.id)).result == {
        "at": "2030-01-02T00:00:00Z",
        "who": "00000000-0000-0000-0000-000000000001",
        "note": {"text": "x"},
    }


async def test_wait_returns_the_finished_action(real_app: Duetime) -> None:
    @real_app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text.upper()

    async with real_app.worker():
        action = await real_app.schedule(Note("abc"))
        done = await real_app.wait(action.id, timeout=20)
    assert (done.state, done.result) == (State.succeeded, "ABC")
    assert (await real_app.wait(action.id)).id == action.id


@pytest.mark.parametrize("timeout", [0, 0.02, timedelta(milliseconds=20)])
async def test_wait_gives_up_in_time_and_names_the_state(
    app: Duetime, timeout: float | timedelta
) -> None:
    action = await app.schedule(Note(), delay=60)
    with pytest.raises(WaitTimeout, match="still scheduled") as caught:
        await app.wait(action.id, timeout=timeout)
    assert isinstance(caught.value, TimeoutError)
    assert (caught.value.action_id, caught.value.state) == (action.id, "scheduled")
    with pytest.raises(WaitTimeout, match="still scheduled"):
        app.sync.wait(action.id, timeout=timeout)


async def test_wait_says_that_no_worker_is_alive(app: Duetime) -> None:
    action = await app.schedule(Note())
    said = "no worker is alive: start one with `duetime worker module:app`"
    with pytest.raises(WaitTimeout, match=said) as caught:
        await app.wait(action.id, timeout=0)
    assert "it continues" not in str(caught.value)
    with pytest.raises(WaitTimeout, match=said):
        app.sync.wait(action.id, timeout=0)


async def test_wait_says_that_no_living_worker_knows_the_kind(real_app: Duetime) -> None:
    real_app.payload(Note, kind="note")
    action = await real_app.schedule(Note(), delay=60)
    async with real_app.worker():
        with pytest.raises(WaitTimeout, match="living worker has no handler for kind 'note'"):
            await real_app.wait(action.id, timeout=0)


async def test_wait_says_that_what_lives_goes_on(real_app: Duetime) -> None:
    @real_app.handler(kind="note")
    async def note(payload: Note) -> None: ...

    action = await real_app.schedule(Note(), delay=60)
    async with real_app.worker():
        with pytest.raises(WaitTimeout, match="it continues, wait again") as caught:
            await real_app.wait(action.id, timeout=0)
    assert caught.value.lacking is None


@pytest.mark.parametrize("timeout", [-1, float("nan"), "soon", True])
async def test_wait_refuses_a_timeout_that_is_none(memory_app: Duetime, timeout: float) -> None:
    action = await memory_app.schedule(Note(), delay=60)
    with pytest.raises(InvalidArgument, match="timeout"):
        await memory_app.wait(action.id, timeout=timeout)


async def test_wait_for_an_unknown_action_is_not_found(app: Duetime) -> None:
    with pytest.raises(ActionNotFound):
        await app.wait(UUID(int=7), timeout=5)
