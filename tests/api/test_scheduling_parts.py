"""So many at once that a store writes them by the part."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

import pytest

from duetime import Duetime
from duetime.errors import InvalidArgument, InvalidPayload
from duetime.model.tenant import ANY
from duetime.store.sql.flows.add import INSERT_BATCH_SIZE, PIPELINE_MIN_ROWS
from polling import until

PARTS = 2 * INSERT_BATCH_SIZE + 1

Ways = list[dict[str, Any]]


@dataclass(frozen=True)
class Number:
    n: int


@pytest.fixture
def app(app: Duetime) -> Duetime:
    app.payload(Number, kind="number")
    return app


@pytest.mark.parametrize(
    "count",
    [PIPELINE_MIN_ROWS - 1, PIPELINE_MIN_ROWS, INSERT_BATCH_SIZE, INSERT_BATCH_SIZE + 1, PARTS],
)
async def test_all_come_back_in_order_as_they_are_stored(app: Duetime, count: int) -> None:
    made = await app.schedule_many(app.request(Number(n)) for n in range(count))
    assert [action.payload for action in made] == [Number(n) for n in range(count)]
    assert [action.id for action in made] == sorted({action.id for action in made})
    assert len({(action.created_at, action.due_at) for action in made}) == 1
    assert (await app.stats()).scheduled == count
    for item in (made[0], made[min(count, INSERT_BATCH_SIZE) - 1], made[-1]):
        assert await app.get(item.id) == replace(item, created=False)


@pytest.mark.parametrize("count", [60, 300])
async def test_each_comes_back_as_it_is_stored_however_they_differ(
    app: Duetime, count: int
) -> None:
    app.payload(Changing, kind="changing", queue="own", version=1)
    parent = await app.schedule(Number(0))
    at = app.clock.now() + timedelta(hours=1)
    payloads: Ways = [{"payload": Number(1)}, {"payload": Changing(2)}]
    times: Ways = [{}, {"at": at}, {"delay": 60}]
    places: Ways = [{}, {"queue": "q"}, {"priority": "high"}]
    owners: Ways = [{}, {"tenant": "acme", "by": "bob"}, {"correlation_id": "c"}]
    parents: Ways = [{}, {"after": parent, "on": "finished"}]
    most = [payloads, times, places]
    for chosen in ([payloads], [times], [places], [owners], [*most, owners], [*most, parents]):
        requests = []
        for n in range(count):
            given: dict[str, Any] = {"payload": Number(n)}
            for ways in chosen:
                given |= ways[n % len(ways)]
            requests.append(app.request(**given))
        made = await app.schedule_many(requests)
        assert [action.payload for action in made] == [item.payload for item in requests]
        for action in made:
            assert await app.get(action.id, tenant=ANY) == replace(action, created=False)


async def test_the_same_by_a_blocking_call(real_app: Duetime) -> None:
    real_app.payload(Number, kind="number")
    made = real_app.sync.schedule_many(real_app.request(Number(n)) for n in range(PARTS))
    assert [action.payload for action in made] == [Number(n) for n in range(PARTS)]
    assert real_app.sync.get(made[-1].id) == replace(made[-1], created=False)


@pytest.mark.parametrize("bad", [{"queue": ""}, {"delay": True}, {"payload": Number("x")}])  # type: ignore[arg-type]
@pytest.mark.parametrize("place", [0, PARTS - 1])
async def test_none_is_stored_if_one_is_bad(app: Duetime, place: int, bad: dict[str, Any]) -> None:
    requests = [app.request(Number(n)) for n in range(PARTS)]
    requests[place] = app.request(**{"payload": Number(7), **bad})
    with pytest.raises((InvalidPayload, InvalidArgument)):
        await app.schedule_many(requests)
    with pytest.raises((InvalidPayload, InvalidArgument)):
        app.sync.schedule_many(requests)
    assert (await app.stats()).scheduled == 0
    assert len(await app.schedule_many(app.request(Number(n)) for n in range(PARTS))) == PARTS


async def test_all_are_of_who_is_acting(app: Duetime) -> None:
    with app.acting(tenant="ours", by="bob"):
        made = await app.schedule_many(app.request(Number(n)) for n in range(PARTS))
    assert {(action.tenant, action.created_by) for action in made} == {("ours", "bob")}


async def test_a_worker_is_woken_for_each_batch(real_app: Duetime) -> None:
    ran: list[int] = []

    @real_app.handler(kind="number")
    async def note(number: Number) -> None:
        ran.append(number.n)

    async with real_app.worker():
        queues = ("a", "b", "c")
        requests = (
            real_app.request(Number(n), queue=queues[n // INSERT_BATCH_SIZE]) for n in range(PARTS)
        )
        for action in await real_app.schedule_many(requests):
            await real_app.wait(action.id, timeout=20)
        await until(lambda: len(ran) == PARTS)
    assert sorted(ran) == [*range(PARTS)]


async def test_each_payload_is_stored_as_it_was_when_requested(app: Duetime) -> None:
    """Whatever another task makes of it while the store writes."""
    app.payload(Changing, kind="changing")
    requests = [app.request(Changing(1)) for _ in range(PARTS)]
    storing = asyncio.create_task(app.schedule_many(requests))
    while not storing.done():
        await asyncio.sleep(0)
        for item in requests:
            cast("Changing", item.payload).n += 1
    found = [await app.get(item.id) for item in (await storing)[::INSERT_BATCH_SIZE]]
    assert {cast("Changing", item.payload).n for item in found} == {1}


@dataclass
class Changing:
    n: int
