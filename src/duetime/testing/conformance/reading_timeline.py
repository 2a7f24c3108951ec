"""`timeline`: what ran, what is scheduled and which jobs tick, between two instants."""

from __future__ import annotations

from typing import Any

import pytest

from duetime.model.lane import lane_of
from duetime.model.state import FINISHED, Outcome, State
from duetime.model.tenant import ANY
from duetime.model.timeline import StoredTimeline, TimelineFilter
from duetime.testing.conformance.probe import LATER, SECOND, Probe, finish, reschedule
from duetime.testing.conformance.suite import Suite


async def timeline(probe: Probe, **wanted: Any) -> StoredTimeline:
    """The timeline of all tenants, from an hour ago to the next hour."""
    criteria: dict[str, Any] = {
        "start": probe.now - LATER,
        "end": probe.now + LATER,
        "tenant": ANY,
        "limit": 100,
    } | wanted
    return await probe.do(probe.store.timeline(TimelineFilter(**criteria)))


def capped(found: StoredTimeline) -> tuple[bool, bool, bool]:
    return found.finished_capped, found.unfinished_capped, found.jobs_capped


class ReadingTimeline(Suite):
    async def test_an_empty_store_has_an_empty_timeline(self, probe: Probe) -> None:
        found = await timeline(probe)
        assert (found.now, found.finished, found.unfinished, found.jobs) == (probe.now, [], [], [])
        assert capped(found) == (False, False, False)

    async def test_finished_actions_are_newest_first(self, probe: Probe) -> None:
        expected = []
        for state in sorted(FINISHED):
            probe.pass_time(SECOND)
            expected.append((await probe.finished(state, queue="q", tenant="a")).id)
        found = await timeline(probe)
        assert [span.id for span in found.finished] == expected[::-1]
        assert {span.state for span in found.finished} == FINISHED
        assert found.unfinished == []

    async def test_a_span_says_what_ran_and_when(self, probe: Probe) -> None:
        due = probe.now
        claim = await probe.running(queue="q", tenant="a", kind="report")
        started = probe.now
        probe.pass_time(SECOND)
        await probe.end(finish(claim, State.failed, started_at=started))
        [span] = (await timeline(probe)).finished
        assert (span.id, span.kind, span.queue) == (claim.id, "report", "q")
        assert (span.tenant, span.job, span.state) == ("a", None, State.failed)
        assert (span.outcome, span.due_at, span.started_at) == (Outcome.failed, due, started)
        assert span.finished_at == probe.now

    async def test_unfinished_actions_are_soonest_first_over_all_lanes(self, probe: Probe) -> None:
        delays = {"a": 300, "b": 100, "c": 200}
        added = {
            queue: await probe.add(queue=queue, delay=seconds * SECOND)
            for queue, seconds in delays.items()
        }
        found = (await timeline(probe)).unfinished
        assert [span.id for span in found] == [added[queue].id for queue in ("b", "c", "a")]
        assert {span.state for span in found} == {State.scheduled}
        assert {span.started_at for span in found} == {None}

    async def test_running_actions_say_since_when(self, probe: Probe) -> None:
        claim = await probe.running()
        [span] = (await timeline(probe)).unfinished
        assert (span.id, span.state, span.started_at) == (claim.id, State.running, probe.now)

    async def test_what_is_scheduled_again_has_not_started(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.end(reschedule(claim, started_at=probe.now))
        [span] = (await timeline(probe)).unfinished
        assert (span.state, span.started_at) == (State.scheduled, None)

    async def test_the_start_is_included_and_the_end_is_not(self, probe: Probe) -> None:
        await probe.finished(State.succeeded)
        await probe.add(delay=SECOND)
        at, due = probe.now, probe.now + SECOND
        assert len((await timeline(probe, start=at, end=at + 1)).finished) == 1
        assert (await timeline(probe, start=at - 9, end=at)).finished == []
        assert len((await timeline(probe, start=due, end=due + 1)).unfinished) == 1
        assert (await timeline(probe, start=due - 9, end=due)).unfinished == []

    async def test_what_waits_for_a_parent_has_no_place(self, probe: Probe) -> None:
        parent = await probe.add()
        await probe.child(parent.id)
        assert [span.id for span in (await timeline(probe)).unfinished] == [parent.id]

    async def test_lists_are_cut_at_the_limit(self, probe: Probe) -> None:
        ran = []
        for _ in range(3):
            probe.pass_time(SECOND)
            ran.append((await probe.finished(State.succeeded)).id)
        due = [(await probe.add(delay=n * SECOND)).id for n in range(1, 4)]
        cut = await timeline(probe, limit=2)
        assert [span.id for span in cut.finished] == ran[:0:-1]
        assert [span.id for span in cut.unfinished] == due[:2]
        assert (cut.finished_capped, cut.unfinished_capped) == (True, True)
        whole = await timeline(probe, limit=3)
        assert (len(whole.finished), len(whole.unfinished)) == (3, 3)
        assert (whole.finished_capped, whole.unfinished_capped) == (False, False)

    @pytest.mark.parametrize("tenant", [None, "a"])
    async def test_other_tenants_are_not_shown(self, probe: Probe, tenant: str | None) -> None:
        for each in (None, "a", "b"):
            await probe.finished(State.succeeded, tenant=each)
            await probe.add(tenant=each, delay=SECOND)
        await probe.put(*(probe.job(f"job-{each}", tenant=each) for each in (None, "a", "b")))
        found = await timeline(probe, tenant=tenant, end=probe.now + 2 * LATER)
        assert [span.tenant for span in found.finished] == [tenant]
        assert [span.tenant for span in found.unfinished] == [tenant]
        assert [job.name for job in found.jobs] == [f"job-{tenant}"]
        assert capped(found) == (False, False, False)

    async def test_many_rows_of_other_tenants_are_not_all_searched(self, probe: Probe) -> None:
        neighbour = next(
            name
            for name in map("b{}".format, range(1000))
            if lane_of("default", 1, name) == lane_of("default", 1, "a")
        )
        await probe.finished(State.succeeded, tenant="a")
        for _ in range(5):
            probe.pass_time(SECOND)
            await probe.finished(State.succeeded, tenant=neighbour)
        for delay in range(1, 6):
            await probe.add(tenant=neighbour, delay=delay * SECOND)
        await probe.add(tenant="a", delay=60 * SECOND)
        part = await timeline(probe, tenant="a", examined=5)
        assert (part.finished, part.finished_capped) == ([], True)
        assert (part.unfinished, part.unfinished_capped) == ([], True)
        whole = await timeline(probe, tenant="a", examined=7)
        assert (len(whole.finished), whole.finished_capped) == (1, False)
        assert (len(whole.unfinished), whole.unfinished_capped) == (1, False)

    async def test_jobs_are_those_that_tick_before_the_end_the_soonest_first(
        self, probe: Probe
    ) -> None:
        ticks = {"late": 3 * LATER, "second": LATER, "first": SECOND, "never": None}
        await probe.put(
            *(
                probe.job(name, next_due_at=None if delay is None else probe.now + delay)
                for name, delay in ticks.items()
            ),
            probe.job("elsewhere", app="other", next_due_at=probe.now + 2 * SECOND),
        )
        end = probe.now + 2 * LATER
        found = await timeline(probe, end=end)
        assert [job.name for job in found.jobs] == ["first", "elsewhere", "second"]
        cut = await timeline(probe, end=end, limit=2)
        assert [job.name for job in cut.jobs] == ["first", "elsewhere"]
        assert (found.jobs_capped, cut.jobs_capped) == (False, True)
        assert (await timeline(probe, end=end, with_jobs=False)).jobs == []
