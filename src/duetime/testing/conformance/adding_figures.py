"""`add_figures`, `figures`, `prune_figures`: what workers counted, summed by time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from duetime.model.health.figures import (
    MINUTE,
    REST,
    FigureBatch,
    FigureFilter,
    FigureKey,
    FigureSum,
    FigureSums,
)
from duetime.model.tenant import ANY, Scope
from duetime.testing.conformance.probe import WORKER, Probe
from duetime.testing.conformance.suite import Suite

START = 29_000_000 * MINUTE
MILLISECOND = 1000


def key(minute: int = 0, **given: Any) -> FigureKey:
    """A key of an untenanted mail that succeeded, so many minutes after START."""
    fields: dict[str, Any] = {
        "queue": "default",
        "kind": "mail",
        "tenant": None,
        "outcome": "succeeded",
        "lateness": MILLISECOND,
        "duration": 5 * MILLISECOND,
    } | given
    return FigureKey(START + minute * MINUTE, **fields)


class FigureWorkers:
    """Adds batches of figures as two workers do, each with its own numbers."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.numbers = {"worker-1": 0, "worker-2": 0}

    async def start(self) -> FigureWorkers:
        for worker in self.numbers:
            shown = replace(WORKER, id=worker)
            await self.probe.do(self.probe.store.sweep(shown, 0, 100))
        return self

    async def add(
        self, *runs: tuple[FigureKey, int], worker: str = "worker-1", number: int | None = None
    ) -> bool:
        self.numbers[worker] += 1
        batch = FigureBatch(worker, number or self.numbers[worker], runs)
        return await self.probe.do(self.probe.store.add_figures(batch))

    async def sums(
        self, minutes: int = 10, step: int = 1, tenant: Scope = ANY, **wanted: Any
    ) -> FigureSums:
        criteria: dict[str, Any] = {
            "since": START,
            "until": START + minutes * MINUTE,
            "step": step * MINUTE,
            "tenant": tenant,
        } | wanted
        return await self.probe.do(self.probe.store.figures(FigureFilter(**criteria)))

    async def runs(self, **wanted: Any) -> int:
        return sum(each.runs for each in (await self.sums(**wanted)).sums)


def by_value(sums: Sequence[FigureSum]) -> dict[str, int]:
    return {each.value: each.runs for each in sums}


class AddingFigures(Suite):
    async def test_a_store_without_figures_has_no_sums(self, probe: Probe) -> None:
        assert await FigureWorkers(probe).sums() == FigureSums([], capped=False)

    async def test_runs_are_summed_by_step(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        assert await workers.add((key(0), 1), (key(1), 2), (key(4), 3))
        found = (await workers.sums()).sums
        assert sorted(found) == [
            FigureSum(0, REST, 0, 1),
            FigureSum(1, REST, 0, 2),
            FigureSum(4, REST, 0, 3),
        ]
        wide = (await workers.sums(step=2)).sums
        assert sorted(wide) == [FigureSum(0, REST, 0, 3), FigureSum(2, REST, 0, 3)]

    async def test_the_end_of_the_time_is_not_included(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        await workers.add((key(-1), 1), (key(0), 2), (key(3), 4))
        assert await workers.runs(minutes=3) == 2
        assert await workers.runs(minutes=4) == 6

    async def test_two_workers_add_to_the_same_minute(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        await workers.add((key(), 3), worker="worker-1")
        await workers.add((key(), 4), (key(kind="report"), 1), worker="worker-2")
        assert by_value((await workers.sums(by="kind")).sums) == {"mail": 7, "report": 1}

    async def test_workers_that_add_at_the_same_time_lose_nothing(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        keys = [key(minute, kind=f"kind-{number}") for minute in (0, 1) for number in range(20)]
        forwards, backwards = [(k, 1) for k in keys], [(k, 1) for k in reversed(keys)]
        await asyncio.gather(
            *(workers.add(*forwards, worker="worker-1", number=n) for n in range(1, 2)),
            *(workers.add(*backwards, worker="worker-2", number=n) for n in range(1, 2)),
        )
        assert await workers.runs() == 2 * len(keys)

    async def test_a_batch_that_is_sent_again_counts_once(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        assert await workers.add((key(), 3), number=1)
        assert not await workers.add((key(), 3), number=1)
        assert await workers.add((key(), 4), number=2)
        assert not await workers.add((key(), 3), number=1)
        assert await workers.runs() == 7

    async def test_a_sweep_in_between_does_not_forget_what_was_added(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        assert await workers.add((key(), 3), number=1)
        await workers.start()
        assert not await workers.add((key(), 3), number=1)
        assert await workers.runs() == 3

    async def test_an_unknown_worker_adds_nothing(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        await probe.do(probe.store.unregister("worker-1"))
        assert not await workers.add((key(), 3))
        assert await workers.runs() == 0

    async def test_an_outcome_selects(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        await workers.add((key(), 3), (key(outcome="failed"), 2))
        assert await workers.runs(outcome="failed") == 2
        assert by_value((await workers.sums(by="outcome")).sums) == {"succeeded": 3, "failed": 2}

    @pytest.mark.parametrize("column", ["lateness", "duration"])
    async def test_buckets_are_summed_apart(self, probe: Probe, column: Any) -> None:
        workers = await FigureWorkers(probe).start()
        given = [(1000, 1), (5000, 2), (10**15, 4)]
        await workers.add(*((key(**{column: bucket}), runs) for bucket, runs in given))
        found = (await workers.sums(buckets=column)).sums
        assert sorted((each.bucket, each.runs) for each in found) == given

    async def test_the_values_with_most_runs_are_apart_from_all_others(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        queues = {"a": 5, "b": 9, "c": 1, "d": 7, "e": 1}
        await workers.add(*((key(queue=queue), runs) for queue, runs in queues.items()))
        found = by_value((await workers.sums(by="queue", most=2)).sums)
        assert found == {"b": 9, "d": 7, REST: 7}

    async def test_other_tenants_are_not_summed(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        await workers.add((key(), 1), (key(tenant="a"), 2), (key(tenant="b"), 4))
        assert await workers.runs(tenant=None) == 1
        assert await workers.runs(tenant="a") == 2
        assert await workers.runs(tenant="c") == 0
        assert await workers.runs(tenant=ANY) == 7
        assert by_value((await workers.sums(tenant="a", by="kind")).sums) == {"mail": 2}

    async def test_the_rest_is_of_no_tenant(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        await workers.add((key(kind=REST, queue=REST), 8), (key(tenant="a"), 2))
        assert await workers.sums(tenant=None) == FigureSums([], capped=True)
        tenants = await workers.sums(tenant="a", by="kind")
        assert (by_value(tenants.sums), tenants.capped) == ({"mail": 2}, True)
        everything = await workers.sums(by="kind")
        assert (by_value(everything.sums), everything.capped) == ({"mail": 2, REST: 8}, False)
        assert not (await workers.sums(tenant="a", since=START + MINUTE)).capped

    async def test_any_text_is_kept(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        names = ["it's", '"quoted"', "%s :x $1", "ünïcode \N{SNOWMAN}", "a\nb", "{}"]
        await workers.add(*((key(queue=name, tenant=name), 1) for name in names))
        assert {*by_value((await workers.sums(by="queue")).sums)} == {*names}
        assert await workers.runs(tenant="it's") == 1

    async def test_old_figures_are_pruned_the_oldest_first(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        now = probe.now // MINUTE * MINUTE
        probe.pass_time(now + MINUTE - probe.now)
        minutes = [now - age * MINUTE for age in (1, 2, 3, 4)]
        await workers.add(*((key()._replace(minute=minute), 1) for minute in minutes))
        everything = {"since": minutes[-1], "until": probe.now}
        prune = probe.store.prune_figures
        assert await probe.do(prune(keep=10 * MINUTE, limit=9)) == 0
        assert await probe.do(prune(keep=3 * MINUTE, limit=1)) == 1
        assert await workers.runs(**everything) == 3
        assert await workers.runs(since=minutes[-1], until=minutes[-2]) == 0
        assert await probe.do(prune(keep=3 * MINUTE, limit=9)) == 1
        assert await probe.do(prune(keep=3 * MINUTE, limit=9)) == 0
        assert await workers.runs(**everything) == 2

    async def test_figures_are_cleared(self, probe: Probe) -> None:
        workers = await FigureWorkers(probe).start()
        await workers.add((key(), 1), number=5)
        await probe.do(probe.store.clear())
        assert await workers.runs() == 0
        await workers.start()
        assert await workers.add((key(), 1), number=1)
