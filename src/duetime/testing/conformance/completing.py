"""`complete`: completions take effect once, and only for the holder of the claim."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from duetime.model.actions.action import StoredRun
from duetime.model.actions.completion import Completion
from duetime.model.lane import lane_of
from duetime.model.state import FINISHED, Outcome, State
from duetime.testing.conformance.probe import LEASE, SECOND, Probe, finish, reschedule, stale
from duetime.testing.conformance.suite import Suite


class Completing(Suite):
    async def test_completing_no_runs_is_allowed(self, probe: Probe) -> None:
        assert await probe.end() == set()

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_finish_moves_an_action_to_its_final_state(
        self, probe: Probe, state: State
    ) -> None:
        claim = await probe.running(key="k")
        before = await probe.get(claim.id)
        probe.pass_time(SECOND)
        ending = finish(claim, state, result="[7]", error="why", cancelled_by="bob")
        assert await probe.end(ending) == {claim.id}
        assert await probe.get(claim.id) == replace(
            before,
            state=state,
            outcome=Outcome(state.value),
            result="[7]",
            error="why",
            error_group="why" if state is State.failed else None,
            cancelled_by="bob",
            finished_at=probe.now,
        )

    async def test_finish_leaves_nothing_behind(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(finish(claim))
        assert await probe.heads() == {}
        assert [record.id for record in await probe.all()] == [claim.id]
        probe.pass_time(2 * LEASE)
        assert (await probe.sweep()).expired == []

    async def test_finish_keeps_the_token_of_the_last_run(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(finish(claim))
        assert (await probe.get(claim.id)).token == claim.token

    async def test_finish_records_when_the_run_really_started(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(finish(claim, started_at=probe.now + 5))
        assert (await probe.get(claim.id)).started_at == probe.now + 5
        [run] = await probe.runs(claim.id)
        assert run.started_at == probe.now + 5

    async def test_finish_adds_its_loss(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(finish(claim, State.failed, outcome=Outcome.lost, lost=1))
        after = await probe.get(claim.id)
        assert (after.losses, after.outcome) == (1, Outcome.lost)

    async def test_success_clears_an_earlier_error(self, probe: Probe) -> None:
        await probe.end(reschedule(await probe.running(), error="boom"))
        claim = await probe.claim_one()
        await probe.end(finish(claim))
        assert (await probe.get(claim.id)).error is None

    # -- tracebacks ------------------------------------------------------------------

    async def test_the_traceback_is_kept_with_its_run(self, probe: Probe) -> None:
        first = await probe.running()
        await probe.end(reschedule(first, traceback="line 1\nZeroDivisionError: \u00e9"))
        [run] = await probe.runs(first.id)
        assert run.traceback == "line 1\nZeroDivisionError: \u00e9"

    async def test_of_each_action_the_last_traceback_is_kept(self, probe: Probe) -> None:
        first = await probe.running()
        await probe.end(reschedule(first, traceback="first"))
        await probe.end(reschedule(await probe.claim_one(), traceback="second"))
        await probe.end(finish(await probe.claim_one()))
        assert [run.traceback for run in await probe.runs(first.id)] == [None, "second", None]

    async def test_a_failed_action_keeps_its_traceback(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(finish(claim, State.failed, traceback="boom"))
        assert [run.traceback for run in await probe.runs(claim.id)] == ["boom"]
        await probe.retry(claim.id)
        assert [run.traceback for run in await probe.runs(claim.id)] == ["boom"]
        await probe.end(finish(await probe.claim_one()))
        assert [run.traceback for run in await probe.runs(claim.id)] == ["boom", None]

    async def test_many_tracebacks_in_one_call(self, probe: Probe) -> None:
        claims = [await probe.running() for _ in range(5)]
        failures: list[Completion] = [
            reschedule(claim, traceback=f"of {n}") if n % 2 else finish(claim, State.failed)
            for n, claim in enumerate(claims[:4])
        ]
        await probe.end(*failures, finish(claims[4]))
        found = [run.traceback for claim in claims for run in await probe.runs(claim.id)]
        assert found == [None, "of 1", None, "of 3", None]

    async def test_a_stale_completion_keeps_no_traceback(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, traceback="ours"))
        claimed = await probe.claim_one()
        assert (
            await probe.end(reschedule(claimed, token=stale(claimed), traceback="not ours"))
            == set()
        )
        assert [run.traceback for run in await probe.runs(claim.id)] == ["ours", None]

    async def test_a_failure_sent_again_keeps_its_traceback(self, probe: Probe) -> None:
        claim = await probe.running()
        failure = finish(claim, State.failed, traceback="once")
        for _ in range(2):
            assert await probe.end(failure) == {claim.id}
        assert [run.traceback for run in await probe.runs(claim.id)] == ["once"]

    async def test_the_traceback_of_an_occurrence(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        await probe.occur(probe.occurrence(job), job=job)
        claim = await probe.claim_one()
        await probe.end(finish(claim, State.failed, job=job.name, traceback="boom"))
        assert [run.traceback for run in await probe.runs(claim.id)] == ["boom"]

    # -- reschedule ------------------------------------------------------------------

    async def test_reschedule_releases_an_action(self, probe: Probe) -> None:
        claim = await probe.running(key="k")
        before = await probe.get(claim.id)
        await probe.progress(claim, "[1]")
        probe.pass_time(SECOND)
        ending = reschedule(claim, delay=9 * SECOND, error="boom", result="[2]", lost=1)
        assert await probe.end(ending) == {claim.id}
        assert await probe.get(claim.id) == replace(
            before,
            state=State.scheduled,
            due_at=probe.now + 9 * SECOND,
            losses=1,
            token=None,
            worker=None,
            lease_until=None,
            started_at=None,
            progress=None,
            error="boom",
        )

    async def test_reschedule_records_the_run_under_its_token(self, probe: Probe) -> None:
        claim = await probe.running()
        started_at = probe.now
        probe.pass_time(SECOND)
        await probe.end(reschedule(claim, delay=SECOND, error="boom", result="[2]"))
        assert await probe.runs(claim.id) == [
            StoredRun(
                id=claim.token,
                action_id=claim.id,
                attempt=1,
                worker="worker-1",
                due_at=claim.due_at,
                started_at=started_at,
                finished_at=probe.now,
                lease_until=started_at + LEASE,
                outcome=Outcome.retried,
                result="[2]",
                error="boom",
            )
        ]

    async def test_reschedule_records_when_the_run_really_started(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, started_at=probe.now + 5))
        assert [run.started_at for run in await probe.runs(claim.id)] == [probe.now + 5]

    async def test_a_delay_counts_from_the_stores_now_and_is_never_short(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        probe.pass_time(5)
        await probe.end(reschedule(claim, delay=SECOND))
        probe.pass_time(SECOND - 1)
        assert await probe.claim() == []
        probe.pass_time(1)
        assert (await probe.claim_one()).due_at == probe.now

    async def test_no_delay_keeps_the_due_time(self, probe: Probe) -> None:
        claim = await probe.running()
        probe.pass_time(SECOND)
        await probe.end(reschedule(claim))
        assert (await probe.claim_one()).due_at == claim.due_at

    async def test_a_refund_gives_the_attempt_back(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, Outcome.snoozed, refund=True))
        assert (await probe.get(claim.id)).attempt == 0
        assert [run.attempt for run in await probe.runs(claim.id)] == [1]
        assert (await probe.claim_one()).attempt == 1

    async def test_reschedule_may_change_the_lane_or_leave_it(self, probe: Probe) -> None:
        suspect = lane_of("default", 1, None, suspect=True)
        await probe.end(reschedule(await probe.running(), Outcome.lost, lane=suspect))
        assert await probe.claim() == []
        claim = await probe.claim_one(suspect)
        assert claim.lane == suspect
        await probe.end(reschedule(claim))
        assert (await probe.claim_one(suspect)).id == claim.id

    # -- fenced ----------------------------------------------------------------------

    async def test_a_stale_token_finishes_nothing(self, probe: Probe) -> None:
        claim = await probe.running()
        before = await probe.get(claim.id)
        for ending in (finish(claim, token=stale(claim)), reschedule(claim, token=stale(claim))):
            assert await probe.end(ending) == set()
        assert await probe.get(claim.id) == before
        assert len(await probe.runs(claim.id)) == 1
        assert await probe.end(finish(claim)) == {claim.id}

    async def test_the_token_of_an_earlier_run_is_stale(self, probe: Probe) -> None:
        old = await probe.running()
        await probe.end(reschedule(old, Outcome.lost))
        for claimed in (False, True):
            if claimed:
                await probe.claim_one()
            before = await probe.get(old.id)
            assert await probe.end(finish(old)) == set()
            assert await probe.end(reschedule(old, Outcome.snoozed)) == set()
            assert await probe.get(old.id) == before

    async def test_a_finished_action_cannot_be_completed_again(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(finish(claim, State.failed))
        before = await probe.get(claim.id)
        assert await probe.end(finish(claim, State.succeeded)) == set()
        assert await probe.end(reschedule(claim, Outcome.retried)) == set()
        assert await probe.end(finish(claim, token=stale(claim))) == set()
        assert await probe.get(claim.id) == before

    async def test_a_scheduled_action_cannot_be_completed(self, probe: Probe) -> None:
        record = await probe.add()
        claim = (await probe.running(queue="other"))._replace(id=record.id)
        assert await probe.end(finish(claim), reschedule(claim)) == set()
        assert await probe.get(record.id) == record

    async def test_an_unknown_id_completes_nothing(self, probe: Probe) -> None:
        claim = (await probe.running())._replace(id=uuid4())
        assert await probe.end(finish(claim)) == set()

    async def test_an_expired_lease_does_not_stop_the_holder(self, probe: Probe) -> None:
        """Only the token decides, not the time of the lease."""
        claim = await probe.running()
        probe.pass_time(10 * LEASE)
        assert await probe.end(finish(claim)) == {claim.id}

    async def test_completions_of_a_batch_are_independent(self, probe: Probe) -> None:
        claims = [await probe.running() for _ in range(6)]
        endings: list[Completion] = [
            finish(claims[0]),
            finish(claims[1], token=stale(claims[1])),
            reschedule(claims[2], delay=SECOND),
            reschedule(claims[3], token=stale(claims[3])),
            finish(claims[4], State.failed),
            reschedule(claims[5], Outcome.snoozed, delay=7, refund=True),
        ]
        expected = {claims[0].id, claims[2].id, claims[4].id, claims[5].id}
        assert await probe.end(*endings) == expected
        states = [(await probe.get(claim.id)).state for claim in claims]
        assert states == [
            State.succeeded,
            State.running,
            State.scheduled,
            State.running,
            State.failed,
            State.scheduled,
        ]

    async def test_completions_of_a_batch_keep_their_own_texts(self, probe: Probe) -> None:
        claims = [await probe.running() for _ in range(4)]
        started = [(await probe.get(claim.id)).started_at for claim in claims]
        endings = [
            finish(claims[0], result='{"a": "\\"\\u00fc"}', started_at=5),
            finish(claims[1], State.failed, error='"no", \\ ü 🐍', started_at=-(2**60), lost=1),
            finish(claims[2], State.cancelled, cancelled_by="bob"),
            finish(claims[3], result="[]"),
        ]
        assert await probe.end(*endings) == {claim.id for claim in claims}
        for ending, claimed in zip(endings, started, strict=True):
            kept = await probe.get(ending.id)
            assert (kept.state, kept.outcome) == (ending.state, ending.outcome)
            assert (kept.result, kept.error) == (ending.result, ending.error)
            assert (kept.cancelled_by, kept.losses) == (ending.cancelled_by, ending.lost)
            assert kept.started_at == (ending.started_at or claimed)

    async def test_a_large_batch_is_completed_as_one(self, probe: Probe) -> None:
        await probe.add_many([probe.new() for _ in range(600)])
        claims = await probe.claim(limit=1000)
        endings = [reschedule(c) if i % 5 == 0 else finish(c) for i, c in enumerate(claims)]
        assert await probe.end(*endings) == {claim.id for claim in claims}
        assert len(await probe.claim(limit=1000)) == 120

    # -- replay after a lost reply ---------------------------------------------------

    async def test_a_replayed_finish_is_reported_as_applied(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(finish(claim, result="[1]", lost=1))
        before = await probe.get(claim.id)
        probe.pass_time(SECOND)
        assert await probe.end(finish(claim, result="[1]", lost=1)) == {claim.id}
        assert await probe.get(claim.id) == before
        assert len(await probe.runs(claim.id)) == 1

    async def test_a_replayed_reschedule_takes_effect_once(self, probe: Probe) -> None:
        claim = await probe.running()
        ending = reschedule(claim, Outcome.lost, delay=SECOND, refund=True, lost=1)
        await probe.end(ending)
        before = await probe.get(claim.id)
        probe.pass_time(5)
        assert await probe.end(ending) == {claim.id}
        assert await probe.get(claim.id) == before
        assert len(await probe.runs(claim.id)) == 1

    async def test_a_replayed_reschedule_does_not_disturb_the_next_holder(
        self, probe: Probe
    ) -> None:
        first = await probe.running()
        await probe.end(reschedule(first))
        second = await probe.claim_one()
        before = await probe.get(first.id)
        assert await probe.end(reschedule(first)) == {first.id}
        assert await probe.get(first.id) == before
        assert await probe.end(finish(second)) == {first.id}
        assert await probe.end(reschedule(first)) == {first.id}

    async def test_a_finish_replayed_after_a_retry_does_not_undo_it(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(finish(claim, State.failed))
        after = await probe.retry(claim.id)
        assert await probe.end(finish(claim, State.failed)) == {claim.id}
        assert await probe.get(claim.id) == after

    async def test_a_completion_twice_in_a_batch_takes_effect_once(self, probe: Probe) -> None:
        first, second = await probe.running(), await probe.running()
        assert await probe.end(
            finish(first), finish(first), reschedule(second, lost=1), reschedule(second, lost=1)
        ) == {first.id, second.id}
        assert (await probe.get(second.id)).losses == 1
