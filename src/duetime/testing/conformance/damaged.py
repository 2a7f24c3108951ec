"""Damaged rows: a worker finds the action that no claim can take, and ends it."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from duetime.model.actions.claim import Fence, LaneSpan
from duetime.model.error_group import error_group
from duetime.model.lane import DAMAGED_LANE
from duetime.model.state import Outcome, State
from duetime.testing.conformance.probe import LANE, LATER, SECOND, WORKER, Probe
from duetime.testing.conformance.suite import Suite

REASON = "its row cannot be read"


class Damaged(Suite):
    async def test_a_claim_of_some_actions_takes_no_others(self, probe: Probe) -> None:
        first, second, third = [await probe.add() for _ in range(3)]
        claims = await probe.claim(only=[third.id, first.id])
        assert {claim.id for claim in claims} == {first.id, third.id}
        assert await probe.claim(only=[]) == []
        assert (await probe.claim_one()).id == second.id

    async def test_claimable_ids_come_by_due_time(self, probe: Probe) -> None:
        await probe.running()
        await probe.add(delay=LATER)
        late = await probe.add(due_at=probe.now)
        early = await probe.add(due_at=probe.now - SECOND)
        await probe.add(due_at=probe.now - 9 * SECOND)
        span = LaneSpan(LANE, probe.now - 2 * SECOND, 0)
        assert await probe.do(probe.store.claimable_ids(span, 9)) == [early.id, late.id]
        assert await probe.do(probe.store.claimable_ids(span, 1)) == [early.id]

    async def test_a_damaged_action_fails_with_the_reason(self, probe: Probe) -> None:
        before = await probe.add(tenant="acme", correlation_id="c")
        probe.pass_time(SECOND)
        assert await probe.do(probe.store.fail_damaged(before.id, REASON))
        assert await probe.get(before.id) == replace(
            before,
            state=State.failed,
            outcome=Outcome.failed,
            error=REASON,
            error_group=error_group(REASON),
            finished_at=probe.now,
        )
        assert not await probe.do(probe.store.fail_damaged(before.id, REASON))

    async def test_a_damaged_action_may_fail_without_its_data(self, probe: Probe) -> None:
        before = await probe.add(key="k")
        assert await probe.do(probe.store.fail_damaged(before.id, REASON, without_data=True))
        assert await probe.get(before.id) == replace(
            before,
            state=State.failed,
            outcome=Outcome.failed,
            error=REASON,
            error_group=error_group(REASON),
            payload="null",
            progress=None,
            finished_at=probe.now,
        )

    async def test_a_failed_damaged_action_can_be_retried(self, probe: Probe) -> None:
        before = await probe.add()
        await probe.do(probe.store.fail_damaged(before.id, REASON))
        await probe.retry(before.id)
        assert (await probe.claim_one()).id == before.id

    async def test_a_withdrawn_damaged_action_is_out_of_all_lanes_and_is_counted(
        self, probe: Probe
    ) -> None:
        before = await probe.add()
        assert await probe.do(probe.store.withdraw_damaged(before.id, REASON))
        assert await probe.get(before.id) == replace(before, error=REASON)
        assert await probe.claim() == []
        assert [*await probe.heads()] == [DAMAGED_LANE]

    async def test_running_and_waiting_actions_are_left_alone(self, probe: Probe) -> None:
        claim = await probe.running()
        child = await probe.child(claim.id)
        before = [await probe.get(claim.id), await probe.get(child.id)]
        for action_id in (claim.id, child.id):
            assert not await probe.do(probe.store.fail_damaged(action_id, REASON))
            assert not await probe.do(probe.store.withdraw_damaged(action_id, REASON))
        assert [await probe.get(claim.id), await probe.get(child.id)] == before

    async def test_data_of_a_running_action_is_dropped_if_the_fence_is_current(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        await probe.do(probe.store.progress(Fence(claim.id, claim.token), "half"))
        before = await probe.get(claim.id)
        assert not await probe.do(probe.store.drop_data(Fence(claim.id, uuid4())))
        assert await probe.get(claim.id) == before
        assert await probe.do(probe.store.drop_data(Fence(claim.id, claim.token)))
        assert await probe.get(claim.id) == replace(before, payload="null", progress=None)

    async def test_what_is_not_damaged_is_not_named(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.put(probe.job("shop-mail"))
        await probe.sweep()
        assert await probe.do(probe.store.is_readable(claim.id))
        assert await probe.do(probe.store.is_readable(uuid4()))
        assert await probe.do(probe.store.lost_jobs(WORKER.app)) == frozenset()
        assert await probe.do(probe.store.damaged_workers(WORKER.app, SECOND)) == []
