"""`complete` with `rescuing`: releases actions of vanished workers, and no others."""

from __future__ import annotations

from uuid import UUID

from duetime.errors import DuetimeError
from duetime.model.actions.claim import FATAL_LOSSES, SUSPECT_LOSSES, Claim, Expired
from duetime.model.actions.completion import Completion, CompletionResult, decide_loss
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.testing.conformance.probe import LEASE, SECOND, Probe, finish, stale
from duetime.testing.conformance.race import race
from duetime.testing.conformance.suite import Suite


class Rescuing(Suite):
    async def test_a_valid_lease_is_not_rescued(self, probe: Probe) -> None:
        claim = await probe.running()
        before = await probe.get(claim.id)
        probe.pass_time(LEASE - 1)
        assert await probe.end(_lost(claim), rescuing=True) == set()
        assert await probe.get(claim.id) == before

    async def test_an_expired_lease_is_rescued(self, probe: Probe) -> None:
        claim = await probe.running()
        probe.pass_time(LEASE + 1)
        assert await probe.end(_lost(claim), rescuing=True) == {claim.id}
        after = await probe.get(claim.id)
        assert (after.state, after.token, after.losses) == (State.scheduled, None, 1)
        assert (after.attempt, after.due_at) == (0, claim.due_at)
        [run] = await probe.runs(claim.id)
        assert (run.id, run.outcome, run.attempt) == (claim.token, Outcome.lost, 1)

    async def test_a_lease_expires_exactly_at_its_end(self, probe: Probe) -> None:
        """Sweep and rescue agree, so that a sweep never returns a lease that cannot be rescued."""
        claim = await probe.running()
        probe.pass_time(LEASE)
        [expired] = (await probe.sweep()).expired
        assert await probe.end(decide_loss(expired), rescuing=True) == {claim.id}

    async def test_a_renewed_lease_is_not_rescued(self, probe: Probe) -> None:
        claim = await probe.running()
        probe.pass_time(LEASE + 1)
        [expired] = (await probe.sweep()).expired
        await probe.renew(claim)
        assert await probe.end(decide_loss(expired), rescuing=True) == set()
        assert await probe.end(finish(claim)) == {claim.id}

    async def test_a_stale_token_rescues_nothing(self, probe: Probe) -> None:
        claim = await probe.running()
        before = await probe.get(claim.id)
        probe.pass_time(LEASE + 1)
        assert await probe.end(_lost(claim, token=stale(claim)), rescuing=True) == set()
        assert await probe.get(claim.id) == before

    async def test_only_expired_leases_of_a_batch_are_rescued(self, probe: Probe) -> None:
        short, long = await probe.running(lease=SECOND), await probe.running(lease=9 * SECOND)
        probe.pass_time(2 * SECOND)
        assert await probe.end(_lost(short), _lost(long), rescuing=True) == {short.id}
        assert (await probe.get(long.id)).token == long.token

    async def test_the_holder_learns_that_it_lost_its_lease(self, probe: Probe) -> None:
        claim = await probe.running()
        probe.pass_time(LEASE + 1)
        await probe.end(_lost(claim), rescuing=True)
        assert await probe.end(finish(claim)) == set()
        assert (await probe.renew(claim)).lost == {claim.id}
        assert (await probe.get(claim.id)).state is State.scheduled

    async def test_a_rescue_after_completion_changes_nothing(self, probe: Probe) -> None:
        claim = await probe.running()
        probe.pass_time(LEASE + 1)
        [expired] = (await probe.sweep()).expired
        await probe.end(finish(claim))
        before = await probe.get(claim.id)
        assert await probe.end(decide_loss(expired), rescuing=True) == set()
        assert await probe.get(claim.id) == before

    async def test_two_rescuers_count_one_loss(self, probe: Probe) -> None:
        claim = await probe.running()
        probe.pass_time(LEASE + 1)
        [expired] = (await probe.sweep()).expired
        completed = [await probe.end(decide_loss(expired), rescuing=True) for _ in range(2)]
        assert completed == [{claim.id}, set()]
        assert (await probe.get(claim.id)).losses == 1
        assert len(await probe.runs(claim.id)) == 1

    async def test_a_late_rescuer_leaves_the_next_holder_alone(self, probe: Probe) -> None:
        claim = await probe.running()
        probe.pass_time(LEASE + 1)
        [expired] = (await probe.sweep()).expired
        await probe.end(decide_loss(expired), rescuing=True)
        next_claim = await probe.claim_one()
        probe.pass_time(LEASE + 1)
        assert await probe.end(decide_loss(expired), rescuing=True) == set()
        after = await probe.get(claim.id)
        assert (after.token, after.losses) == (next_claim.token, 1)

    async def test_racing_rescuers_count_one_loss_each(self, probe: Probe) -> None:
        claims = [await probe.running() for _ in range(5)]
        probe.pass_time(LEASE + 1)
        endings = [decide_loss(expired) for expired in (await probe.sweep()).expired]
        flows = [probe.store.complete(endings, rescuing=True) for _ in range(6)]
        results = await race(probe.store, flows)
        completed = [result for result in results if isinstance(result, CompletionResult)]
        rescued = [item for result in completed for item in result.applied]
        assert sorted(rescued) == sorted(claim.id for claim in claims)
        assert len(completed) == len(results)
        for claim in claims:
            assert (await probe.get(claim.id)).losses == 1
            assert len(await probe.runs(claim.id)) == 1

    async def test_a_holder_and_a_rescuer_have_one_winner(self, probe: Probe) -> None:
        claims = [await probe.running() for _ in range(6)]
        probe.pass_time(LEASE + 1)
        holders = [probe.store.complete([finish(claim)]) for claim in claims]
        rescuers = [probe.store.complete([_lost(claim)], rescuing=True) for claim in claims]
        results = await race(probe.store, [*holders, *rescuers])
        for i, claim in enumerate(claims):
            completed_by_holder, rescued = (
                _was_applied(results[i], claim),
                _was_applied(results[i + 6], claim),
            )
            assert completed_by_holder != rescued
            state = (await probe.get(claim.id)).state
            assert state is (State.succeeded if completed_by_holder else State.scheduled)

    async def test_losses_lead_to_the_suspects_lane_and_then_to_failure(self, probe: Probe) -> None:
        home, suspects = (lane_of("q", 2, "t", suspect=suspect) for suspect in (False, True))
        record = await probe.add(queue="q", priority=2, tenant="t")
        for losses in range(FATAL_LOSSES):
            claim = await probe.claim_one(suspects if losses >= SUSPECT_LOSSES else home)
            assert (claim.losses, claim.attempt) == (losses, 1)
            probe.pass_time(LEASE + 1)
            [expired] = (await probe.sweep()).expired
            assert await probe.end(decide_loss(expired), rescuing=True) == {record.id}
        after = await probe.get(record.id)
        assert (after.state, after.outcome, after.losses) == (State.failed, Outcome.lost, 5)
        assert [run.outcome for run in await probe.runs(record.id)] == [Outcome.lost] * 5

    async def test_the_holder_cannot_complete_an_action_after_a_fatal_loss(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        fatal = finish(claim, State.failed, outcome=Outcome.lost, lost=1)
        probe.pass_time(LEASE + 1)
        assert await probe.end(fatal, rescuing=True) == {claim.id}
        assert await probe.end(fatal, rescuing=True) == set()
        before = await probe.get(claim.id)
        assert await probe.end(finish(claim)) == set()
        assert await probe.get(claim.id) == before


def _lost(claim: Claim, token: UUID | None = None) -> Completion:
    """The completion that a rescuer sends for a loss."""
    holder = token or claim.token
    return decide_loss(Expired(claim.id, holder, "default", 1, claim.tenant, claim.losses))


def _was_applied(result: CompletionResult | DuetimeError, claim: Claim) -> bool:
    return isinstance(result, CompletionResult) and result.applied == {claim.id}
