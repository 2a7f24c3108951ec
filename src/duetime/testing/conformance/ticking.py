"""Occurrences: the actions of a job, one for each tick, however often the tick is inserted."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from duetime.model.act import Act
from duetime.model.jobs.change import JobChange
from duetime.model.jobs.job import Overlap
from duetime.model.state import Outcome, State
from duetime.testing.conformance.probe import LANE, LATER, SECOND, Probe, finish
from duetime.testing.conformance.suite import Suite


class Ticking(Suite):
    async def test_an_occurrence_is_an_action_of_its_job(self, probe: Probe) -> None:
        job = probe.job(tenant="a", payload='{"n": 1}', payload_version=3)
        await probe.put(job)
        new = probe.occurrence(job, tick=7, due_at=probe.now + 5)
        [made] = await probe.occur(new, job=job)
        assert (made.job, made.tick, made.triggered_by) == (job.name, 7, None)
        assert (made.kind, made.version, made.payload) == (job.name, 3, '{"n": 1}')
        assert (made.tenant, made.due_at, made.created_by) == ("a", probe.now + 5, "system")
        assert await probe.get(new.action.id) == made

    async def test_a_trigger_carries_who_triggered_it(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        [made] = await probe.occur(probe.occurrence(job, triggered_by="ann"), job=job)
        assert (made.tick, made.triggered_by, made.created_by) == (None, "ann", "ann")
        assert (await probe.claim_one()).triggered_by == "ann"

    async def test_a_tick_has_one_occurrence(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        [made] = await probe.occur(probe.occurrence(job, tick=7), job=job)
        both = [probe.occurrence(job, tick=7), probe.occurrence(job, tick=8)]
        assert [record.tick for record in await probe.occur(*both, job=job)] == [8]
        assert [record.id for record in await probe.all() if record.tick == 7] == [made.id]

    async def test_a_tick_has_one_occurrence_even_after_its_action_was_pruned(
        self, probe: Probe
    ) -> None:
        job = probe.job()
        await probe.put(job)
        tick = probe.now
        await probe.occur(probe.occurrence(job, tick=tick), job=job)
        await probe.end(finish(await probe.claim_one(), job=job.name))
        probe.pass_time(SECOND)
        assert await probe.prune(keep=0, keep_failed=LATER) == 1
        assert await probe.occur(probe.occurrence(job, tick=tick), job=job) == []
        assert await probe.ticks(0, tick + 1) == [tick]

    async def test_ticks_are_forgotten_after_the_longest_retention(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        old, young = probe.now, probe.now + LATER
        await probe.occur(
            probe.occurrence(job, tick=old, skipped="no"),
            probe.occurrence(job, tick=young, skipped="no"),
            job=job,
        )
        probe.pass_time(LATER + 1)
        await probe.prune(keep=0, keep_failed=LATER)
        assert await probe.ticks(0, young + 1) == [young]

    @pytest.mark.parametrize("last", [State.succeeded, State.failed])
    async def test_completions_of_one_job_count_in_the_order_given(
        self, probe: Probe, last: State
    ) -> None:
        """The order of their ids and tokens does not matter."""
        job = probe.job()
        await probe.put(job)
        await probe.occur(*(probe.occurrence(job, tick=tick) for tick in (7, 8)), job=job)
        first_claim, second_claim = await probe.claim()
        first = State.failed if last is State.succeeded else State.succeeded
        done = await probe.complete(
            finish(first_claim, first, job=job.name), finish(second_claim, last, job=job.name)
        )
        assert [end.after.last_outcome for end in done.jobs] == [first.value, last.value]
        [view] = await probe.jobs()
        assert view.job.consecutive_failures == (last is State.failed)

    async def test_two_jobs_may_have_the_same_tick(self, probe: Probe) -> None:
        jobs = [probe.job("x-1"), probe.job("x-2")]
        await probe.put(*jobs)
        for job in jobs:
            assert len(await probe.occur(probe.occurrence(job, tick=7), job=job)) == 1
        assert await probe.ticks(0, 100, "x-1") == [7]

    async def test_a_skipped_occurrence_is_inserted_as_cancelled(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        new = probe.occurrence(job, tick=7, skipped="another one runs")
        [made] = await probe.occur(new, job=job)
        assert (made.state, made.outcome) == (State.cancelled, Outcome.skipped)
        assert (made.error, made.finished_at, made.attempt) == ("another one runs", probe.now, 0)
        assert await probe.get(made.id) == made
        assert await probe.heads() == {}

    async def test_a_queued_occurrence_waits_until_another_has_finished(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        first = probe.occurrence(job, tick=7)
        second = probe.occurrence(job, tick=8, after=first.action.id)
        _, waiting = await probe.occur(first, second, job=job)
        assert (waiting.after, waiting.after_on, waiting.due_at) == (
            first.action.id,
            "finished",
            None,
        )
        claim = await probe.claim_one()
        done = await probe.complete(finish(claim, State.failed, job=job.name))
        assert done.parents == {claim.id}
        [due] = await probe.settle(claim.id)
        assert (due.id, due.due_at) == (waiting.id, probe.now)

    async def test_a_cancelled_occurrence_leaves_its_place_to_the_next(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        first = probe.occurrence(job, tick=7)
        second = probe.occurrence(job, tick=8, after=first.action.id)
        third = probe.occurrence(job, tick=9, after=second.action.id)
        await probe.occur(first, second, third, job=job)
        await probe.cancel(second.action.id)
        [next_] = await probe.settle(second.action.id)
        assert (next_.id, next_.after, next_.waits) == (third.action.id, first.action.id, True)
        assert await probe.get(next_.id) == next_
        await probe.end(finish(await probe.claim_one(), job=job.name))
        [due] = await probe.settle(first.action.id)
        assert (due.id, due.due_at) == (third.action.id, probe.now)

    async def test_a_users_child_does_not_inherit_the_wait_of_its_parent(
        self, probe: Probe
    ) -> None:
        first = await probe.add()
        second = await probe.child(first.id)
        third = await probe.child(second.id, on="finished")
        await probe.cancel(second.id)
        [due] = await probe.settle(second.id)
        assert (due.id, due.due_at) == (third.id, probe.now)

    @pytest.mark.parametrize("overlap", Overlap)
    async def test_a_retried_occurrence_waits_for_its_turn(
        self, probe: Probe, overlap: Overlap
    ) -> None:
        job = probe.job(overlap=overlap)
        await probe.put(job)
        new = [probe.occurrence(job, tick=n) for n in range(2)]
        await probe.occur(*new, job=job)
        failed = await probe.claim(limit=2)
        await probe.end(*(finish(claim, State.failed, job=job.name) for claim in failed))
        [runs] = await probe.occur(probe.occurrence(job, tick=3), job=job)
        retried = await probe.retry_many(kind=job.name)
        assert [await probe.get(record.id) for record in retried] == retried
        waits_for = [record.after if record.waits else None for record in retried]
        in_turn = [runs.id, retried[0].id]
        assert waits_for == ([None, None] if overlap is Overlap.allow else in_turn)

    async def test_an_edit_cancels_only_waiting_occurrences(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        new = [probe.occurrence(job, tick=n) for n in range(2)]
        await probe.occur(*new, job=job)
        claim = await probe.claim_one(limit=1)
        change = JobChange(
            job=job,
            cancel=tuple(occurrence.action.id for occurrence in new),
            verb="pause",
            act=Act("bob"),
        )
        edited = await probe.edit(job.name, decide=lambda _: change)
        [gone] = edited.changes[0].cancelled
        assert gone.id in {occurrence.action.id for occurrence in new} - {claim.id}
        assert (gone.state, gone.cancelled_by) == (State.cancelled, "bob")
        assert await probe.get(gone.id) == gone
        assert (await probe.get(claim.id)).state is State.running

    async def test_occurrences_come_newest_first_finished_or_not(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        new = [
            probe.occurrence(job, tick=1, skipped="no"),
            probe.occurrence(job, tick=2),
            probe.occurrence(job, triggered_by="ann"),
        ]
        await probe.occur(*new, job=job)
        await probe.add(kind=job.name)
        probe.pass_time(1)
        # Its id is old: the clock of the machine that generated it is slow.
        late = new[0].action._replace(id=UUID(int=1))
        last = replace(new[0], action=late, tick=3)
        await probe.occur(last, job=job)
        ids = [occurrence.action.id for occurrence in (last, *reversed(new))]
        assert [occurrence.id for occurrence in await probe.occurrences()] == ids
        assert [occurrence.id for occurrence in await probe.occurrences(limit=1)] == ids[:1]
        assert await probe.occurrences("shop-other") == []

    @pytest.mark.parametrize(("state", "dead"), [(State.failed, 1), (State.succeeded, 0)])
    async def test_failed_occurrences_are_dead_letters_until_they_are_retried(
        self, probe: Probe, state: State, dead: int
    ) -> None:
        job = probe.job()
        await probe.put(job)
        [made] = await probe.occur(probe.occurrence(job, tick=1), job=job)
        await probe.end(finish(await probe.claim_one(), state, job=job.name))
        assert (await probe.one_job()).dead_letters == dead
        if dead:
            await probe.retry(made.id)
            assert (await probe.one_job()).dead_letters == 0

    async def test_a_due_occurrence_is_claimed_like_any_action(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        await probe.occur(probe.occurrence(job, tick=5, due_at=probe.now + SECOND), job=job)
        assert await probe.claim() == []
        assert await probe.heads() == {LANE: probe.now + SECOND}
        probe.pass_time(SECOND)
        assert (await probe.claim_one()).tick == 5
