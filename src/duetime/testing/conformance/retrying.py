"""`retry` and `retry_many`: a failed action starts over."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from duetime.errors import ActionNotFound, DuplicateKey, IllegalState
from duetime.model.act import Act
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.model.tenant import Scope
from duetime.testing.conformance.probe import SECOND, Probe, finish, reschedule
from duetime.testing.conformance.race import race
from duetime.testing.conformance.suite import Suite


class Retrying(Suite):
    async def test_a_failed_action_is_scheduled_at_now(self, probe: Probe) -> None:
        failed = await probe.finished(State.failed, key="k", tenant="a")
        probe.pass_time(60 * SECOND)
        after = await probe.retry(failed.id, by="bob")
        assert after == replace(
            failed,
            state=State.scheduled,
            due_at=probe.now,
            base_attempt=1,
            token=None,
            worker=None,
            lease_until=None,
            started_at=None,
            error=None,
            error_group=None,
            outcome=None,
            modified_at=probe.now,
            modified_by="bob",
            finished_at=None,
        )
        assert await probe.get(failed.id) == after
        assert await probe.all() == [after]

    async def test_it_can_be_claimed_again(self, probe: Probe) -> None:
        failed = await probe.finished(State.failed)
        await probe.retry(failed.id)
        assert (await probe.claim_one()).id == failed.id

    async def test_the_budget_starts_again_and_attempt_numbers_go_on(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim))
        claim = await probe.claim_one()
        assert (claim.attempt, claim.tries) == (2, 2)
        await probe.end(finish(claim, State.failed))
        await probe.retry(claim.id)
        claim = await probe.claim_one()
        assert (claim.attempt, claim.base_attempt, claim.tries) == (3, 2, 1)

    async def test_losses_start_again_in_the_ordinary_lane(self, probe: Probe) -> None:
        claim = await probe.running(tenant="a")
        suspect = lane_of("default", 1, "a", suspect=True)
        await probe.end(reschedule(claim, Outcome.lost, lane=suspect, lost=4, refund=True))
        claim = await probe.claim_one(suspect)
        await probe.end(finish(claim, State.failed, outcome=Outcome.lost, lost=1))
        assert (await probe.get(claim.id)).losses == 5
        assert (await probe.retry(claim.id)).losses == 0
        assert (await probe.claim_one(lane_of("default", 1, "a"))).losses == 0

    async def test_the_run_that_failed_joins_the_earlier_runs(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, error="first"))
        await probe.end(finish(await probe.claim_one(), State.failed, error="second"))
        before = await probe.runs(claim.id)
        await probe.retry(claim.id)
        assert await probe.runs(claim.id) == before
        await probe.end(finish(await probe.claim_one()))
        runs = await probe.runs(claim.id)
        assert runs[:2] == before
        assert [(run.attempt, run.outcome, run.error) for run in runs] == [
            (1, Outcome.retried, "first"),
            (2, Outcome.failed, "second"),
            (3, Outcome.succeeded, None),
        ]

    async def test_it_may_fail_and_be_retried_again_and_again(self, probe: Probe) -> None:
        failed = await probe.finished(State.failed)
        for _ in range(3):
            await probe.retry(failed.id)
            await probe.end(finish(await probe.claim_one(), State.failed))
        assert [run.attempt for run in await probe.runs(failed.id)] == [1, 2, 3, 4]

    @pytest.mark.parametrize("state", sorted(set(State) - {State.failed}))
    async def test_no_other_state_allows_it(self, probe: Probe, state: State) -> None:
        record = await probe.in_state(state)
        with pytest.raises(IllegalState) as caught:
            await probe.retry(record.id)
        error = caught.value
        assert (error.verb, error.action_id, error.state) == ("retry", record.id, state)
        assert await probe.get(record.id) == record

    async def test_retry_is_refused_if_another_action_holds_the_key(self, probe: Probe) -> None:
        failed = await probe.finished(State.failed, key="k")
        holder = await probe.add(key="k", delay=SECOND)
        runs = await probe.runs(failed.id)
        with pytest.raises(DuplicateKey) as caught:
            await probe.retry(failed.id)
        error = caught.value
        assert (error.key, error.kind, error.action_id) == ("k", "mail", holder.id)
        assert await probe.get(failed.id) == failed
        assert await probe.runs(failed.id) == runs

    async def test_a_retried_action_holds_its_key_again(self, probe: Probe) -> None:
        failed = await probe.finished(State.failed, key="k")
        await probe.retry(failed.id)
        with pytest.raises(DuplicateKey) as caught:
            await probe.add_many([probe.new(key="k")], "raise")
        assert caught.value.action_id == failed.id

    @pytest.mark.parametrize("tenant", [None, "b"])
    async def test_other_tenants_cannot_retry(self, probe: Probe, tenant: Scope) -> None:
        failed = await probe.finished(State.failed, tenant="a")
        with pytest.raises(ActionNotFound):
            await probe.retry(failed.id, tenant)
        assert await probe.get(failed.id) == failed
        assert (await probe.retry(failed.id, "a")).state is State.scheduled

    async def test_retry_of_an_unknown_id_is_not_found(self, probe: Probe) -> None:
        with pytest.raises(ActionNotFound):
            await probe.retry(uuid4())

    async def test_among_racers_exactly_one_retries(self, probe: Probe) -> None:
        failed = await probe.finished(State.failed)
        flows = [probe.store.retry(failed.id, None, Act(f"user-{i}")) for i in range(8)]
        results = await race(probe.store, flows)
        [winner] = [result for result in results if not isinstance(result, IllegalState)]
        assert not isinstance(winner, BaseException)
        assert {r.state for r in results if isinstance(r, IllegalState)} == {"scheduled"}
        assert await probe.get(failed.id) == winner
        assert len(await probe.audit(failed.id)) == 1
        assert len(await probe.runs(failed.id)) == 1

    # -- many ------------------------------------------------------------------------

    async def test_retry_many_retries_what_matches(self, probe: Probe) -> None:
        ours = [await probe.finished(State.failed, correlation_id="c") for _ in range(3)]
        other = await probe.finished(State.failed, correlation_id="d")
        probe.pass_time(9)
        after = await probe.retry_many("eve", correlation_id="c")
        assert {record.id for record in after} == {record.id for record in ours}
        for record in after:
            assert record == await probe.get(record.id)
            assert (record.state, record.due_at) == (State.scheduled, probe.now)
            assert (record.modified_by, record.base_attempt) == ("eve", 1)
            assert len(await probe.runs(record.id)) == 1
        assert await probe.get(other.id) == other

    async def test_retry_many_changes_only_failed_actions(self, probe: Probe) -> None:
        records = {state: await probe.in_state(state) for state in State}
        after = await probe.retry_many()
        assert [record.id for record in after] == [records[State.failed].id]
        for state in set(State) - {State.failed}:
            assert await probe.get(records[state].id) == records[state]
            assert await probe.retry_many(state=state) == []

    async def test_retry_many_skips_actions_whose_key_is_taken(self, probe: Probe) -> None:
        blocked = await probe.finished(State.failed, key="k")
        free = await probe.finished(State.failed, key="l")
        await probe.add(key="k", delay=SECOND)
        assert [record.id for record in await probe.retry_many()] == [free.id]
        assert await probe.get(blocked.id) == blocked
        assert await probe.audit(blocked.id) == []
        assert len(await probe.runs(blocked.id)) == 1

    async def test_retry_many_revives_one_of_each_key(self, probe: Probe) -> None:
        twins = [await probe.finished(State.failed, key="k") for _ in range(2)]
        [after] = await probe.retry_many()
        assert after.id in {twin.id for twin in twins}
        states = sorted([(await probe.get(twin.id)).state for twin in twins])
        assert states == [State.failed, State.scheduled]

    async def test_retry_many_stays_within_its_tenant(self, probe: Probe) -> None:
        records = {owner: await probe.finished(State.failed, tenant=owner) for owner in (None, "a")}
        assert [r.id for r in await probe.retry_many(tenant="a")] == [records["a"].id]
        assert await probe.get(records[None].id) == records[None]

    async def test_retry_many_may_match_none(self, probe: Probe) -> None:
        assert await probe.retry_many(kind="nothing") == []
