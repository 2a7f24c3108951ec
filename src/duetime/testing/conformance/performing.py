"""`perform` and `perform_blocking`: one transaction each, wherever they are called."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import pytest

from duetime.errors import ActionNotFound, DuetimeError, DuplicateKey
from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.actions.claim import Fence
from duetime.model.audit import AuditFilter
from duetime.model.filter import Filter
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.flow import Flow, Steps
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.probe import (
    PARKED,
    SECOND,
    WORKER,
    Probe,
    as_added_record,
    finish,
    reschedule,
)
from duetime.testing.conformance.race import race
from duetime.testing.conformance.suite import Suite

Do = Callable[[Flow[Any]], Awaitable[Any]]
UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Performing(Suite):
    async def test_blocking_and_async_give_the_same_results(self, probe: Probe) -> None:
        """Call every verb in a fixed sequence, once awaited and once blocking."""
        first = await _results_of_all_verbs(probe, probe.store.perform)
        second = await _results_of_all_verbs(probe, _blocking(probe))
        assert first == second

    async def test_blocking_works_in_a_thread(self, probe: Probe) -> None:
        new = probe.new()
        await asyncio.to_thread(probe.store.perform_blocking, probe.store.add([new], "return"))
        assert (await probe.get(new.id)).state is State.scheduled

    async def test_blocking_works_on_the_thread_of_a_running_loop(self, probe: Probe) -> None:
        record = await probe.add()
        assert probe.store.perform_blocking(probe.store.get(record.id, ANY)) == record

    async def test_errors_pass_through_both(self, probe: Probe) -> None:
        flow = probe.store.get(probe.ids(), ANY)
        with pytest.raises(ActionNotFound):
            await probe.store.perform(flow)
        with pytest.raises(ActionNotFound):
            probe.store.perform_blocking(flow)

    async def test_a_store_works_after_an_error(self, probe: Probe) -> None:
        for _ in range(30):
            with pytest.raises(ActionNotFound):
                await probe.get(probe.ids())
        assert (await probe.add()).state is State.scheduled

    async def test_nothing_happens_before_a_flow_is_performed(self, probe: Probe) -> None:
        probe.store.add([probe.new()], "return")
        assert await probe.all() == []

    @pytest.mark.parametrize("blocking", [False, True])
    async def test_a_flow_that_raises_is_rolled_back(self, probe: Probe, blocking: bool) -> None:
        waiting, failed = await probe.add(), await probe.finished(State.failed, queue="q")
        claim = await probe.running(queue="r")
        running, runs = await probe.get(claim.id), await probe.runs(claim.id)
        store = probe.store
        flows: list[Flow[Any]] = [
            store.add([probe.new(key="k")], "return"),
            store.reschedule(waiting.id, ANY, Act("bob"), due_at=None, delay=SECOND),
            store.cancel(waiting.id, ANY, Act("bob"), running=False),
            store.retry(failed.id, ANY, Act("bob")),
            store.progress(Fence(claim.id, claim.token), "[1]"),
            store.complete([reschedule(claim, delay=9)]),
        ]
        with pytest.raises(Broken):
            await (_blocking(probe) if blocking else probe.do)(broken(*flows))
        assert await probe.all() == [running, failed, waiting]
        assert await probe.runs(claim.id) == runs
        assert await probe.audit(waiting.id) == await probe.audit(failed.id) == []
        assert (await probe.add_many([probe.new(key="k", queue="s")], "raise"))[0].created
        assert (await probe.claim_one()).id == waiting.id
        assert await probe.end(finish(claim)) == {claim.id}

    async def test_one_transaction_may_hold_several_verbs(self, probe: Probe) -> None:
        new = probe.new(delay=SECOND)

        def steps() -> Steps[Record]:
            yield from probe.store.add([new], "return").start()
            yield from probe.store.cancel(new.id, ANY, Act("bob"), running=False).start()
            return (yield from probe.store.get(new.id, ANY).start())

        assert (await probe.do(Flow(steps))).state is State.cancelled

    async def test_a_flow_performed_twice_is_sent_twice(self, probe: Probe) -> None:
        flow = probe.store.add([probe.new(key="k")], "raise")
        [first], [second] = await probe.do(flow), await probe.do(flow)
        assert as_added_record(first) == as_added_record(second)
        assert len(await probe.all()) == 1

    async def test_performing_after_a_close_reopens_the_store(self, probe: Probe) -> None:
        record = await probe.add()
        await probe.store.aclose()
        assert await probe.get(record.id) == record
        await asyncio.to_thread(probe.store.close)
        assert probe.store.perform_blocking(probe.store.get(record.id, ANY)) == record
        await probe.store.aclose()

    async def test_closing_twice_is_allowed(self, probe: Probe) -> None:
        await probe.store.aclose()
        await probe.store.aclose()
        await asyncio.to_thread(probe.store.close)
        await asyncio.to_thread(probe.store.close)

    async def test_many_threads_add_at_once(self, probe: Probe) -> None:
        batches = [[probe.new() for _ in range(5)] for _ in range(12)]
        flows = [probe.store.add(batch, "return") for batch in batches]
        results = await race(probe.store, flows)
        assert all(isinstance(result, Sequence) for result in results)
        assert len(await probe.all()) == 60

    async def test_many_threads_with_one_key_store_one_action(self, probe: Probe) -> None:
        new = [probe.new(key="k") for _ in range(10)]
        results = await race(
            probe.store, [probe.store.add([new_action], "return") for new_action in new]
        )
        [record] = await probe.all()
        for result in results:
            assert isinstance(result, Sequence)
            assert result[0].record == record
        assert [r[0].created for r in results if isinstance(r, Sequence)].count(True) == 1

    async def test_many_threads_raise_over_one_key(self, probe: Probe) -> None:
        new = [probe.new(key="k") for _ in range(10)]
        results = await race(
            probe.store, [probe.store.add([new_action], "raise") for new_action in new]
        )
        [record] = await probe.all()
        errors = [result for result in results if isinstance(result, DuplicateKey)]
        assert {error.action_id for error in errors} == {record.id}
        assert len(errors) == 9

    async def test_many_tasks_claim_and_complete_at_once(self, probe: Probe) -> None:
        await probe.add_many([probe.new() for _ in range(60)])

        async def work() -> list[UUID]:
            completed: list[UUID] = []
            for _ in range(10):
                claims = await probe.claim(limit=3)
                completed += await probe.end(*(finish(claim) for claim in claims))
            return completed

        completed = [
            item for part in await asyncio.gather(*(work() for _ in range(8))) for item in part
        ]
        assert len(completed) == len(set(completed)) == 60


def _blocking(probe: Probe) -> Do:
    async def do(flow: Flow[Any]) -> Any:
        return await asyncio.to_thread(probe.store.perform_blocking, flow)

    return do


async def _results_of_all_verbs(probe: Probe, do: Do) -> str:
    """The results of a fixed sequence of verbs, with ids and tokens replaced by numbers.

    The clock stands still, so that two sequences return the same times. The last step empties
    the store, so that the next sequence starts from the same state.
    """
    results: list[object] = []
    async for result in _steps(probe, do):
        results.append(result)
    numbers: dict[str, str] = {}
    return UUIDS.sub(lambda m: numbers.setdefault(m[0], f"#{len(numbers)}"), repr(results))


async def _steps(probe: Probe, do: Do) -> AsyncIterator[object]:
    store = probe.store
    waiting, failing = probe.new(key="k", queue="q", delay=SECOND), probe.new(key="l")
    yield await do(store.add([waiting, failing], "raise"))
    yield await _error(do, store.add([probe.new(key="k", queue="q")], "raise"))
    yield await do(store.reschedule(waiting.id, ANY, Act("bob"), due_at=5, delay=None))
    yield await do(store.sweep(WORKER, 0, 10))
    for ending in (reschedule, lambda claim: finish(claim, State.failed)):
        claimed = await do(store.claim(probe.claim_order(lease=0)))
        [claim] = claimed.claims
        yield claimed
        yield await do(store.progress(Fence(claim.id, claim.token), "[1]"))
        yield await do(store.cancel(claim.id, ANY, Act("bob"), running=True))
        yield await _error(do, store.cancel(claim.id, ANY, Act("bob"), running=False))
        yield await do(store.renew([Fence(claim.id, claim.token)], 0))
        yield await do(store.complete([ending(claim)], rescuing=True))
        yield await _error(do, store.progress(Fence(claim.id, claim.token), "[2]"))
    yield await do(store.retry(failing.id, ANY, Act("bob")))
    claim = (await do(store.claim(probe.claim_order(lease=0)))).claims[0]
    yield await do(store.complete([reschedule(claim, Outcome.released, lane=PARKED)]))
    yield await do(store.look_ahead())
    yield await do(store.runs(failing.id, ANY, limit=9))
    yield await do(store.cancel_many(Filter(queue="q"), Act("bob")))
    yield await do(store.retry_many(Filter(), Act("bob")))
    claim = (await do(store.claim(probe.claim_order(PARKED)))).claims[0]
    yield await do(store.complete([finish(claim)]))
    yield await do(store.find(Filter(limit=10)))
    yield await do(store.audit(AuditFilter(subject_id=str(failing.id))))
    yield await do(store.unregister(WORKER.id))
    yield await do(store.prune(keep=-1, keep_failed=-1, limit=10))
    yield await _error(do, store.get(failing.id, ANY))


async def _error(do: Do, flow: Flow[Any]) -> tuple[str, str]:
    with pytest.raises(DuetimeError) as caught:
        await do(flow)
    return type(caught.value).__name__, str(caught.value)
