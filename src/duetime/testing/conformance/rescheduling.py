"""`reschedule`: moves a scheduled action to another time."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from duetime.errors import ActionNotFound, IllegalState
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.model.tenant import Scope
from duetime.testing.conformance.probe import PARKED, SECOND, Probe, reschedule
from duetime.testing.conformance.suite import Suite


class Rescheduling(Suite):
    async def test_rescheduling_changes_only_the_time(self, probe: Probe) -> None:
        before = await probe.add(delay=SECOND)
        probe.pass_time(7)
        after = await probe.reschedule(before.id, probe.now + 5 * SECOND, by="bob")
        assert after == replace(
            before, due_at=probe.now + 5 * SECOND, modified_at=probe.now, modified_by="bob"
        )
        assert await probe.get(before.id) == after

    async def test_a_delay_counts_from_the_stores_now(self, probe: Probe) -> None:
        record = await probe.add(delay=SECOND)
        probe.pass_time(10 * SECOND)
        assert (await probe.reschedule(record.id, delay=3)).due_at == probe.now + 3
        assert (await probe.reschedule(record.id, delay=0)).due_at == probe.now

    async def test_an_action_moved_later_does_not_run_at_the_old_time(self, probe: Probe) -> None:
        record = await probe.add(delay=SECOND)
        await probe.reschedule(record.id, delay=3 * SECOND)
        probe.pass_time(3 * SECOND - 1)
        assert await probe.claim() == []
        probe.pass_time(1)
        assert (await probe.claim_one()).id == record.id

    async def test_an_action_moved_earlier_is_due_earlier(self, probe: Probe) -> None:
        record = await probe.add(delay=60 * SECOND)
        await probe.reschedule(record.id, delay=SECOND)
        assert await probe.heads() == {"1.0.default": probe.now + SECOND}
        probe.pass_time(SECOND)
        assert (await probe.claim_one()).id == record.id
        probe.pass_time(60 * SECOND)
        assert await probe.claim() == []

    async def test_rescheduling_to_the_same_time_is_allowed(self, probe: Probe) -> None:
        record = await probe.add(delay=SECOND)
        assert (await probe.reschedule(record.id, record.due_at)).due_at == record.due_at

    async def test_rescheduling_into_the_past_makes_it_due_at_once(self, probe: Probe) -> None:
        record = await probe.add(delay=SECOND)
        await probe.reschedule(record.id, probe.now - SECOND)
        assert (await probe.claim_one()).due_at == probe.now - SECOND

    async def test_a_parked_action_stays_parked(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(
            reschedule(claim, Outcome.released, lane=PARKED, refund=True, error="unknown")
        )
        after = await probe.reschedule(claim.id, delay=SECOND)
        assert (after.error, after.due_at) == ("unknown", probe.now + SECOND)
        probe.pass_time(SECOND)
        assert await probe.claim() == []
        assert (await probe.claim_one(PARKED)).id == claim.id

    async def test_a_suspect_stays_in_its_lane(self, probe: Probe) -> None:
        claim = await probe.running()
        lane = lane_of("default", 1, None, suspect=True)
        await probe.end(reschedule(claim, Outcome.lost, lane=lane, refund=True, lost=2))
        await probe.reschedule(claim.id, delay=0)
        assert await probe.claim() == []
        assert (await probe.claim_one(lane)).losses == 2

    async def test_an_action_waiting_for_its_next_attempt_keeps_attempt_and_error(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, delay=60 * SECOND, error="boom"))
        after = await probe.reschedule(claim.id, delay=0)
        assert (after.attempt, after.error) == (1, "boom")
        assert (await probe.claim_one()).attempt == 2

    @pytest.mark.parametrize("state", sorted(set(State) - {State.scheduled}))
    async def test_no_other_state_allows_it(self, probe: Probe, state: State) -> None:
        record = await probe.in_state(state)
        with pytest.raises(IllegalState) as caught:
            await probe.reschedule(record.id, delay=SECOND)
        error = caught.value
        assert (error.verb, error.action_id, error.state) == ("reschedule", record.id, state)
        assert await probe.get(record.id) == record

    @pytest.mark.parametrize("tenant", [None, "b"])
    async def test_other_tenants_cannot_reschedule(self, probe: Probe, tenant: Scope) -> None:
        record = await probe.add(tenant="a")
        with pytest.raises(ActionNotFound):
            await probe.reschedule(record.id, delay=SECOND, tenant=tenant)
        assert await probe.get(record.id) == record
        await probe.reschedule(record.id, delay=SECOND, tenant="a")

    async def test_reschedule_of_an_unknown_id_is_not_found(self, probe: Probe) -> None:
        with pytest.raises(ActionNotFound):
            await probe.reschedule(uuid4(), delay=0)
