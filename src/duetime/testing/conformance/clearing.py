"""`clear`: empties the store, for tests."""

from __future__ import annotations

import pytest

from duetime.errors import ActionNotFound
from duetime.model.state import FINISHED, State
from duetime.testing.conformance.probe import Probe, reschedule
from duetime.testing.conformance.suite import Suite


class Clearing(Suite):
    async def test_an_empty_store_can_be_cleared(self, probe: Probe) -> None:
        await probe.do(probe.store.clear())
        assert await probe.all() == []

    async def test_actions_of_every_state_are_deleted_with_their_audit(self, probe: Probe) -> None:
        records = [await probe.in_state(state, tenant="a") for state in sorted(State)]
        await probe.child(records[0].id, tenant="a")
        cancelled = next(r for r in records if r.state is State.cancelled)
        assert await probe.audit(cancelled.id) != []
        await probe.do(probe.store.clear())
        assert await probe.all() == []
        assert await probe.heads() == {}
        assert await probe.audit(cancelled.id) == []
        with pytest.raises(ActionNotFound):
            await probe.get(records[0].id)
        counts = await probe.do(probe.store.stats("a", alive=10**12, limit=100))
        assert [counts.finished.get(state, 0) for state in sorted(FINISHED)] == [0, 0, 0]

    async def test_runs_are_deleted(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim))
        assert len(await probe.runs(claim.id)) == 1
        await probe.do(probe.store.clear())
        await probe.add(id=claim.id)
        assert await probe.runs(claim.id) == []

    async def test_jobs_ticks_pauses_and_workers_are_deleted(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        await probe.occur(probe.occurrence(job, tick=7), job=job)
        await probe.sweep()
        await probe.pause("billing")
        assert await probe.do(probe.store.workers(10**12)) != []
        await probe.do(probe.store.clear())
        assert await probe.paused() == {}
        assert await probe.jobs(removed=True) == []
        assert await probe.ticks(0, 100) == []
        assert await probe.do(probe.store.workers(10**12)) == []

    async def test_keys_and_ticks_are_free_again(self, probe: Probe) -> None:
        job = probe.job()
        await probe.put(job)
        await probe.occur(probe.occurrence(job, tick=7), job=job)
        held = await probe.add(key="k")
        await probe.do(probe.store.clear())
        await probe.put(job)
        assert len(await probe.occur(probe.occurrence(job, tick=7), job=job)) == 1
        assert (await probe.add(key="k")).id != held.id

    async def test_what_was_claimed_before_cannot_be_completed(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.do(probe.store.clear())
        assert await probe.end(reschedule(claim)) == set()
        assert await probe.all() == []
