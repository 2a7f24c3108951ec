"""`listen`: listeners are woken after a commit that made actions claimable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from duetime.errors import DuplicateKey
from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.bulk import BulkCall
from duetime.model.filter import Filter
from duetime.model.jobs.change import JobChange
from duetime.model.lane import job_lane
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.flow import Wake
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.probe import LANE, LATER, PARKED, SECOND, WORKER, Probe, reschedule
from duetime.testing.conformance.suite import Suite

WAKE_TIMEOUT_SECONDS = 10.0
ECHO_LANE = "echo"


class WakeRecorder:
    """Records the wakes that a listener received."""

    def __init__(self) -> None:
        self.wakes: list[tuple[str, int]] = []
        self._received = asyncio.Event()

    def __call__(self, wakes: Sequence[Wake]) -> None:
        self.wakes += [(wake.lane, wake.due_at) for wake in wakes]
        self._received.set()

    async def wait_for(self, *wanted: tuple[str, int]) -> None:
        """Return as soon as all wanted wakes have arrived."""
        async with asyncio.timeout(WAKE_TIMEOUT_SECONDS):
            while not {*wanted} <= {*self.wakes}:
                self._received.clear()
                await self._received.wait()


class Waking(Suite):
    async def test_a_listener_is_woken_by_added_actions(self, probe: Probe) -> None:
        async with _listening(probe) as recorder:
            await probe.add()
            await recorder.wait_for((LANE, probe.now))

    async def test_a_listener_is_woken_by_actions_added_in_a_thread(self, probe: Probe) -> None:
        async with _listening(probe) as recorder:
            flow = probe.store.add([probe.new()], "return")
            await asyncio.to_thread(probe.store.perform_blocking, flow)
            await recorder.wait_for((LANE, probe.now))

    async def test_a_listener_is_woken_by_a_bulk(self, probe: Probe) -> None:
        await probe.add(delay=LATER)
        order = BulkCall(uuid4(), 0, Act("bob"), "shift", ANY, Filter(), shift=-LATER)
        async with _listening(probe) as recorder:
            await probe.do(probe.store.step_bulk(order))
            await recorder.wait_for((LANE, probe.now))

    async def test_a_listener_is_woken_by_a_repeated_action(self, probe: Probe) -> None:
        record = await probe.finished(State.succeeded)
        async with _listening(probe) as recorder:
            await probe.repeat(record.id, delay=LATER)
            await recorder.wait_for((LANE, probe.now + LATER))

    async def test_a_listener_is_woken_for_every_lane(self, probe: Probe) -> None:
        async with _listening(probe) as recorder:
            await probe.add_many([probe.new(lane=lane) for lane in ("a", "b", "c")])
            await recorder.wait_for(*((lane, probe.now) for lane in ("a", "b", "c")))

    async def test_a_wake_comes_after_the_commit(self, probe: Probe) -> None:
        new = probe.new()
        seen: asyncio.Future[Record] = asyncio.get_running_loop().create_future()

        def on_wake(_: Sequence[Wake]) -> None:
            if not seen.done():
                seen.set_result(probe.store.perform_blocking(probe.store.get(new.id, ANY)))

        async with probe.store.listen(on_wake), asyncio.timeout(WAKE_TIMEOUT_SECONDS):
            [added] = await probe.add_many([new])
            assert await seen == added.record

    async def test_callbacks_run_on_the_loop_of_the_listener(self, probe: Probe) -> None:
        here = asyncio.get_running_loop()
        seen: asyncio.Future[object] = here.create_future()

        def on_wake(_: Sequence[Wake]) -> None:
            if not seen.done():
                seen.set_result(asyncio.get_running_loop())

        async with probe.store.listen(on_wake), asyncio.timeout(WAKE_TIMEOUT_SECONDS):
            flow = probe.store.add([probe.new()], "return")
            await asyncio.to_thread(probe.store.perform_blocking, flow)
            assert await seen is here

    async def test_every_verb_that_makes_something_claimable_wakes(self, probe: Probe) -> None:
        replaced = await probe.add(key="k", delay=SECOND)
        failed = await probe.finished(State.failed, queue="q", correlation_id="c")
        async with _listening(probe) as recorder:
            await probe.reschedule(replaced.id, probe.now)
            await recorder.wait_for((LANE, probe.now))
            await probe.add_many([probe.new(key="k", queue="r")], "replace")
            await recorder.wait_for(("1.0.r", probe.now))
            await probe.retry(failed.id)
            await recorder.wait_for(("1.0.q", probe.now))
            probe.pass_time(5)
            await probe.end(reschedule(await probe.claim_one("1.0.q"), delay=0))
            await recorder.wait_for(("1.0.q", probe.now))

    async def test_retry_many_wakes(self, probe: Probe) -> None:
        await probe.finished(State.failed)
        probe.pass_time(SECOND)
        async with _listening(probe) as recorder:
            await probe.retry_many()
            await recorder.wait_for((LANE, probe.now))

    async def test_parking_an_action_wakes(self, probe: Probe) -> None:
        claim = await probe.running()
        async with _listening(probe) as recorder:
            await probe.end(reschedule(claim, Outcome.released, lane=PARKED, refund=True))
            await recorder.wait_for((PARKED, claim.due_at))

    async def test_a_rescue_wakes(self, probe: Probe) -> None:
        claim = await probe.running(lease=SECOND)
        probe.pass_time(2 * SECOND)
        async with _listening(probe) as recorder:
            await probe.end(reschedule(claim, Outcome.lost, lane="s.1.0.default"), rescuing=True)
            await recorder.wait_for(("s.1.0.default", claim.due_at))

    async def test_a_refused_verb_does_not_wake(self, probe: Probe) -> None:
        await probe.add(key="k", delay=SECOND)
        async with _listening(probe) as recorder:
            with pytest.raises(DuplicateKey):
                await probe.add_many([probe.new(lane="never"), probe.new(key="k")], "raise")
            await probe.add(lane=ECHO_LANE)
            await recorder.wait_for((ECHO_LANE, probe.now))
            assert "never" not in {lane for lane, _ in recorder.wakes}

    async def test_a_rolled_back_flow_does_not_wake(self, probe: Probe) -> None:
        async with _listening(probe) as recorder:
            with pytest.raises(Broken):
                await probe.do(broken(probe.store.add([probe.new(lane="never")], "return")))
            await probe.add(lane=ECHO_LANE)
            await recorder.wait_for((ECHO_LANE, probe.now))
            assert "never" not in {lane for lane, _ in recorder.wakes}

    async def test_every_listener_is_woken(self, probe: Probe) -> None:
        async with _listening(probe) as first, _listening(probe) as second:
            await probe.add()
            await first.wait_for((LANE, probe.now))
            await second.wait_for((LANE, probe.now))

    async def test_a_closed_listener_is_not_woken(self, probe: Probe) -> None:
        async with _listening(probe) as here:
            async with _listening(probe) as gone:
                pass
            await probe.add()
            await here.wait_for((LANE, probe.now))
            assert gone.wakes == []

    async def test_a_listener_becomes_alive(self, probe: Probe) -> None:
        async with (
            probe.store.listen(lambda _: None) as listener,
            asyncio.timeout(WAKE_TIMEOUT_SECONDS),
        ):
            while not listener.alive:  # noqa: ASYNC110
                await asyncio.sleep(0)

    async def test_a_listener_is_woken_for_the_next_tick_of_a_job(self, probe: Probe) -> None:
        async with _listening(probe) as recorder:
            await probe.put(probe.job("x-1"), probe.job("x-2", next_due_at=None))
            await recorder.wait_for((job_lane(WORKER.app), probe.now + LATER))

    async def test_inserting_ticks_wakes_for_occurrences_only(self, probe: Probe) -> None:
        await probe.put(job := probe.job(next_due_at=probe.now))
        async with _listening(probe) as recorder:
            change = JobChange(job=job, occurrences=(probe.occurrence(job, tick=1),))
            await probe.tick(lambda _: change)
            await recorder.wait_for((LANE, probe.now))
            await probe.add(lane=ECHO_LANE)
            await recorder.wait_for((ECHO_LANE, probe.now))
            assert recorder.wakes == [(LANE, probe.now), (ECHO_LANE, probe.now)]


@asynccontextmanager
async def _listening(probe: Probe) -> AsyncIterator[WakeRecorder]:
    recorder = WakeRecorder()
    async with probe.store.listen(recorder):
        yield recorder
