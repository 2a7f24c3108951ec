"""`look_ahead`, `sweep` and `unregister`: lanes, expired leases and worker heartbeats."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duetime.model.actions.claim import Expired
from duetime.model.lane import lane_of
from duetime.model.state import FINISHED, Outcome, State
from duetime.testing.conformance.probe import (
    LANE,
    LEASE,
    PARKED,
    SECOND,
    WORKER,
    Probe,
    finish,
    reschedule,
)
from duetime.testing.conformance.suite import Suite


class Sweeping(Suite):
    async def test_an_empty_store_has_no_lanes(self, probe: Probe) -> None:
        for swept in (await probe.do(probe.store.look_ahead()), await probe.sweep()):
            assert (swept.now, list(swept.lanes), list(swept.expired)) == (probe.now, [], [])

    async def test_look_ahead_and_sweep_return_the_same_lanes(self, probe: Probe) -> None:
        for i in range(20):
            await probe.add(lane=f"lane-{i % 4}", due_at=probe.now - i)
        await probe.claim("lane-1", "lane-2", limit=7)
        looked, swept = await probe.do(probe.store.look_ahead()), await probe.sweep()
        assert sorted(map(repr, looked.lanes)) == sorted(map(repr, swept.lanes))
        assert looked.now == swept.now == probe.now

    async def test_a_look_ahead_can_be_limited_to_lanes_and_times(self, probe: Probe) -> None:
        for lane, due_at in (("a", 3), ("a", 5), ("b", 3), ("c", 3), ("d", 5)):
            await probe.add(lane=lane, due_at=due_at)
        await probe.claim("d", limit=1)
        seen = await probe.do(probe.store.look_ahead_from({"a": 4, "b": 3, "c": 4, "d": 0}))
        found = {head.lane: head.next_due for head in seen.lanes}
        assert found == {"a": 5, "b": 3, "c": None, "d": None}
        assert (seen.now, list(seen.expired), list(seen.parents)) == (probe.now, [], [])

    async def test_a_look_ahead_does_not_search_for_expired_leases(self, probe: Probe) -> None:
        await probe.running()
        probe.pass_time(2 * LEASE)
        assert list((await probe.do(probe.store.look_ahead())).expired) == []
        assert len((await probe.sweep()).expired) == 1

    async def test_each_lane_has_the_due_time_of_its_next_unclaimed_action(
        self, probe: Probe
    ) -> None:
        for lane, due_at in (("a", 5), ("a", 3), ("b", probe.now + 60 * SECOND), ("a", 4)):
            await probe.add(lane=lane, due_at=due_at)
        assert await probe.heads() == {"a": 3, "b": probe.now + 60 * SECOND}

    async def test_each_lane_is_named_once(self, probe: Probe) -> None:
        for i in range(30):
            await probe.add(lane=f"lane-{i % 10}", due_at=i)
        lanes = [head.lane for head in (await probe.sweep()).lanes]
        assert sorted(lanes) == [f"lane-{i}" for i in range(10)]

    async def test_running_actions_are_not_next_in_their_lane(self, probe: Probe) -> None:
        for due_at in (1, 2):
            await probe.add(due_at=due_at)
        await probe.claim(limit=1)
        assert await probe.heads() == {LANE: 2}

    async def test_a_lane_whose_actions_all_run_has_no_next(self, probe: Probe) -> None:
        claim = await probe.running()
        assert await probe.heads() == {LANE: None}
        await probe.end(reschedule(claim, delay=SECOND))
        assert await probe.heads() == {LANE: probe.now + SECOND}

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_a_lane_whose_actions_are_finished_is_gone(
        self, probe: Probe, state: State
    ) -> None:
        await probe.finished(state)
        assert await probe.heads() == {}

    async def test_lanes_of_suspects_and_parked_actions_are_named(self, probe: Probe) -> None:
        suspects = lane_of("default", 1, None, suspect=True)
        for lane in (suspects, PARKED):
            claim = await probe.running()
            await probe.end(reschedule(claim, Outcome.released, lane=lane))
        assert await probe.heads() == {suspects: probe.now, PARKED: probe.now}

    async def test_the_sweep_covers_every_tenant(self, probe: Probe) -> None:
        tenants = [f"tenant-{i}" for i in range(30)]
        lanes = {(await probe.add(tenant=tenant)).id for tenant in tenants}
        claims = await probe.claim(*(await probe.heads()))
        assert {claim.id for claim in claims} == lanes

    # -- expired leases --------------------------------------------------------------

    async def test_an_expired_lease_is_returned_with_what_a_rescue_needs(
        self, probe: Probe
    ) -> None:
        record = await probe.add(queue="q", priority=3, tenant="t")
        lane = lane_of("q", 3, "t")
        await probe.end(reschedule(await probe.claim_one(lane), Outcome.lost, lost=1))
        claim = await probe.claim_one(lane)
        probe.pass_time(LEASE + 1)
        [expired] = (await probe.sweep()).expired
        assert expired == Expired(
            id=record.id,
            token=claim.token,
            queue="q",
            priority=3,
            tenant="t",
            losses=1,
            kind=record.kind,
        )

    async def test_a_valid_lease_is_not_returned(self, probe: Probe) -> None:
        await probe.running()
        probe.pass_time(LEASE - 1)
        assert list((await probe.sweep()).expired) == []

    async def test_leases_are_judged_by_the_stores_clock_after_renewals(self, probe: Probe) -> None:
        renewed, other = await probe.running(), await probe.running()
        probe.pass_time(LEASE - 1)
        await probe.renew(renewed)
        probe.pass_time(2)
        assert [expired.id for expired in (await probe.sweep()).expired] == [other.id]

    async def test_leases_of_completed_runs_are_not_returned(self, probe: Probe) -> None:
        first, second = await probe.running(), await probe.running()
        await probe.end(finish(first), reschedule(second))
        probe.pass_time(2 * LEASE)
        assert list((await probe.sweep()).expired) == []

    async def test_expired_leases_are_returned_up_to_the_limit(self, probe: Probe) -> None:
        ids = {(await probe.running()).id for _ in range(5)}
        probe.pass_time(2 * LEASE)
        some = (await probe.sweep(limit=3)).expired
        assert len({expired.id for expired in some}) == 3
        assert {expired.id for expired in (await probe.sweep(limit=5)).expired} == ids

    async def test_pre_claimed_actions_far_ahead_are_left_for_later(self, probe: Probe) -> None:
        await probe.add(delay=10 * SECOND)
        await probe.claim_one(ahead=10 * SECOND, lease=SECOND)
        probe.pass_time(2 * SECOND)
        assert list((await probe.sweep(ahead=8 * SECOND - 1)).expired) == []
        assert len((await probe.sweep(ahead=8 * SECOND)).expired) == 1

    # -- workers ---------------------------------------------------------------------

    async def test_a_worker_may_sweep_unregister_and_come_back(self, probe: Probe) -> None:
        await probe.add()
        for host in ("here", "there"):
            worker = replace(WORKER, host=host, kinds=["a", "b"], queues=["q"])
            for _ in range(2):
                probe.pass_time(SECOND)
                swept = await probe.do(probe.store.sweep(worker, SECOND, 10))
                assert len(swept.lanes) == 1
            await probe.do(probe.store.unregister(worker.id))

    async def test_an_unknown_worker_may_unregister(self, probe: Probe) -> None:
        await probe.do(probe.store.unregister("nobody"))

    async def test_a_worker_keeps_its_claims_when_it_unregisters(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.sweep()
        await probe.do(probe.store.unregister(WORKER.id))
        assert (await probe.renew(claim)).renewed == {claim.id: None}

    async def test_only_the_oldest_worker_is_reported_as_oldest(self, probe: Probe) -> None:
        async def oldest(name: str) -> bool:
            worker = replace(WORKER, id=name, app=f"app of {name}")
            return (await probe.do(probe.store.sweep(worker, 0, 1))).oldest

        assert await oldest("w2")
        # Started at the same instant: the ids decide.
        assert await oldest("w1")
        assert not await oldest("w2")
        probe.pass_time(SECOND)
        assert [await oldest(name) for name in ("w0", "w2", "w1")] == [False, False, True]
        probe.pass_time(WORKER.alive)
        assert await oldest("w0")
        assert [await oldest(name) for name in ("w0", "w1", "w0")] == [True, True, False]
