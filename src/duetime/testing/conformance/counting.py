"""`stats`: the counts behind the health figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duetime.model.actions.claim import SeenWorker
from duetime.model.health.stats import LaneCount, Stats, StoreCounts, stats_of
from duetime.model.health.worker import SlotUse
from duetime.model.jobs.stats import JobStats
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY, Scope
from duetime.testing.conformance.probe import (
    LANE,
    LATER,
    LEASE,
    PARKED,
    SECOND,
    WORKER,
    Probe,
    reschedule,
)
from duetime.testing.conformance.suite import Suite

ALIVE = 30 * SECOND


async def counted(
    probe: Probe, tenant: Scope = ANY, alive: int = ALIVE, limit: int = 100
) -> StoreCounts:
    return await probe.do(probe.store.stats(tenant, alive=alive, limit=limit))


async def stats(probe: Probe, tenant: Scope = ANY) -> Stats:
    return stats_of(await counted(probe, tenant), 0.0)


class Counting(Suite):
    async def test_an_empty_store_counts_nothing(self, probe: Probe) -> None:
        found = await counted(probe)
        nothing = {State.succeeded: 0, State.failed: 0, State.cancelled: 0}
        assert found == StoreCounts(probe.now, [], nothing, [], JobStats())

    async def test_unfinished_actions_are_counted_by_lane(self, probe: Probe) -> None:
        for delay in (0, 0, LATER):
            await probe.add(delay=delay)
        await probe.add(queue="q", delay=LATER)
        await probe.claim(LANE, limit=1)
        probe.pass_time(SECOND)
        found = {lane.lane: lane for lane in (await counted(probe)).lanes}
        due = probe.now - SECOND
        assert found == {
            LANE: LaneCount(LANE, 2, 1, due, 1, 0, 0, 0),
            lane_of("q", 1, None): LaneCount(lane_of("q", 1, None), 1, 0, None, 0, 0, 0, 0),
        }

    async def test_counts_add_up(self, probe: Probe) -> None:
        await probe.add(delay=LATER)
        await probe.add(tenant="t", priority=3, due_at=probe.now - 5 * SECOND)
        await probe.add(queue="q", due_at=probe.now - 3 * SECOND)
        await probe.running(queue="r")
        found = await stats(probe)
        assert (found.scheduled, found.running, found.parked, found.waiting) == (3, 1, 0, 0)
        assert (found.overdue, found.oldest_overdue) == (2, 5.0)
        assert (found.expired_leases, found.unreachable) == (0, 0)

    async def test_an_action_due_this_instant_is_overdue(self, probe: Probe) -> None:
        await probe.add(due_at=probe.now)
        await probe.add(due_at=probe.now + 1)
        found = await stats(probe)
        assert (found.overdue, found.oldest_overdue) == (1, 0.0)

    async def test_an_expired_lease_is_counted_until_it_is_renewed(self, probe: Probe) -> None:
        claim, _ = await probe.running(), await probe.running()
        probe.pass_time(LEASE - 1)
        assert (await stats(probe)).expired_leases == 0
        probe.pass_time(1)
        assert (await stats(probe)).expired_leases == 2
        await probe.renew(claim)
        assert (await stats(probe)).expired_leases == 1

    async def test_parked_actions_are_counted_separately(self, probe: Probe) -> None:
        for _ in range(2):
            claim = await probe.running()
            await probe.end(reschedule(claim, Outcome.released, lane=PARKED, refund=True))
        probe.pass_time(SECOND)
        found = await stats(probe)
        assert (found.scheduled, found.parked, found.overdue) == (0, 2, 0)
        assert [
            (parked_kind.kind, parked_kind.version, parked_kind.count)
            for parked_kind in found.parked_kinds
        ] == [("mail", 1, 2)]

    async def test_a_parked_kind_is_unknown_unless_a_living_worker_runs_it(
        self, probe: Probe
    ) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, Outcome.released, lane=PARKED, refund=True))
        assert (await stats(probe)).unknown_kinds == ("mail",)
        await probe.do(probe.store.sweep(replace(WORKER, kinds=["other"]), SECOND, 10))
        assert (await stats(probe)).unknown_kinds == ("mail",)
        await probe.do(probe.store.sweep(WORKER, SECOND, 10))
        assert (await stats(probe)).unknown_kinds == ()

    async def test_a_lane_that_cannot_be_parsed_is_unreachable(self, probe: Probe) -> None:
        for lane in ("", "a", "1.x.q", "p.1.4.mail", "p.1.99.mail.1.0.q", "s.default"):
            await probe.add(lane=lane)
        assert (await stats(probe)).unreachable == 6

    async def test_a_tenant_counts_only_its_own_actions(self, probe: Probe) -> None:
        for tenant in (None, "a", "a", "b"):
            await probe.add(tenant=tenant, delay=LATER)
            await probe.finished(State.failed, tenant=tenant)
        scopes: list[Scope] = [ANY, None, "a", "b", "c"]
        found = [await stats(probe, scope) for scope in scopes]
        assert [item.scheduled for item in found] == [4, 1, 2, 1, 0]
        assert [item.failed for item in found] == [4, 1, 2, 1, 0]

    @pytest.mark.parametrize("state", [State.succeeded, State.failed, State.cancelled])
    async def test_finished_actions_are_counted_up_to_a_limit(
        self, probe: Probe, state: State
    ) -> None:
        for _ in range(3):
            await probe.finished(state)
        for limit, wanted in ((2, 2), (3, 3), (4, 3)):
            finished = (await counted(probe, limit=limit)).finished
            assert finished[state] == wanted
            assert sum(finished.values()) == wanted

    async def test_finished_actions_of_a_tenant_are_counted_among_the_newest(
        self, probe: Probe
    ) -> None:
        for tenant in ("a", "b", "b"):
            await probe.finished(State.succeeded, tenant=tenant)
            probe.pass_time(SECOND)
        for limit, wanted in ((2, 0), (3, 1)):
            finished = (await counted(probe, "a", limit=limit)).finished
            assert finished[State.succeeded] == wanted

    async def test_workers_are_listed_while_they_send_heartbeats(self, probe: Probe) -> None:
        worker = replace(WORKER, kinds=["a", "b"], queues=["q"])
        await probe.do(probe.store.sweep(worker, SECOND, 10))
        seen = probe.now
        probe.pass_time(ALIVE)
        assert list((await counted(probe, "whoever")).workers) == [SeenWorker(worker, seen, seen)]
        assert await probe.do(probe.store.workers(ALIVE)) == [SeenWorker(worker, seen, seen)]
        probe.pass_time(1)
        assert list((await counted(probe)).workers) == []
        assert await probe.do(probe.store.workers(ALIVE)) == []
        await probe.do(probe.store.sweep(worker, SECOND, 10))
        assert len((await counted(probe)).workers) == 1
        await probe.do(probe.store.unregister(worker.id))
        assert list((await counted(probe)).workers) == []

    async def test_a_worker_is_listed_with_its_version_and_its_slots(self, probe: Probe) -> None:
        pools = (SlotUse(("billing",), 2, 1), SlotUse(None, 10, 0))
        first = replace(WORKER, version="1.2.3", pools=pools)
        started = probe.now
        await probe.do(probe.store.sweep(first, SECOND, 10))
        probe.pass_time(SECOND)
        later = replace(first, registered=True, pools=(SlotUse(None, 10, 4),))
        await probe.do(probe.store.sweep(later, SECOND, 10))
        [seen] = await probe.do(probe.store.workers(ALIVE))
        assert (seen.started_at, seen.seen_at) == (started, probe.now)
        assert (seen.worker.version, seen.worker.pools) == ("1.2.3", later.pools)

    async def test_a_worker_of_older_code_has_no_version_and_no_slots(self, probe: Probe) -> None:
        await probe.sweep()
        [seen] = await probe.do(probe.store.workers(ALIVE))
        assert (seen.worker.version, seen.worker.pools) == (None, ())

    async def test_jobs_are_counted_by_state(self, probe: Probe) -> None:
        await probe.put(
            probe.job("x-due", next_due_at=probe.now),
            probe.job("x-later", next_due_at=probe.now + 1),
            probe.job("x-over"),
            probe.job("x-paused", paused_at=1),
            probe.job("x-paused-for-long", paused_at=1, paused_until=probe.now + 1),
            probe.job("x-paused-until-now", paused_at=1, paused_until=probe.now),
            probe.job("x-retired", retired_at=1, paused_at=1),
            probe.job("x-removed", removed_at=1, next_due_at=1),
        )
        found = (await counted(probe)).jobs
        assert (found.scheduled, found.paused, found.retired) == (4, 2, 1)
        assert (found.overdue, found.oldest_overdue) == (1, 0.0)

    async def test_overdue_ticks_are_reported_with_their_apps(self, probe: Probe) -> None:
        late = {"b": 2, "a": 7, "c": -1}
        for app, seconds in late.items():
            due = probe.now - seconds * SECOND
            await probe.put(replace(probe.job(f"x-{app}", next_due_at=due), app=app))
        found = (await counted(probe)).jobs
        assert (found.overdue, found.oldest_overdue) == (2, 7.0)
        assert found.overdue_apps == ("a", "b")

    async def test_failing_jobs_are_named_unless_they_are_paused(self, probe: Probe) -> None:
        await probe.put(
            probe.job("x-well"),
            probe.job("x-ill", failing_since=1),
            probe.job("x-bad", failing_since=1),
            probe.job("x-paused", failing_since=1, paused_at=1),
            probe.job("x-retired", failing_since=1, retired_at=1),
            probe.job("x-removed", failing_since=1, removed_at=1),
        )
        assert (await counted(probe)).jobs.failing == ("x-bad", "x-ill")

    async def test_jobs_are_counted_beyond_one_read(self, probe: Probe) -> None:
        names = [f"x-{number:04}" for number in range(1001)]
        await probe.put(
            *(probe.job(name, next_due_at=probe.now - SECOND, failing_since=1) for name in names)
        )
        found = (await counted(probe)).jobs
        assert (found.scheduled, found.overdue, found.oldest_overdue) == (1001, 1001, 1.0)
        assert (found.failing, len(found.overdue_apps)) == (tuple(names), 1)

    async def test_a_tenant_counts_only_its_own_jobs(self, probe: Probe) -> None:
        for name, tenant in (("x-1", None), ("x-2", "a"), ("x-3", "a")):
            await probe.put(probe.job(name, tenant=tenant, next_due_at=probe.now))
        scopes: list[Scope] = [ANY, None, "a", "b"]
        found = [(await counted(probe, scope)).jobs for scope in scopes]
        assert [item.scheduled for item in found] == [3, 1, 2, 0]
        assert [item.overdue for item in found] == [3, 1, 2, 0]

    async def test_counting_changes_nothing(self, probe: Probe) -> None:
        await probe.running()
        await probe.finished(State.failed)
        before = await probe.all()
        await counted(probe)
        assert await probe.all() == before
