"""`cancel` and `cancel_many`: scheduled actions never run, running ones are asked to stop."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from duetime.errors import ActionNotFound, IllegalState
from duetime.model.state import FINISHED, Outcome, State
from duetime.model.tenant import Scope
from duetime.testing.conformance.probe import PARKED, SECOND, Probe, finish, reschedule
from duetime.testing.conformance.suite import Suite


class Cancelling(Suite):
    @pytest.mark.parametrize("running", [False, True])
    async def test_a_scheduled_action_is_cancelled(self, probe: Probe, running: bool) -> None:
        before = await probe.add()
        probe.pass_time(SECOND)
        after = await probe.cancel(before.id, by="bob", running=running)
        assert after == replace(
            before,
            state=State.cancelled,
            cancelled_by="bob",
            modified_at=probe.now,
            modified_by="bob",
            finished_at=probe.now,
        )
        assert await probe.get(before.id) == after

    async def test_a_cancelled_action_is_never_claimed(self, probe: Probe) -> None:
        record = await probe.add(delay=SECOND)
        await probe.cancel(record.id)
        probe.pass_time(2 * SECOND)
        assert await probe.claim() == []
        assert await probe.heads() == {}

    async def test_a_parked_action_can_be_cancelled(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, Outcome.released, lane=PARKED, refund=True))
        assert (await probe.cancel(claim.id)).state is State.cancelled
        assert await probe.claim(PARKED) == []

    async def test_an_action_waiting_for_its_next_attempt_can_be_cancelled(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, delay=SECOND, error="boom"))
        after = await probe.cancel(claim.id)
        assert (after.state, after.attempt) == (State.cancelled, 1)

    async def test_a_running_action_is_not_cancelled(self, probe: Probe) -> None:
        claim = await probe.running()
        before = await probe.get(claim.id)
        with pytest.raises(IllegalState) as caught:
            await probe.cancel(claim.id)
        error = caught.value
        assert (error.verb, error.action_id, error.state) == ("cancel", claim.id, "running")
        assert await probe.get(claim.id) == before
        assert (await probe.renew(claim)).renewed == {claim.id: None}

    @pytest.mark.parametrize("running", [False, True])
    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_a_finished_action_is_not_cancelled(
        self, probe: Probe, state: State, running: bool
    ) -> None:
        record = await probe.finished(state)
        with pytest.raises(IllegalState) as caught:
            await probe.cancel(record.id, running=running)
        assert caught.value.state == state
        assert await probe.get(record.id) == record

    @pytest.mark.parametrize("tenant", [None, "b"])
    async def test_other_tenants_cannot_cancel(self, probe: Probe, tenant: Scope) -> None:
        record = await probe.add(tenant="a")
        with pytest.raises(ActionNotFound):
            await probe.cancel(record.id, tenant)
        assert await probe.get(record.id) == record
        assert (await probe.cancel(record.id, "a")).state is State.cancelled

    async def test_cancel_of_an_unknown_id_is_not_found(self, probe: Probe) -> None:
        with pytest.raises(ActionNotFound):
            await probe.cancel(uuid4())

    # -- asking a running action to stop ---------------------------------------------

    async def test_the_holder_learns_who_requested_the_stop(self, probe: Probe) -> None:
        claim, other = await probe.running(), await probe.running()
        after = await probe.cancel(claim.id, by="bob", running=True)
        assert (after.state, after.token) == (State.running, claim.token)
        assert (await probe.renew(claim, other)).renewed == {claim.id: "bob", other.id: None}

    async def test_a_stop_request_leaves_the_claim_with_its_holder(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.cancel(claim.id, running=True)
        await probe.progress(claim, "[1]")
        assert await probe.end(finish(claim)) == {claim.id}
        assert (await probe.get(claim.id)).state is State.succeeded

    async def test_a_stop_may_be_requested_twice(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.cancel(claim.id, by="bob", running=True)
        await probe.cancel(claim.id, by="eve", running=True)
        assert (await probe.renew(claim)).renewed[claim.id] in ("bob", "eve")

    async def test_a_stop_request_does_not_reach_the_next_run(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.cancel(claim.id, running=True)
        await probe.end(reschedule(claim))
        next_claim = await probe.claim_one()
        assert (await probe.renew(next_claim)).renewed == {claim.id: None}

    async def test_a_run_that_ends_as_cancelled_records_who_cancelled_it(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        await probe.cancel(claim.id, by="bob", running=True)
        await probe.end(finish(claim, State.cancelled, cancelled_by="bob"))
        after = await probe.get(claim.id)
        assert (after.state, after.cancelled_by) == (State.cancelled, "bob")

    async def test_a_stop_request_that_the_handler_ignored_leaves_no_trace(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        await probe.cancel(claim.id, by="bob", running=True)
        await probe.end(finish(claim))
        assert (await probe.get(claim.id)).cancelled_by is None

    @pytest.mark.parametrize("tenant", [None, "b"])
    async def test_other_tenants_cannot_request_a_stop(self, probe: Probe, tenant: Scope) -> None:
        claim = await probe.running(tenant="a")
        with pytest.raises(ActionNotFound):
            await probe.cancel(claim.id, tenant, running=True)
        assert (await probe.renew(claim)).renewed == {claim.id: None}

    # -- many ------------------------------------------------------------------------

    async def test_cancel_many_cancels_what_matches(self, probe: Probe) -> None:
        ours = [await probe.add(correlation_id="c") for _ in range(3)]
        other = await probe.add(correlation_id="d")
        probe.pass_time(5)
        after = await probe.cancel_many("eve", correlation_id="c")
        assert {record.id for record in after} == {record.id for record in ours}
        for record in after:
            assert record == await probe.get(record.id)
            assert (record.state, record.cancelled_by) == (State.cancelled, "eve")
            assert (record.finished_at, record.modified_by) == (probe.now, "eve")
        assert await probe.get(other.id) == other

    async def test_cancel_many_leaves_running_and_finished_actions_alone(
        self, probe: Probe
    ) -> None:
        records = {state: await probe.in_state(state) for state in State}
        after = await probe.cancel_many()
        assert [record.id for record in after] == [records[State.scheduled].id]
        for state in set(State) - {State.scheduled}:
            assert await probe.get(records[state].id) == records[state]
            assert await probe.cancel_many(state=state) == []

    async def test_cancel_many_ignores_limit_and_before(self, probe: Probe) -> None:
        records = [await probe.add() for _ in range(5)]
        after = await probe.cancel_many(limit=1, before=records[2].id)
        assert len(after) == 5

    async def test_cancel_many_stays_within_its_tenant(self, probe: Probe) -> None:
        records = {owner: await probe.add(tenant=owner) for owner in (None, "a", "b")}
        assert [r.id for r in await probe.cancel_many(tenant="a")] == [records["a"].id]
        assert [r.id for r in await probe.cancel_many(tenant=None)] == [records[None].id]
        assert await probe.get(records["b"].id) == records["b"]

    async def test_cancel_many_frees_the_keys(self, probe: Probe) -> None:
        await probe.add(key="k")
        await probe.cancel_many()
        assert (await probe.add_many([probe.new(key="k")], "raise"))[0].created

    async def test_cancel_many_may_match_none(self, probe: Probe) -> None:
        assert await probe.cancel_many(kind="nothing") == []
