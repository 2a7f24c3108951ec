"""One tenant's crowd does not keep another tenant waiting, also in the lane they share."""

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import Any, cast
from uuid import UUID

from duetime import Context, Duetime
from duetime.model.actions.claim import Claim
from duetime.model.lane import lane_of, parse_lane
from duetime.worker.claiming.fairness import AT_LEAST_EVERY, SHARE, Aside, few, shared
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import Held

CROWD = 3000


@dataclass(frozen=True)
class Work:
    seconds: float


def neighbour(tenant: str) -> str:
    """Another tenant of the same lane."""
    names = (f"small-{n}" for n in count())
    return next(name for name in names if lane_of("q", 1, name) == lane_of("q", 1, tenant))


async def test_a_lone_action_does_not_wait_for_a_crowd(url: str) -> None:
    app = Duetime(url, concurrency=10)
    started: list[str | None] = []
    done = asyncio.Event()

    @app.handler(kind="work")
    async def work(payload: Work, ctx: Context) -> None:
        started.append(ctx.tenant)
        if ctx.tenant != "big":
            done.set()
        await asyncio.sleep(payload.seconds)

    async with app:
        await app.schedule_many(app.request(Work(0.01), tenant="big") for _ in range(CROWD))
        await app.schedule(Work(0.01), tenant=neighbour("big"))
        async with app.worker():
            async with asyncio.timeout(60):
                await done.wait()
            await app.cancel_many(kind="work", tenant="big")
    # It was due last of all.
    assert started.index(neighbour("big")) < CROWD - 100


# -- when, and past whom -----------------------------------------------------------------


def held(pool: Pool, tenant: str | None, times: int) -> list[Held]:
    claim = Claim(
        *(UUID(int=1), UUID(int=2), "k", 1, "{}", "1.1.q", tenant, None, 0, 1, 0, 0, "me"),
        *(None, None, None),
    )
    return [Held(claim, pool, 0.0) for _ in range(times)]


def pool(slots: int = 100) -> Pool:
    return Pool(slots, lambda queue: True)


def test_whoever_holds_a_quarter_of_the_slots_crowds() -> None:
    one, other = pool(), pool()
    holdings = [
        *held(one, "a", 25),
        *held(one, "b", 24),
        *held(one, None, 50),
        *held(other, "c", 99),
    ]
    assert Aside().crowding(one, holdings, now=1.0) == {"a"}
    assert Aside().crowding(other, holdings, now=1.0) == {"c"}


def test_it_is_asked_now_and_then_and_seldom_where_it_takes_long() -> None:
    one, aside = pool(), Aside()
    crowd = held(one, "a", 99)
    assert aside.crowding(one, crowd, now=1.0) == {"a"}
    assert aside.crowding(one, crowd, now=1.0 + AT_LEAST_EVERY / 2) == set()
    assert aside.crowding(one, crowd, now=1.0 + AT_LEAST_EVERY) == {"a"}
    aside.took(0.1, now=2.0)
    assert aside.crowding(one, crowd, now=1.9 + SHARE * 0.1) == set()
    assert aside.crowding(one, crowd, now=2.0 + SHARE * 0.1) == {"a"}


def test_a_tenth_of_the_slots_is_for_them_and_never_more_than_there_are() -> None:
    assert [few(pool(100), 500), few(pool(100), 3), few(pool(1), 1)] == [10, 3, 1]


def test_what_belongs_to_no_tenant_shares_no_lane_with_one() -> None:
    texts = [lane_of("q", 1, None), lane_of("q", 1, "a"), lane_of("q", 1, "a", suspect=True)]
    assert [cast("Any", lane).text for lane in shared(map(parse_lane, texts))] == texts[1:2]
