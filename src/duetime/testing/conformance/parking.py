"""Parking: an action waits, off the due path, for a worker that knows its kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from duetime.model.action import Record
from duetime.model.claim import SUSPECT_LOSSES
from duetime.model.lane import lane_of, parking_lane
from duetime.model.state import Outcome, State
from duetime.testing.conformance.probe import SECOND, Probe, again, finish
from duetime.testing.conformance.suite import Suite

PARKED = parking_lane("mail", 1)


class Parking(Suite):
    async def test_a_parked_action_waits_with_its_reason(self, probe: Probe) -> None:
        before = await probe.add()
        after = await _park(probe, before)
        assert after == replace(before, error="nobody knows it")
        assert after.state is State.scheduled

    async def test_a_parked_action_is_never_due(self, probe: Probe) -> None:
        await _park(probe, await probe.add())
        probe.pass_time(60 * SECOND)
        assert await probe.claim(lane_of("default", 1, None)) == []

    async def test_a_parked_action_comes_back_to_its_lane(self, probe: Probe) -> None:
        before = await probe.add(queue="q", priority=3, tenant="t")
        await _park(probe, before)
        probe.pass_time(SECOND)
        assert await probe.unpark(PARKED) == 1
        assert await probe.get(before.id) == before
        claim = await probe.claim_one(lane_of("q", 3, "t"))
        assert (claim.id, claim.attempt, claim.due_at) == (before.id, 1, before.due_at)

    async def test_a_suspect_comes_back_to_the_lane_of_suspects(self, probe: Probe) -> None:
        """Parking must not make it look harmless: it is still to be claimed alone."""
        claim = await probe.running()
        await probe.end(again(claim, Outcome.lost, lane=PARKED, refund=True, lost=SUSPECT_LOSSES))
        assert await probe.unpark(PARKED) == 1
        assert await probe.claim(lane_of("default", 1, None)) == []
        assert (await probe.claim_one(lane_of("default", 1, None, suspect=True))).id == claim.id

    async def test_no_more_come_back_than_asked_for(self, probe: Probe) -> None:
        for i in range(5):
            await _park(probe, await probe.add(due_at=i))
        assert [await probe.unpark(PARKED, 2) for _ in range(4)] == [2, 2, 1, 0]
        assert len(await probe.claim()) == 5

    async def test_other_parking_lanes_stay_as_they_are(self, probe: Probe) -> None:
        other = parking_lane("mail", 2)
        await _park(probe, await probe.add(), lane=other)
        assert await probe.unpark(PARKED) == 0
        assert await probe.claim() == []
        assert await probe.unpark(other) == 1

    async def test_only_the_parked_come_back(self, probe: Probe) -> None:
        claim = await probe.running()
        free = await probe.add()
        assert await probe.unpark(PARKED) == 0
        assert await probe.get(free.id) == free
        assert await probe.end(finish(claim)) == {claim.id}

    async def test_the_kept_error_of_other_actions_stays(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(again(claim, error="boom"))
        await _park(probe, await probe.add(queue="q"))
        await probe.unpark(PARKED)
        assert (await probe.get(claim.id)).error == "boom"


async def _park(probe: Probe, record: Record, **given: Any) -> Record:
    """Claim it from its lane and put it in a parking lane, as a worker does."""
    claim = await probe.claim_one(lane_of(record.queue, record.priority, record.tenant))
    assert claim.id == record.id
    fields = {"lane": PARKED, "refund": True, "error": "nobody knows it"} | given
    assert await probe.end(again(claim, Outcome.released, **fields)) == {record.id}
    return await probe.get(record.id)
