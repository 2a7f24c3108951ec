"""`listen`: after the commit of what made something claimable, listeners are woken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from duetime.errors import DuplicateKey
from duetime.model.actions.action import Record
from duetime.model.jobs.change import Change
from duetime.model.lane import job_lane
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.flow import Wake
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.probe import LANE, LATER, PARKED, SECOND, WORKER, Probe, again
from duetime.testing.conformance.suite import Suite

PATIENCE = 10.0
ECHO = "echo"


class Ear:
    """Remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []
        self._news = asyncio.Event()

    def __call__(self, wakes: Sequence[Wake]) -> None:
        self.heard += [(wake.lane, wake.due_at) for wake in wakes]
        self._news.set()

    async def hears(self, *wanted: tuple[str, int]) -> None:
        """Returns as soon as all that was heard."""
        async with asyncio.timeout(PATIENCE):
            while not {*wanted} <= {*self.heard}:
                self._news.clear()
                await self._news.wait()


class Waking(Suite):
    async def test_a_listener_hears_what_was_added(self, probe: Probe) -> None:
        async with _listening(probe) as ear:
            await probe.add()
            await ear.hears((LANE, probe.now))

    async def test_a_listener_hears_what_a_thread_added(self, probe: Probe) -> None:
        async with _listening(probe) as ear:
            flow = probe.store.add([probe.new()], "return")
            await asyncio.to_thread(probe.store.perform_blocking, flow)
            await ear.hears((LANE, probe.now))

    async def test_a_listener_hears_of_every_lane(self, probe: Probe) -> None:
        async with _listening(probe) as ear:
            await probe.add_many([probe.new(lane=lane) for lane in ("a", "b", "c")])
            await ear.hears(*((lane, probe.now) for lane in ("a", "b", "c")))

    async def test_what_is_heard_was_committed(self, probe: Probe) -> None:
        new = probe.new()
        seen: asyncio.Future[Record] = asyncio.get_running_loop().create_future()

        def look(_: Sequence[Wake]) -> None:
            if not seen.done():
                seen.set_result(probe.store.perform_blocking(probe.store.get(new.id, ANY)))

        async with probe.store.listen(look), asyncio.timeout(PATIENCE):
            [added] = await probe.add_many([new])
            assert await seen == added.record

    async def test_callbacks_come_on_the_loop_of_the_listener(self, probe: Probe) -> None:
        here = asyncio.get_running_loop()
        seen: asyncio.Future[object] = here.create_future()

        def look(_: Sequence[Wake]) -> None:
            if not seen.done():
                seen.set_result(asyncio.get_running_loop())

        async with probe.store.listen(look), asyncio.timeout(PATIENCE):
            flow = probe.store.add([probe.new()], "return")
            await asyncio.to_thread(probe.store.perform_blocking, flow)
            assert await seen is here

    async def test_every_verb_that_makes_something_claimable_wakes(self, probe: Probe) -> None:
        replaced = await probe.add(key="k", delay=SECOND)
        failed = await probe.finished(State.failed, queue="q", correlation_id="c")
        async with _listening(probe) as ear:
            await probe.reschedule(replaced.id, probe.now)
            await ear.hears((LANE, probe.now))
            await probe.add_many([probe.new(key="k", queue="r")], "replace")
            await ear.hears(("1.0.r", probe.now))
            await probe.retry(failed.id)
            await ear.hears(("1.0.q", probe.now))
            probe.pass_time(5)
            await probe.end(again(await probe.claim_one("1.0.q"), delay=0))
            await ear.hears(("1.0.q", probe.now))

    async def test_retry_many_wakes(self, probe: Probe) -> None:
        await probe.finished(State.failed)
        probe.pass_time(SECOND)
        async with _listening(probe) as ear:
            await probe.retry_many()
            await ear.hears((LANE, probe.now))

    async def test_parking_wakes_whoever_knows_the_kind(self, probe: Probe) -> None:
        claim = await probe.running()
        async with _listening(probe) as ear:
            await probe.end(again(claim, Outcome.released, lane=PARKED, refund=True))
            await ear.hears((PARKED, claim.due_at))

    async def test_a_rescue_wakes(self, probe: Probe) -> None:
        claim = await probe.running(lease=SECOND)
        probe.pass_time(2 * SECOND)
        async with _listening(probe) as ear:
            await probe.end(again(claim, Outcome.lost, lane="s.1.0.default"), rescuing=True)
            await ear.hears(("s.1.0.default", claim.due_at))

    async def test_a_verb_that_was_refused_wakes_nobody(self, probe: Probe) -> None:
        await probe.add(key="k", delay=SECOND)
        async with _listening(probe) as ear:
            with pytest.raises(DuplicateKey):
                await probe.add_many([probe.new(lane="never"), probe.new(key="k")], "raise")
            await probe.add(lane=ECHO)
            await ear.hears((ECHO, probe.now))
            assert "never" not in {lane for lane, _ in ear.heard}

    async def test_a_flow_that_broke_wakes_nobody(self, probe: Probe) -> None:
        async with _listening(probe) as ear:
            with pytest.raises(Broken):
                await probe.do(broken(probe.store.add([probe.new(lane="never")], "return")))
            await probe.add(lane=ECHO)
            await ear.hears((ECHO, probe.now))
            assert "never" not in {lane for lane, _ in ear.heard}

    async def test_everyone_who_listens_is_woken(self, probe: Probe) -> None:
        async with _listening(probe) as first, _listening(probe) as second:
            await probe.add()
            await first.hears((LANE, probe.now))
            await second.hears((LANE, probe.now))

    async def test_who_stopped_listening_hears_nothing(self, probe: Probe) -> None:
        async with _listening(probe) as here:
            async with _listening(probe) as gone:
                pass
            await probe.add()
            await here.hears((LANE, probe.now))
            assert gone.heard == []

    async def test_a_listener_comes_to_life(self, probe: Probe) -> None:
        async with probe.store.listen(lambda _: None) as listener, asyncio.timeout(PATIENCE):
            while not listener.alive:  # noqa: ASYNC110
                await asyncio.sleep(0)

    async def test_a_listener_hears_of_the_next_tick_of_a_job(self, probe: Probe) -> None:
        async with _listening(probe) as ear:
            await probe.put(probe.job("x-1"), probe.job("x-2", next_due_at=None))
            await ear.hears((job_lane(WORKER.app), probe.now + LATER))

    async def test_whoever_deals_with_ticks_tells_of_occurrences_only(self, probe: Probe) -> None:
        await probe.put(job := probe.job(next_due_at=probe.now))
        async with _listening(probe) as ear:
            change = Change(job=job, occurrences=(probe.occurrence(job, tick=1),))
            await probe.tick(lambda _: change)
            await ear.hears((LANE, probe.now))
            await probe.add(lane=ECHO)
            await ear.hears((ECHO, probe.now))
            assert ear.heard == [(LANE, probe.now), (ECHO, probe.now)]


@asynccontextmanager
async def _listening(probe: Probe) -> AsyncIterator[Ear]:
    ear = Ear()
    async with probe.store.listen(ear):
        yield ear
