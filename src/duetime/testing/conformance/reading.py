"""`get` and `runs`: an action and its runs."""

from __future__ import annotations

from uuid import uuid4

import pytest

from duetime.errors import ActionNotFound
from duetime.model.actions.action import StoredRun
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY, Scope
from duetime.testing.conformance.probe import LEASE, SECOND, Probe, finish, reschedule
from duetime.testing.conformance.suite import Suite


class Reading(Suite):
    @pytest.mark.parametrize("state", list(State))
    async def test_get_finds_an_action_in_every_state(self, probe: Probe, state: State) -> None:
        record = await probe.in_state(state)
        assert (await probe.get(record.id)).state is state

    async def test_get_of_an_unknown_id_is_not_found(self, probe: Probe) -> None:
        unknown = uuid4()
        with pytest.raises(ActionNotFound) as caught:
            await probe.get(unknown)
        assert caught.value.action_id == unknown

    @pytest.mark.parametrize("state", [State.scheduled, State.succeeded])
    async def test_tenants_see_only_their_own(self, probe: Probe, state: State) -> None:
        owners: list[str | None] = [None, "a", "b", ""]
        records = {owner: await probe.in_state(state, tenant=owner) for owner in owners}
        for owner, record in records.items():
            assert await probe.get(record.id, ANY) == record
            assert await probe.get(record.id, owner) == record
            for other in set(owners) - {owner}:
                with pytest.raises(ActionNotFound):
                    await probe.get(record.id, other)

    async def test_reading_changes_nothing(self, probe: Probe) -> None:
        record = await probe.add()
        probe.pass_time(SECOND)
        await probe.runs(record.id)
        await probe.find()
        assert await probe.get(record.id) == record

    # -- runs ------------------------------------------------------------------------

    async def test_before_its_first_claim_an_action_has_no_runs(self, probe: Probe) -> None:
        assert await probe.runs((await probe.add()).id) == []

    async def test_an_unfinished_run_is_listed(self, probe: Probe) -> None:
        due_at = probe.now
        record = await probe.add(due_at=due_at)
        probe.pass_time(3)
        claim = await probe.claim_one(worker="w9")
        assert await probe.runs(record.id) == [
            StoredRun(
                id=claim.token,
                action_id=record.id,
                attempt=1,
                worker="w9",
                due_at=due_at,
                started_at=probe.now,
                finished_at=None,
                lease_until=probe.now + LEASE,
                outcome=None,
                result=None,
                error=None,
            )
        ]

    async def test_the_run_that_finished_the_action_is_listed(self, probe: Probe) -> None:
        claim = await probe.running()
        lease_until = (await probe.get(claim.id)).lease_until
        started_at = probe.now
        probe.pass_time(SECOND)
        await probe.end(finish(claim, result="[1]"))
        [run] = await probe.runs(claim.id)
        assert (run.id, run.attempt, run.worker) == (claim.token, 1, "worker-1")
        assert (run.started_at, run.finished_at) == (started_at, probe.now)
        assert (run.lease_until, run.due_at) == (lease_until, claim.due_at)
        assert (run.outcome, run.result, run.error) == (Outcome.succeeded, "[1]", None)

    async def test_runs_come_oldest_first(self, probe: Probe) -> None:
        claim = await probe.running()
        tokens = [claim.token]
        for attempt in range(1, 5):
            await probe.end(reschedule(claim, error=f"error {attempt}", delay=SECOND))
            probe.pass_time(SECOND)
            claim = await probe.claim_one()
            tokens.append(claim.token)
        await probe.end(finish(claim))
        runs = await probe.runs(claim.id)
        assert [run.id for run in runs] == tokens
        assert [run.attempt for run in runs] == [1, 2, 3, 4, 5]
        assert [run.error for run in runs] == [*(f"error {n}" for n in range(1, 5)), None]

    async def test_runs_of_one_instant_come_oldest_first_too(self, probe: Probe) -> None:
        """Released runs repeat their attempt number, so neither it nor the time orders them."""
        claim = await probe.running()
        tokens = [claim.token]
        for _ in range(9):
            await probe.end(reschedule(claim, Outcome.released, refund=True))
            claim = await probe.claim_one()
            tokens.append(claim.token)
        assert [run.id for run in await probe.runs(claim.id)] == tokens

    async def test_an_earlier_error_is_not_attributed_to_the_unfinished_run(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, error="boom"))
        await probe.claim_one()
        assert [run.error for run in await probe.runs(claim.id)] == ["boom", None]

    async def test_an_action_cancelled_before_its_next_attempt_keeps_its_runs(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, error="boom"))
        await probe.cancel(claim.id)
        assert [run.id for run in await probe.runs(claim.id)] == [claim.token]

    async def test_runs_are_of_one_action_only(self, probe: Probe) -> None:
        first, second = await probe.running(), await probe.running()
        await probe.end(reschedule(first), reschedule(second))
        assert [run.action_id for run in await probe.runs(first.id)] == [first.id]

    @pytest.mark.parametrize("tenant", [None, "b"])
    async def test_other_tenants_cannot_read_runs(self, probe: Probe, tenant: Scope) -> None:
        claim = await probe.running(tenant="a")
        with pytest.raises(ActionNotFound):
            await probe.runs(claim.id, tenant)
        assert len(await probe.runs(claim.id, "a")) == 1

    async def test_runs_of_an_unknown_id_are_not_found(self, probe: Probe) -> None:
        with pytest.raises(ActionNotFound):
            await probe.runs(uuid4())
