"""Parking: an action waits in a lane that only workers that declare its kind claim from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from duetime.model.actions.action import Record
from duetime.model.lane import lane_of, parking_lane
from duetime.model.state import Outcome, State
from duetime.testing.conformance.probe import LANE, PARKED, SECOND, Probe, finish, reschedule
from duetime.testing.conformance.suite import Suite


class Parking(Suite):
    async def test_a_parked_action_waits_with_its_reason(self, probe: Probe) -> None:
        before = await probe.add()
        after = await _park(probe, before)
        assert after == replace(before, error="nobody knows it")
        assert after.state is State.scheduled

    async def test_a_parked_action_is_off_its_old_lane(self, probe: Probe) -> None:
        await _park(probe, await probe.add())
        probe.pass_time(60 * SECOND)
        assert await probe.claim(LANE) == []
        assert await probe.heads() == {PARKED: probe.now - 60 * SECOND}

    async def test_a_worker_that_declares_the_kind_claims_from_the_parking_lane(
        self, probe: Probe
    ) -> None:
        before = await probe.add(queue="q", priority=3, tenant="t")
        lane = parking_lane("mail", 1, lane_of("q", 3, "t"))
        await _park(probe, before, lane=lane)
        probe.pass_time(SECOND)
        claim = await probe.claim_one(lane)
        assert (claim.id, claim.attempt, claim.due_at) == (before.id, 1, before.due_at)
        assert claim.lane == lane
        assert await probe.end(finish(claim)) == {before.id}
        assert (await probe.get(before.id)).error is None

    async def test_kinds_and_versions_have_separate_parking_lanes(self, probe: Probe) -> None:
        other = parking_lane("mail", 2, LANE)
        await _park(probe, await probe.add(), lane=other)
        await _park(probe, await probe.add())
        assert len(await probe.claim(PARKED)) == 1
        assert len(await probe.claim(other)) == 1

    async def test_a_parked_action_that_is_rescheduled_stays_parked(self, probe: Probe) -> None:
        await _park(probe, await probe.add())
        await probe.end(reschedule(await probe.claim_one(PARKED), error="boom"))
        assert await probe.claim() == []
        assert (await probe.claim_one(PARKED)).attempt == 2


async def _park(probe: Probe, record: Record, **given: Any) -> Record:
    """Claim an action from its lane and move it to a parking lane, as a worker does."""
    claim = await probe.claim_one(lane_of(record.queue, record.priority, record.tenant))
    assert claim.id == record.id
    fields = {"lane": PARKED, "refund": True, "error": "nobody knows it"} | given
    assert await probe.end(reschedule(claim, Outcome.released, **fields)) == {record.id}
    return await probe.get(record.id)
