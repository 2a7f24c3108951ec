"""Fairness: a crowd of one tenant does not keep another tenant waiting in a shared lane."""

import asyncio
from dataclasses import dataclass
from itertools import count
from uuid import UUID

from duetime import Context, Duetime
from duetime.model.actions.claim import Claim
from duetime.model.lane import lane_of, parse_lane
from duetime.worker.claiming.fairness import (
    COST_FACTOR,
    MIN_INTERVAL_SECONDS,
    Fairness,
    fair_batch,
)
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import InFlightRun

CROWD = 3000


@dataclass(frozen=True)
class Work:
    seconds: float


def neighbour(tenant: str) -> str:
    """Return another tenant of the same lane."""
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
    # Its action was due last.
    assert started.index(neighbour("big")) < CROWD - 100


# -- when to claim past a crowd, and past which tenants ----------------------------------


def runs_of(pool: Pool, tenant: str | None, times: int) -> list[InFlightRun]:
    claim = Claim(
        *(UUID(int=1), UUID(int=2), "k", 1, "{}", "1.1.q", tenant, None, 0, 1, 0, 0, "me"),
        *(None, None, None),
    )
    return [InFlightRun(claim, pool, 0.0) for _ in range(times)]


def pool(slots: int = 100) -> Pool:
    return Pool(slots, lambda queue: True)


def test_a_tenant_with_a_quarter_of_the_slots_crowds() -> None:
    pool_a, pool_b = pool(), pool()
    runs = [
        *runs_of(pool_a, "a", 25),
        *runs_of(pool_a, "b", 24),
        *runs_of(pool_a, None, 50),
        *runs_of(pool_b, "c", 99),
    ]
    assert Fairness().crowding(pool_a, runs, now=1.0) == {"a"}
    assert Fairness().crowding(pool_b, runs, now=1.0) == {"c"}


def test_fair_claims_are_rare_and_rarer_where_they_take_long() -> None:
    pool_a, fairness = pool(), Fairness()
    crowd = runs_of(pool_a, "a", 99)
    assert fairness.crowding(pool_a, crowd, now=1.0) == {"a"}
    assert fairness.crowding(pool_a, crowd, now=1.0 + MIN_INTERVAL_SECONDS / 2) == set()
    assert fairness.crowding(pool_a, crowd, now=1.0 + MIN_INTERVAL_SECONDS) == {"a"}
    fairness.record_cost(0.1, now=2.0)
    assert fairness.crowding(pool_a, crowd, now=1.9 + COST_FACTOR * 0.1) == set()
    assert fairness.crowding(pool_a, crowd, now=2.0 + COST_FACTOR * 0.1) == {"a"}


def test_a_fair_claim_takes_a_tenth_of_the_slots_and_no_more_than_are_free() -> None:
    assert [fair_batch(pool(100), 500), fair_batch(pool(100), 3), fair_batch(pool(1), 1)] == [
        10,
        3,
        1,
    ]


def test_actions_without_a_tenant_have_lanes_of_their_own() -> None:
    texts = [lane_of("q", 1, None), lane_of("q", 1, "a"), lane_of("q", 1, "a", suspect=True)]
    assert [text for text in texts if parse_lane(text).shared] == texts[1:2]
