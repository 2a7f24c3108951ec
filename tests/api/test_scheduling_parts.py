"""So many at once that a store may write one part of them while the next is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import BaseModel, field_serializer

from awaiting import until
from duetime import Duetime
from duetime.asking import LARGEST, SMALLEST
from duetime.errors import InvalidPayload
from duetime.model.clock import monotonic

MANY = 2 * SMALLEST + 1


@dataclass(frozen=True)
class Number:
    n: int


@pytest.fixture
def app(app: Duetime) -> Duetime:
    app.payload(Number, kind="number")
    return app


@pytest.mark.parametrize("count", [2 * SMALLEST - 1, 2 * SMALLEST, MANY, 4 * LARGEST + 1])
async def test_all_come_back_in_order_as_they_are_stored(app: Duetime, count: int) -> None:
    made = await app.schedule_many(app.request(Number(n)) for n in range(count))
    assert [one.payload for one in made] == [Number(n) for n in range(count)]
    assert [one.id for one in made] == sorted({one.id for one in made})
    assert len({(one.created_at, one.due_at) for one in made}) == 1
    assert (await app.stats()).scheduled == count
    for one in (made[0], made[SMALLEST], made[-1]):
        assert await app.get(one.id) == replace(one, created=False)


async def test_the_same_by_a_blocking_call(real_app: Duetime) -> None:
    real_app.payload(Number, kind="number")
    made = real_app.sync.schedule_many(real_app.request(Number(n)) for n in range(MANY))
    assert [one.payload for one in made] == [Number(n) for n in range(MANY)]
    assert real_app.sync.get(made[-1].id) == replace(made[-1], created=False)


@pytest.mark.parametrize("bad", [0, SMALLEST, MANY - 1])
async def test_none_is_stored_if_one_is_bad(app: Duetime, bad: int) -> None:
    numbers: list[Any] = [*range(MANY)]
    numbers[bad] = "seven"
    with pytest.raises(InvalidPayload):
        await app.schedule_many(app.request(Number(n)) for n in numbers)
    with pytest.raises(InvalidPayload):
        app.sync.schedule_many(app.request(Number(n)) for n in numbers)
    assert (await app.stats()).scheduled == 0
    assert len(await app.schedule_many(app.request(Number(n)) for n in range(MANY))) == MANY


async def test_all_are_of_who_is_acting(app: Duetime) -> None:
    with app.acting(tenant="ours", by="bob"):
        made = await app.schedule_many(app.request(Number(n)) for n in range(MANY))
    assert {(one.tenant, one.created_by) for one in made} == {("ours", "bob")}


async def test_a_worker_hears_of_each_part(real_app: Duetime) -> None:
    ran: list[int] = []

    @real_app.handler(kind="number")
    async def note(number: Number) -> None:
        ran.append(number.n)

    async with real_app.worker():
        queues = ("a", "b", "c")
        asked = (real_app.request(Number(n), queue=queues[n % 3]) for n in range(MANY))
        made = await real_app.schedule_many(asked)
        for one in made[-3:]:
            await real_app.wait(one.id, timeout=20)
        await until(lambda: len(ran) == MANY)
    assert sorted(ran) == [*range(MANY)]


class Slow(BaseModel):
    """Takes long to be written, if it is told to."""

    seconds: float

    @field_serializer("seconds")
    def _burnt(self, seconds: float) -> float:
        until = monotonic() + seconds
        while monotonic() < until:
            pass
        return seconds


async def test_what_takes_long_to_be_made_is_no_silence_of_the_server(postgres_url: str) -> None:
    app, count = Duetime(postgres_url, timeout=0.7), 4 * SMALLEST
    app.payload(Slow, kind="slow")
    asked = [app.request(Slow(seconds=0.0 if n % SMALLEST else 0.15)) for n in range(count)]
    async with app:
        assert len(await app.schedule_many(asked)) == count
        assert len(app.sync.schedule_many(asked)) == count
        assert (await app.stats()).scheduled == 2 * count
