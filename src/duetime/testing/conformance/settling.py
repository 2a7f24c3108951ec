"""`settle`: children of finished parents become due or are cancelled, and how parents are found."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from duetime.model.lane import lane_of
from duetime.model.state import FINISHED, Outcome, State
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.probe import LATER, LEASE, SECOND, Probe, finish, reschedule, stale
from duetime.testing.conformance.race import race
from duetime.testing.conformance.suite import Suite

MET = [
    ("succeeded", State.succeeded),
    ("failed", State.failed),
    ("finished", State.succeeded),
    ("finished", State.failed),
    ("finished", State.cancelled),
]
UNMET = [
    ("succeeded", State.failed),
    ("succeeded", State.cancelled),
    ("failed", State.succeeded),
    ("failed", State.cancelled),
]


class Settling(Suite):
    @pytest.mark.parametrize(("on", "state"), MET)
    async def test_a_child_whose_parent_finished_as_required_becomes_due(
        self, probe: Probe, on: str, state: State
    ) -> None:
        parent = await probe.finished(state)
        child = await probe.child(parent.id, on, queue="q", priority=3, delay=7)
        probe.pass_time(SECOND)
        [after] = await probe.settle(parent.id)
        assert after == replace(child, due_at=(parent.finished_at or 0) + 7)
        assert await probe.get(child.id) == after
        lane = lane_of("q", 3, None)
        assert await probe.heads() == {lane: after.due_at}
        assert (await probe.claim_one(lane)).id == child.id

    @pytest.mark.parametrize(("on", "state"), UNMET)
    async def test_a_child_whose_parent_finished_otherwise_is_cancelled(
        self, probe: Probe, on: str, state: State
    ) -> None:
        parent = await probe.finished(state)
        child = await probe.child(parent.id, on, key="k")
        probe.pass_time(SECOND)
        [after] = await probe.settle(parent.id)
        assert after == replace(
            child,
            state=State.cancelled,
            error=f"its parent {parent.id} is {state.value}, and this action needs it {on}",
            cancelled_by="system",
            modified_at=probe.now,
            modified_by="system",
            finished_at=probe.now,
        )
        assert await probe.get(child.id) == after
        assert await probe.heads() == {}
        assert (await probe.add_many([probe.new(key="k")], "raise"))[0].created

    async def test_a_child_is_due_at_the_later_of_its_instant_and_its_parents_finish(
        self, probe: Probe
    ) -> None:
        parent = await probe.running()
        early = await probe.child(parent.id, due_at=probe.now)
        late = await probe.child(parent.id, due_at=probe.now + LATER)
        probe.pass_time(SECOND)
        await probe.end(finish(parent))
        dues = {record.id: record.due_at for record in await probe.settle(parent.id)}
        assert dues == {early.id: probe.now, late.id: late.after_at}

    async def test_what_is_settled_stays_settled_when_its_parent_is_retried(
        self, probe: Probe
    ) -> None:
        parent = await probe.finished(State.failed)
        children = [await probe.child(parent.id, on) for on in ("failed", "succeeded")]
        settled = await probe.settle(parent.id)
        await probe.retry(parent.id)
        claims = await probe.claim()
        await probe.end(*(finish(claim) for claim in claims if claim.id == parent.id))
        assert await probe.settle(parent.id) == []
        due, cancelled = settled
        assert (await probe.get(children[0].id)).due_at == due.due_at
        assert await probe.get(children[1].id) == cancelled

    async def test_a_child_waits_for_a_retried_parent(self, probe: Probe) -> None:
        parent = await probe.finished(State.failed)
        child = await probe.child(parent.id)
        await probe.retry(parent.id)
        assert await probe.settle(parent.id) == []
        await probe.end(finish(await probe.claim_one()))
        assert [record.id for record in await probe.settle(parent.id)] == [child.id]
        assert (await probe.get(child.id)).due_at is not None

    async def test_the_child_of_a_pruned_parent_is_cancelled(self, probe: Probe) -> None:
        parent = await probe.finished(State.succeeded)
        child = await probe.child(parent.id, "finished")
        probe.pass_time(SECOND)
        await probe.prune()
        [after] = await probe.settle(parent.id)
        assert (after.id, after.state) == (child.id, State.cancelled)
        assert after.error is not None
        assert str(parent.id) in after.error
        assert "pruned" in after.error

    async def test_only_children_of_these_parents_are_settled(self, probe: Probe) -> None:
        first, second = [await probe.finished(State.succeeded) for _ in range(2)]
        child, waiting = [await probe.child(parent.id) for parent in (first, second)]
        assert [record.id for record in await probe.settle(first.id)] == [child.id]
        assert await probe.get(waiting.id) == waiting

    async def test_settling_no_parents_is_allowed(self, probe: Probe) -> None:
        assert await probe.settle() == []
        assert await probe.settle(uuid4()) == []

    async def test_children_are_settled_in_the_order_of_ids_up_to_the_limit(
        self, probe: Probe
    ) -> None:
        parents = [await probe.finished(State.succeeded) for _ in range(2)]
        children = [await probe.child(parents[i % 2].id) for i in range(5)]
        ids = [parent.id for parent in parents]
        for expected in (children[:2], children[2:4], children[4:], []):
            settled = await probe.settle(*ids, limit=2)
            assert [item.id for item in settled] == [item.id for item in expected]

    async def test_many_children_of_one_parent(self, probe: Probe) -> None:
        parent = await probe.finished(State.succeeded)
        await probe.add_many([probe.new(after=parent.id, on="succeeded") for _ in range(700)])
        assert len(await probe.settle(parent.id, limit=500)) == 500
        assert len(await probe.settle(parent.id, limit=500)) == 200
        assert len(await probe.claim(limit=1000)) == 700

    async def test_settlement_is_rolled_back_with_its_transaction(self, probe: Probe) -> None:
        parent = await probe.finished(State.succeeded)
        children = [await probe.child(parent.id, on) for on in ("succeeded", "failed")]
        with pytest.raises(Broken):
            await probe.do(broken(probe.store.settle([parent.id], 10)))
        assert [await probe.get(child.id) for child in children] == children
        assert len(await probe.settle(parent.id)) == 2

    async def test_racing_settlers_settle_each_child_once(self, probe: Probe) -> None:
        parent = await probe.finished(State.succeeded)
        ids = [(await probe.child(parent.id, on)).id for on in ("succeeded", "failed") * 10]
        flows = [probe.store.settle([parent.id], 100) for _ in range(6)]
        results = await race(probe.store, flows)
        settled = [item.id for result in results if isinstance(result, list) for item in result]
        rest = [record.id for record in await probe.settle(parent.id)]
        assert sorted([*settled, *rest]) == sorted(ids)

    # -- which parents have finished -------------------------------------------------

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_a_completion_returns_the_parents_of_waiting_children(
        self, probe: Probe, state: State
    ) -> None:
        parent, other = await probe.running(), await probe.running()
        await probe.child(parent.id)
        done = await probe.complete(finish(parent, state), finish(other, state))
        assert (done.applied, done.parents) == ({parent.id, other.id}, {parent.id})

    async def test_a_completion_returns_only_parents_that_finished(self, probe: Probe) -> None:
        parent, other = await probe.running(), await probe.running()
        for claim in (parent, other):
            await probe.child(claim.id)
        done = await probe.complete(finish(parent), finish(other, token=stale(other)))
        assert (done.applied, done.parents) == ({parent.id}, {parent.id})

    async def test_a_parent_that_will_run_again_has_not_finished(self, probe: Probe) -> None:
        parent = await probe.running()
        child = await probe.child(parent.id, "finished")
        done = await probe.complete(reschedule(parent, Outcome.retried))
        assert (done.applied, done.parents) == ({parent.id}, set())
        assert await probe.settle(parent.id) == []
        assert (await probe.get(child.id)).waits

    async def test_a_replayed_completion_returns_the_parent_again(self, probe: Probe) -> None:
        parent = await probe.running()
        await probe.child(parent.id)
        await probe.complete(finish(parent))
        assert (await probe.complete(finish(parent))).parents == {parent.id}

    async def test_a_rescue_that_finishes_a_parent_returns_it(self, probe: Probe) -> None:
        parent = await probe.running()
        await probe.child(parent.id)
        probe.pass_time(LEASE + 1)
        fatal = finish(parent, State.failed, outcome=Outcome.lost, lost=1)
        done = await probe.complete(fatal, rescuing=True)
        assert (done.applied, done.parents) == ({parent.id}, {parent.id})

    async def test_a_sweep_returns_parents_whose_children_were_not_settled(
        self, probe: Probe
    ) -> None:
        finished = [await probe.finished(state) for state in sorted(FINISHED)]
        running = await probe.running()
        for parent in (*(record.id for record in finished), running.id):
            for _ in range(2):
                await probe.child(parent, "finished")
        assert await _swept_parents(probe) == {parent.id for parent in finished}
        await probe.settle(*(parent.id for parent in finished))
        assert await _swept_parents(probe) == set()

    async def test_a_sweep_returns_pruned_parents(self, probe: Probe) -> None:
        parent = await probe.finished(State.succeeded)
        await probe.child(parent.id)
        probe.pass_time(SECOND)
        await probe.prune()
        assert await _swept_parents(probe) == {parent.id}

    async def test_successive_sweeps_cover_every_child(self, probe: Probe) -> None:
        running = [await probe.running() for _ in range(3)]
        crowd = [
            probe.new(after=running[i % 3].id, on="succeeded", delay=i % 7) for i in range(7000)
        ]
        await probe.add_many(crowd)
        await probe.end(finish(running[0]), finish(running[2]))
        parents: set[UUID] = set()
        for _ in range(20):
            parents |= await _swept_parents(probe)
        assert parents == {running[0].id, running[2].id}

    async def test_a_look_ahead_does_not_search_for_children(self, probe: Probe) -> None:
        parent = await probe.finished(State.succeeded)
        await probe.child(parent.id)
        assert list((await probe.do(probe.store.look_ahead())).parents) == []


async def _swept_parents(probe: Probe) -> set[UUID]:
    return set((await probe.sweep()).parents)
