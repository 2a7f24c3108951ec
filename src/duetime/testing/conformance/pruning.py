"""`prune`: deletes old history in small batches, oldest first."""

from __future__ import annotations

import pytest

from duetime.errors import ActionNotFound
from duetime.model.state import FINISHED, State
from duetime.testing.conformance.probe import SECOND, Probe, finish, reschedule
from duetime.testing.conformance.suite import Suite


class Pruning(Suite):
    async def test_an_empty_store_has_nothing_to_prune(self, probe: Probe) -> None:
        assert await probe.prune() == 0

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_actions_past_their_retention_are_pruned(
        self, probe: Probe, state: State
    ) -> None:
        record = await probe.finished(state)
        probe.pass_time(SECOND + 1)
        assert await probe.prune(keep=SECOND, keep_failed=SECOND) == 1
        with pytest.raises(ActionNotFound):
            await probe.get(record.id)
        assert await probe.all() == []

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_retention_is_exact_to_the_microsecond(self, probe: Probe, state: State) -> None:
        await probe.finished(state)
        probe.pass_time(SECOND)
        assert await probe.prune(keep=SECOND, keep_failed=SECOND) == 0

    async def test_failed_actions_have_their_own_retention(self, probe: Probe) -> None:
        records = {state: await probe.finished(state) for state in sorted(FINISHED)}
        probe.pass_time(2 * SECOND)
        assert await probe.prune(keep=SECOND, keep_failed=5 * SECOND) == 2
        assert await probe.all() == [records[State.failed]]
        probe.pass_time(3 * SECOND + 1)
        assert await probe.prune(keep=60 * SECOND, keep_failed=5 * SECOND) == 1

    async def test_failed_actions_may_be_pruned_first(self, probe: Probe) -> None:
        records = {state: await probe.finished(state) for state in sorted(FINISHED)}
        probe.pass_time(2 * SECOND)
        assert await probe.prune(keep=5 * SECOND, keep_failed=SECOND) == 1
        assert records[State.failed] not in await probe.all()

    async def test_unfinished_actions_stay_however_old(self, probe: Probe) -> None:
        claim = await probe.running()
        waiting = await probe.add()
        probe.pass_time(10**6 * SECOND)
        assert await probe.prune() == 0
        assert await probe.get(waiting.id) == waiting
        assert await probe.end(finish(claim)) == {claim.id}

    async def test_the_oldest_are_pruned_first_up_to_the_limit(self, probe: Probe) -> None:
        """Ordered by the finish, not by the insert: the last actions added finish first."""
        claims = [await probe.running() for _ in range(6)]
        for claim in reversed(claims):
            probe.pass_time(1)
            await probe.end(finish(claim, State.failed if claim is claims[4] else State.succeeded))
        probe.pass_time(SECOND)
        assert await probe.prune(limit=2) == 2
        left = {record.id for record in await probe.all()}
        assert left == {claim.id for claim in claims[:4]}
        assert await probe.prune(limit=100) == 4

    async def test_age_counts_by_the_clock_not_by_the_order_of_arrival(self, probe: Probe) -> None:
        """After a clock was set back, the action that finished last may be the oldest."""
        young = await probe.finished(State.succeeded)
        probe.pass_time(-60 * SECOND)
        old = await probe.finished(State.succeeded)
        probe.pass_time(120 * SECOND)
        assert await probe.prune(limit=1) == 1
        assert await probe.all() == [young]
        assert old.id != young.id

    async def test_runs_are_pruned_with_their_action(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim))
        await probe.end(finish(await probe.claim_one()))
        probe.pass_time(1)
        assert await probe.prune() == 1
        with pytest.raises(ActionNotFound):
            await probe.runs(claim.id)
        await probe.add(id=claim.id)
        assert await probe.runs(claim.id) == []

    async def test_tracebacks_of_other_actions_stay(self, probe: Probe) -> None:
        old, young = await probe.running(), await probe.running()
        await probe.end(finish(old, State.failed, traceback="old"))
        probe.pass_time(SECOND)
        await probe.end(finish(young, State.failed, traceback="young"))
        probe.pass_time(1)
        assert await probe.prune(keep=SECOND, keep_failed=SECOND) == 1
        await probe.add(id=old.id)
        assert await probe.runs(old.id) == []
        assert [run.traceback for run in await probe.runs(young.id)] == ["young"]

    async def test_runs_of_other_actions_stay(self, probe: Probe) -> None:
        old, young = await probe.running(), await probe.running()
        await probe.end(reschedule(old), reschedule(young))
        claims = {claim.id: claim for claim in await probe.claim()}
        await probe.end(finish(claims[old.id]))
        probe.pass_time(SECOND)
        await probe.end(finish(claims[young.id]))
        assert await probe.prune() == 1
        assert len(await probe.runs(young.id)) == 2

    async def test_the_audit_log_stays(self, probe: Probe) -> None:
        record = await probe.finished(State.cancelled)
        entries = await probe.audit(record.id)
        probe.pass_time(1)
        assert await probe.prune() == 1
        assert await probe.audit(record.id) == entries

    async def test_a_retried_action_is_not_pruned(self, probe: Probe) -> None:
        failed = await probe.finished(State.failed)
        after = await probe.retry(failed.id)
        probe.pass_time(60 * SECOND)
        assert await probe.prune() == 0
        assert await probe.get(failed.id) == after
