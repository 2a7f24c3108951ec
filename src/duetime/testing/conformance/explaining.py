"""`circumstances`: what stands in the way of an action, as `model.reason` judges it."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from duetime.errors import ActionNotFound
from duetime.model.health.worker import SlotUse
from duetime.model.lane import lane_of, parking_lane
from duetime.model.state import FINISHED, Outcome, State
from duetime.model.tenant import ANY
from duetime.testing.conformance.probe import (
    LANE,
    LATER,
    LEASE,
    SECOND,
    WORKER,
    Probe,
    finish,
    reschedule,
)
from duetime.testing.conformance.suite import Suite


async def codes(probe: Probe, action_id: UUID) -> list[str]:
    return [reason.code for reason in await probe.why(action_id)]


class Explaining(Suite):
    async def test_nothing_stands_in_the_way_of_due_work_with_a_worker(self, probe: Probe) -> None:
        await probe.sweep()
        assert await codes(probe, (await probe.add()).id) == []

    async def test_an_action_whose_time_has_not_come(self, probe: Probe) -> None:
        await probe.sweep()
        record = await probe.add(delay=LATER)
        [reason] = await probe.why(record.id)
        assert (reason.code, reason.remedy) == ("not-due", "wait, or reschedule it")
        assert "in 60 m" in reason.text

    async def test_an_action_that_is_retried(self, probe: Probe) -> None:
        await probe.sweep()
        claim = await probe.running()
        await probe.end(reschedule(claim, Outcome.retried, delay=LATER, error="boom"))
        [reason] = await probe.why(claim.id)
        assert reason.code == "retrying"
        assert "attempt 1 failed (boom)" in reason.text

    async def test_a_snoozed_action_is_not_retried(self, probe: Probe) -> None:
        await probe.sweep()
        claim = await probe.running()
        await probe.end(reschedule(claim, Outcome.snoozed, delay=LATER, refund=True))
        assert await codes(probe, claim.id) == ["not-due"]

    async def test_a_running_action(self, probe: Probe) -> None:
        claim = await probe.running()
        [reason] = await probe.why(claim.id)
        assert reason.code == "running"
        assert WORKER.id in reason.text
        probe.pass_time(LEASE)
        [reason] = await probe.why(claim.id)
        assert "its lease ran out" in reason.text
        assert reason.remedy.startswith("no worker is alive")
        await probe.sweep()
        [reason] = await probe.why(claim.id)
        assert reason.remedy == "the next sweep of a worker frees it"

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_a_finished_action(self, probe: Probe, state: State) -> None:
        record = await probe.finished(state)
        [reason] = await probe.why(record.id)
        assert reason.code == "finished"
        assert state.value in reason.text
        assert (reason.remedy == "retry it") == (state is State.failed)

    async def test_an_action_of_a_paused_queue(self, probe: Probe) -> None:
        await probe.sweep()
        record = await probe.add(queue="billing")
        await probe.pause("billing", "ann", note="secret", until=probe.now + SECOND)
        [reason] = await probe.why(record.id)
        assert reason.code == "queue-paused"
        assert "paused by ann" in reason.text
        assert "secret" not in reason.text
        assert await codes(probe, (await probe.add()).id) == []
        probe.pass_time(SECOND)
        assert await codes(probe, record.id) == []

    async def test_no_worker_at_all(self, probe: Probe) -> None:
        [reason] = await probe.why((await probe.add()).id)
        assert (reason.code, reason.text) == ("no-worker", "no worker is alive")

    async def test_no_worker_for_the_queue(self, probe: Probe) -> None:
        only = replace(WORKER, queues=["mail"], pools=(SlotUse(("mail",), 10, 0),))
        await probe.do(probe.store.sweep(only, 0, 1))
        [reason] = await probe.why((await probe.add(queue="billing")).id)
        assert reason.code == "no-worker"
        assert "queue billing" in reason.text
        assert await codes(probe, (await probe.add(queue="mail")).id) == []

    async def test_a_worker_with_slots_for_a_queue_serves_the_others_too(
        self, probe: Probe
    ) -> None:
        pools = (SlotUse(("mail",), 2, 0), SlotUse(None, 10, 0))
        await probe.do(probe.store.sweep(replace(WORKER, queues=["mail"], pools=pools), 0, 1))
        assert await codes(probe, (await probe.add(queue="billing")).id) == []

    async def test_no_handler_for_the_kind(self, probe: Probe) -> None:
        await probe.sweep()
        [reason] = await probe.why((await probe.add(kind="sms")).id)
        assert reason.code == "unknown-kind"
        assert "kind sms" in reason.text

    async def test_no_handler_for_the_version(self, probe: Probe) -> None:
        await probe.sweep()
        record = await probe.add(version=2, lane=parking_lane("mail", 2, LANE))
        [reason] = await probe.why(record.id)
        assert reason.code == "unknown-kind"
        assert "version 2 of kind mail" in reason.text

    async def test_a_child_that_waits(self, probe: Probe) -> None:
        await probe.sweep()
        parent = await probe.running()
        child = await probe.child(parent.id, "failed")
        [reason] = await probe.why(child.id)
        assert reason.code == "waiting-for-parent"
        assert f"{parent.id} fails" in reason.text
        assert "that action is running" in reason.remedy
        await probe.end(finish(parent, State.failed))
        [reason] = await probe.why(child.id)
        assert "which failed" in reason.text
        await probe.settle(parent.id)
        assert await codes(probe, child.id) == []

    async def test_all_slots_are_full(self, probe: Probe) -> None:
        pools = (SlotUse(("billing",), 2, 2), SlotUse(None, 10, 9))
        busy = replace(WORKER, queues=["billing"], pools=pools)
        await probe.do(probe.store.sweep(busy, 0, 1))
        record = await probe.add(queue="billing")
        [reason] = await probe.why(record.id)
        assert reason.code == "slots-full"
        assert f"{WORKER.id} 2 of 2" in reason.text
        assert await codes(probe, (await probe.add()).id) == []
        await probe.do(probe.store.sweep(replace(busy, id="idle", pools=()), 0, 1))
        assert await codes(probe, record.id) == []

    async def test_a_withdrawn_action(self, probe: Probe) -> None:
        await probe.sweep()
        record = await probe.add()
        await probe.do(probe.store.withdraw_damaged(record.id, "its row is damaged"))
        [reason] = await probe.why(record.id)
        assert (reason.code, reason.text) == ("damaged", "its row is damaged")

    async def test_all_reasons_are_listed(self, probe: Probe) -> None:
        record = await probe.add(queue="billing", delay=LATER)
        await probe.pause("billing")
        assert await codes(probe, record.id) == ["not-due", "queue-paused", "no-worker"]

    async def test_an_action_of_another_tenant_is_not_found(self, probe: Probe) -> None:
        record = await probe.add(tenant="a", queue="billing")
        for found in ("a", ANY):
            assert await probe.why(record.id, found)
        for other in ("b", None):
            with pytest.raises(ActionNotFound):
                await probe.why(record.id, other)
        with pytest.raises(ActionNotFound):
            await probe.why(uuid4())

    async def test_asking_changes_nothing(self, probe: Probe) -> None:
        record = await probe.add(queue="billing")
        before = await probe.all()
        await probe.why(record.id)
        assert await probe.all() == before
        assert len(await probe.claim(lane_of("billing", 1, None))) == 1
