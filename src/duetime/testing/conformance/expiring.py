"""`expires_at`: kept with an action, checked when it is given, and what a claim that came too late
leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from duetime.errors import ActionExpired, InvalidArgument
from duetime.model.actions.claim import Claim
from duetime.model.actions.completion import Finish
from duetime.model.actions.outcome import TooLate, decide
from duetime.model.actions.retry import Retry
from duetime.model.state import Outcome, State
from duetime.store.contract.expiry import ExpiredActions
from duetime.testing.conformance.probe import SECOND, Probe, finish, reschedule
from duetime.testing.conformance.suite import Suite


class Expiring(Suite):
    # -- kept ------------------------------------------------------------------------

    async def test_an_action_keeps_its_expiry(self, probe: Probe) -> None:
        expires_at = probe.now + 9 * SECOND
        record = await probe.add(delay=SECOND, expires_at=expires_at)
        assert record.expires_at == expires_at
        assert await probe.get(record.id) == record
        assert await probe.find() == [record]

    async def test_actions_of_one_call_have_their_own_expiry(self, probe: Probe) -> None:
        expiries = [probe.now + 5 * SECOND, None, probe.now + 6 * SECOND]
        added = await probe.add_many([probe.new(expires_at=expiry) for expiry in expiries])
        assert [item.record.expires_at for item in added] == expiries
        stored = [(await probe.get(item.record.id)).expires_at for item in added]
        assert stored == expiries

    async def test_a_claim_tells_when_its_action_expires(self, probe: Probe) -> None:
        expires_at = probe.now + 9 * SECOND
        await probe.add(expires_at=expires_at)
        await probe.add()
        assert {claim.expires_at for claim in await probe.claim()} == {None, expires_at}

    @pytest.mark.parametrize("state", sorted(set(State) - {State.scheduled}))
    async def test_an_expiry_is_kept_in_every_state(self, probe: Probe, state: State) -> None:
        expires_at = probe.now + 9 * SECOND
        assert (await probe.in_state(state, expires_at=expires_at)).expires_at == expires_at

    async def test_an_expiry_is_kept_over_all_attempts(self, probe: Probe) -> None:
        expires_at = probe.now + 9 * SECOND
        await probe.end(reschedule(await probe.running(expires_at=expires_at), error="boom"))
        assert (await probe.claim_one()).expires_at == expires_at

    async def test_an_action_is_claimed_after_its_expiry(self, probe: Probe) -> None:
        """So that the worker can cancel it."""
        record = await probe.add(expires_at=probe.now + SECOND)
        probe.pass_time(9 * SECOND)
        assert (await probe.claim_one()).id == record.id

    @pytest.mark.parametrize("later", [None, 7 * SECOND])
    async def test_a_replacement_brings_its_own_expiry(
        self, probe: Probe, later: int | None
    ) -> None:
        record = await probe.add(key="k", delay=SECOND, expires_at=probe.now + 3 * SECOND)
        expires_at = None if later is None else probe.now + later
        new = probe.new(key="k", delay=2 * SECOND, expires_at=expires_at)
        [added] = await probe.add_many([new], "replace")
        assert (added.record.id, added.record.expires_at) == (record.id, expires_at)
        assert await probe.get(record.id) == added.record

    # -- refused ---------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"expires_at": -1}, "it has passed"),
            ({"expires_at": 0}, "it has passed"),
            ({"due_at": 5, "expires_at": 5}, "could never start"),
            ({"due_at": 5, "expires_at": 4}, "could never start"),
            ({"delay": 5, "expires_at": 5}, "could never start"),
        ],
    )
    async def test_an_expiry_before_the_start_is_refused(
        self, probe: Probe, given: dict[str, int], words: str
    ) -> None:
        """Instants count from now."""
        shifted = {n: v if n == "delay" else probe.now + v for n, v in given.items()}
        for new in (probe.new(**shifted), probe.new(**shifted, key="k")):
            for mode in ("return", "raise", "replace"):
                with pytest.raises(InvalidArgument, match=words) as caught:
                    await probe.add_many([probe.new(), new], mode)
                assert caught.value.argument == "expires"
        assert await probe.all() == []

    async def test_an_expiry_is_compared_with_the_time_of_a_child(self, probe: Probe) -> None:
        parent = await probe.add()
        with pytest.raises(InvalidArgument, match="could never start"):
            await probe.child(parent.id, due_at=probe.now + 5, expires_at=probe.now + 5)
        # Its delay counts from the end of its parent, which may be over.
        child = await probe.child(parent.id, delay=5, expires_at=probe.now + 3)
        assert (child.expires_at, child.waits) == (probe.now + 3, True)

    async def test_an_action_sent_again_is_not_refused(self, probe: Probe) -> None:
        new = probe.new(expires_at=probe.now + SECOND)
        [first] = await probe.add_many([new])
        probe.pass_time(2 * SECOND)
        assert await probe.add_many([new]) == [first]

    async def test_no_action_is_moved_beyond_its_expiry(self, probe: Probe) -> None:
        record = await probe.add(delay=SECOND, expires_at=probe.now + 5 * SECOND)
        with pytest.raises(InvalidArgument, match="expires at") as caught:
            await probe.reschedule(record.id, probe.now + 5 * SECOND)
        assert caught.value.argument == "at"
        with pytest.raises(InvalidArgument, match="expires at") as caught:
            await probe.reschedule(record.id, delay=5 * SECOND)
        assert caught.value.argument == "delay"
        assert await probe.get(record.id) == record
        moved = await probe.reschedule(record.id, delay=5 * SECOND - 1)
        assert moved.due_at == probe.now + 5 * SECOND - 1

    async def test_an_expired_action_is_not_moved_at_all(self, probe: Probe) -> None:
        record = await probe.add(expires_at=probe.now + SECOND)
        probe.pass_time(SECOND)
        with pytest.raises(InvalidArgument, match="expired at"):
            await probe.reschedule(record.id, probe.now - 5 * SECOND)
        assert await probe.get(record.id) == record

    async def test_a_waiting_child_is_not_moved_beyond_its_expiry(self, probe: Probe) -> None:
        parent = await probe.add()
        child = await probe.child(parent.id, expires_at=probe.now + 5 * SECOND)
        with pytest.raises(InvalidArgument, match="expires at"):
            await probe.reschedule(child.id, delay=5 * SECOND)
        assert await probe.get(child.id) == child

    async def test_an_expired_action_is_not_retried(self, probe: Probe) -> None:
        record = await probe.finished(State.failed, expires_at=probe.now + SECOND)
        probe.pass_time(SECOND)
        with pytest.raises(ActionExpired) as caught:
            await probe.retry(record.id)
        assert (caught.value.action_id, caught.value.state) == (record.id, State.failed)
        assert await probe.get(record.id) == record

    async def test_an_action_is_retried_before_its_expiry(self, probe: Probe) -> None:
        expires_at = probe.now + SECOND
        record = await probe.finished(State.failed, expires_at=expires_at)
        probe.pass_time(SECOND - 1)
        after = await probe.retry(record.id)
        assert (after.state, after.expires_at) == (State.scheduled, expires_at)
        assert await probe.get(record.id) == after

    async def test_retrying_many_leaves_the_expired_ones(self, probe: Probe) -> None:
        expired = await probe.finished(State.failed, expires_at=probe.now + SECOND)
        valid = await probe.finished(State.failed)
        probe.pass_time(SECOND)
        assert [record.id for record in await probe.retry_many()] == [valid.id]
        assert await probe.get(expired.id) == expired

    # -- expired ---------------------------------------------------------------------

    async def test_a_claim_that_came_too_late_cancels_its_action(self, probe: Probe) -> None:
        claim = await _claimed_too_late(probe)
        probe.pass_time(SECOND)
        assert await probe.end(_expired(claim)) == {claim.id}
        record = await probe.get(claim.id)
        assert (record.state, record.outcome) == (State.cancelled, Outcome.cancelled)
        assert (record.cancelled_by, record.finished_at) == ("system", probe.now)
        assert (record.error or "").startswith("expired at ")

    async def test_a_claim_that_came_too_late_is_no_run(self, probe: Probe) -> None:
        claim = await _claimed_too_late(probe)
        await probe.end(_expired(claim))
        record = await probe.get(claim.id)
        assert (record.attempt, record.started_at) == (0, None)
        assert await probe.runs(claim.id) == []

    async def test_earlier_runs_stay(self, probe: Probe) -> None:
        await probe.end(reschedule(await probe.running(expires_at=probe.now + 1), error="boom"))
        probe.pass_time(2)
        claim = await probe.claim_one()
        await probe.end(_expired(claim))
        assert (await probe.get(claim.id)).attempt == 1
        [run] = await probe.runs(claim.id)
        assert (run.attempt, run.outcome) == (1, Outcome.retried)

    async def test_actions_that_expired_are_completed_beside_others(self, probe: Probe) -> None:
        late = await _claimed_too_late(probe)
        claim = await probe.running()
        ending = finish(claim, started_at=probe.now)
        assert await probe.end(_expired(late), ending) == {late.id, claim.id}
        assert [run.started_at for run in await probe.runs(claim.id)] == [probe.now]
        assert (await probe.get(claim.id)).attempt == 1
        assert (await probe.get(late.id)).attempt == 0

    async def test_an_expiry_sent_again_took_effect_before(self, probe: Probe) -> None:
        claim = await _claimed_too_late(probe)
        result = await probe.complete(_expired(claim))
        assert (result.applied, result.applied_earlier) == ({claim.id}, set())
        again = await probe.complete(_expired(claim))
        assert (again.applied, again.applied_earlier) == ({claim.id}, {claim.id})

    async def test_children_settle_as_for_any_cancelled_parent(self, probe: Probe) -> None:
        claim = await _claimed_too_late(probe)
        needs_success = await probe.child(claim.id)
        any_end = await probe.child(claim.id, on="finished")
        result = await probe.complete(_expired(claim))
        assert result.parents == {claim.id}
        await probe.settle(claim.id)
        assert (await probe.get(needs_success.id)).state is State.cancelled
        assert (await probe.get(any_end.id)).due_at == probe.now

    async def test_a_stale_claim_cancels_nothing(self, probe: Probe) -> None:
        claim = await _claimed_too_late(probe)
        await probe.end(reschedule(claim, Outcome.released, refund=True))
        assert await probe.end(_expired(claim)) == set()
        assert (await probe.get(claim.id)).state is State.scheduled

    # -- cancelled before a worker claims it ----------------------------------------------

    async def test_what_has_expired_is_cancelled_with_the_reason(self, probe: Probe) -> None:
        record = await probe.add(key="k", tenant="acme", expires_at=probe.now + SECOND)
        probe.pass_time(2 * SECOND)
        done = await probe.cancel_expired(record.id)
        [cancelled] = done.cancelled
        assert not done.changed
        assert await probe.get(record.id) == cancelled
        assert (cancelled.state, cancelled.cancelled_by) == (State.cancelled, "system")
        assert str(cancelled.error).startswith("expired at ")
        assert cancelled.finished_at == probe.now
        assert await probe.runs(record.id) == []
        assert await probe.audit(record.id) == []
        assert (await probe.add(key="k", tenant="acme")).id != record.id

    async def test_a_waiting_child_that_has_expired_is_cancelled(self, probe: Probe) -> None:
        parent = await probe.add(delay=9 * SECOND)
        child = await probe.child(parent.id, expires_at=probe.now + SECOND)
        probe.pass_time(2 * SECOND)
        done = await probe.cancel_expired(child.id)
        assert [record.id for record in done.cancelled] == [child.id]

    async def test_what_may_still_start_is_not_cancelled(self, probe: Probe) -> None:
        at_the_instant = await probe.add(expires_at=probe.now + SECOND)
        without = await probe.add()
        probe.pass_time(SECOND)
        before = await probe.all()
        done = await probe.cancel_expired(at_the_instant.id, without.id)
        assert done == ExpiredActions([], changed=False)
        assert await probe.all() == before

    @pytest.mark.parametrize("state", sorted(set(State) - {State.scheduled}))
    async def test_only_what_is_scheduled_is_cancelled(self, probe: Probe, state: State) -> None:
        record = await probe.in_state(state, expires_at=probe.now + 5 * SECOND)
        probe.pass_time(9 * SECOND)
        assert await probe.cancel_expired(record.id) == ExpiredActions([], changed=True)
        assert await probe.get(record.id) == record

    async def test_of_several_each_gets_its_own_reason(self, probe: Probe) -> None:
        first = await probe.add(expires_at=probe.now + SECOND)
        other = await probe.add(expires_at=probe.now + 2 * SECOND)
        probe.pass_time(3 * SECOND)
        cancelled = (await probe.cancel_expired(other.id, first.id)).cancelled
        assert {record.id for record in cancelled} == {first.id, other.id}
        assert len({record.error for record in cancelled}) == 2
        again = await probe.cancel_expired(other.id, first.id)
        assert again == ExpiredActions([], changed=True)


async def _claimed_too_late(probe: Probe, **given: Any) -> Claim:
    """Add an action, and claim it after it has expired."""
    record = await probe.add(expires_at=probe.now + SECOND, **given)
    probe.pass_time(SECOND + 1)
    claim = await probe.claim_one()
    assert claim.id == record.id
    return claim


def _expired(claim: Claim) -> Finish:
    """The completion that a worker sends for it."""
    assert claim.expires_at is not None
    completion = decide(
        claim,
        TooLate(claim.expires_at),
        retry=Retry.none(),
        chance=0.0,
        started_at=None,
        max_result=100,
    )
    assert isinstance(completion, Finish)
    return completion
