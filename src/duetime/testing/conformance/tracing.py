"""The trace context with which an action was scheduled."""

from __future__ import annotations

from duetime.model.state import State
from duetime.testing.conformance.probe import SECOND, Probe, finish
from duetime.testing.conformance.suite import Suite

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00 rojo=00f067aa0ba902b7"


class KeepingTraces(Suite):
    async def test_a_claim_returns_the_trace_of_its_action(self, probe: Probe) -> None:
        new = [probe.new(trace=trace) for trace in (TRACE, OTHER, None)]
        added = await probe.add_many(new)
        assert [item.record.trace for item in added] == [TRACE, OTHER, None]
        assert {claim.id: claim.trace for claim in await probe.claim()} == {
            item.id: item.trace for item in new
        }
        assert [(await probe.get(item.id)).trace for item in new] == [TRACE, OTHER, None]

    async def test_a_keyed_action_takes_the_trace_of_its_replacement(self, probe: Probe) -> None:
        first = await probe.add(key="k", trace=TRACE)
        for trace in (OTHER, None):
            new = probe.new(key="k", trace=trace)
            [replaced] = await probe.add_many([new], if_exists="replace")
            assert (replaced.record.id, replaced.record.trace) == (first.id, trace)
            assert (await probe.get(first.id)).trace == trace

    async def test_a_child_keeps_its_own_trace(self, probe: Probe) -> None:
        parent = await probe.running(trace=TRACE)
        child = await probe.child(parent.id, trace=OTHER)
        assert child.trace == OTHER
        assert (await probe.get(child.id)).trace == OTHER

    async def test_a_settled_child_also_has_the_trace_of_its_parents_run(
        self, probe: Probe
    ) -> None:
        parent = await probe.finished(State.succeeded, trace=TRACE)
        children = [await probe.child(parent.id, trace=trace) for trace in (OTHER, None)]
        settled = await probe.settle(parent.id, run_traces={parent.id: TRACE})
        assert [child.trace for child in settled] == [f"{OTHER}\n{TRACE}", f"\n{TRACE}"]
        assert [(await probe.get(child.id)).trace for child in children] == [
            child.trace for child in settled
        ]

    async def test_the_trace_outlives_the_run_and_a_retry(self, probe: Probe) -> None:
        claim = await probe.running(trace=TRACE)
        await probe.end(finish(claim, State.failed))
        assert (await probe.get(claim.id)).trace == TRACE
        assert (await probe.retry(claim.id)).trace == TRACE
        assert (await probe.claim_one()).trace == TRACE

    async def test_an_erasure_wipes_the_trace(self, probe: Probe) -> None:
        record = await probe.add(correlation_id="c", trace=TRACE)
        probe.pass_time(SECOND)
        assert (await probe.erase(correlation_id="c")).erased == 1
        assert (await probe.get(record.id)).trace is None
