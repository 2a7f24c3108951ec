"""Runs one seeded history of recurring jobs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random
from unittest.mock import patch

from duetime.errors import StoreUnavailable
from duetime.model.actions.claim import alive_micros
from duetime.worker import pruner
from job_simulation.final_checker import FinalChecker
from job_simulation.handlers import JobHandlers
from job_simulation.job_checker import JobChecker
from job_simulation.network import JobNetwork
from job_simulation.node import JobNode
from job_simulation.operators import Operators
from job_simulation.recording_store import RecordingStore
from job_simulation.release import Release, draw_releases
from job_simulation.scenario import DAY, JobScenario, draw
from simulation.chaos import Chaos
from simulation.cluster import errors_as_violations
from simulation.node import Node
from simulation.trace import Trace
from simulation.virtual_loop import Deadlock, Process, SimLoop

# Nodes are redeployed at intervals of up to this many seconds.
MAX_ROLLING_PAUSE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class History:
    """Result of one seed."""

    seed: int
    hash: str
    days: float
    ticks: int
    violations: tuple[str, ...]
    tally: Counter[str]
    lines: tuple[str, ...]


class JobCluster:
    """The nodes of one app, the releases deployed on them, and a downtime of all nodes."""

    def __init__(self, loop: SimLoop, scenario: JobScenario, trace: Trace) -> None:
        self._loop = loop
        self._scenario = scenario
        self._trace = trace
        self._rng = Random(f"{scenario.seed}/shop")
        self._releases = draw_releases(
            self._rng, scenario.releases, scenario.jobs, scenario.begin, scenario.busy
        )
        self._current = self._releases[0]
        self._job_nodes: dict[Process, JobNode] = {}
        self._down = False
        self._calm = False
        settings = scenario.cluster.settings
        self._store = RecordingStore(loop, Random(f"{scenario.seed}/ground"), scenario.begin)
        alive = alive_micros(settings.sweep)
        self.checker = JobChecker(self._store, trace, alive, self._release_of)
        self._network = JobNetwork(loop, self._store, self.checker, scenario.cluster, trace)
        self._operators = Operators(self._network, self._store, scenario, self._releases[0])
        loop.play = JobHandlers(loop, self.checker, scenario.seed, self._job_nodes.__getitem__).play

    def _release_of(self, process: Process) -> Release:
        return self._job_nodes[process].release

    # -- the history -----------------------------------------------------------------

    async def run(self) -> None:
        scenario = self._scenario
        async with self._store.listen(self._network.deliver_wakes):
            for slot in range(scenario.cluster.nodes):
                self._boot(slot)
            tasks = [
                asyncio.ensure_future(self._deploy()),
                asyncio.ensure_future(self._inject_faults()),
            ]
            if scenario.operator_interval:
                operators = self._operators
                tasks.append(
                    self._loop.spawn(operators.process, operators.run(scenario.operator_interval))
                )
            await self._live()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            if not self._trace.violations:
                await self._settle()
                FinalChecker(
                    self.checker, self._store, scenario.cluster.settings.sweep + 60
                ).check()
        self._shut_down()
        await asyncio.sleep(0)

    async def _live(self) -> None:
        """Run to the end, or to the first violation."""
        for _ in range(round(self._scenario.days * 8)):
            if not self._trace.violations:
                await asyncio.sleep(DAY / 8)

    async def _inject_faults(self) -> None:
        chaos = Chaos(
            self._network,
            self._scenario.cluster,
            self._trace,
            nodes=self._working,
            kill=self._kill,
            crash=lambda: None,
            stop=self._stop,
        )
        await chaos.run()

    async def _deploy(self) -> None:
        """Deploy a release every few days; before one of them all nodes are down for a day."""
        scenario = self._scenario
        pause = (scenario.length - scenario.downtime) / len(self._releases)
        downtime_at = self._rng.randrange(1, len(self._releases))
        for number, release in enumerate(self._releases):
            if number:
                if number == downtime_at and scenario.downtime:
                    await self._take_all_down()
                self._current = release
                self._trace.add("release", number)
                await self._roll()
            await asyncio.sleep(pause)

    async def _take_all_down(self) -> None:
        self._trace.count("days of downtime")
        self._trace.add("all down")
        self._down = True
        for node in self._alive():
            self._rng.choice([self._kill, self._stop])(node)
        await asyncio.sleep(self._scenario.downtime)
        self._down = False
        self._trace.add("all up")

    async def _roll(self) -> None:
        """Deploy the new code on one node after the other."""
        for slot in range(self._scenario.cluster.nodes):
            old = [node for node in self._alive() if node.slot == slot]
            for node in old:
                if node.works:
                    self._stop(node)
            if not old:
                self._boot(slot)
            await asyncio.sleep(self._rng.uniform(0, MAX_ROLLING_PAUSE_SECONDS))

    async def _settle(self) -> None:
        """Wait until lost actions are rescued and late ticks have run."""
        self._trace.add("calm")
        self._calm = True
        self._network.calm_down()
        for node in self._alive():
            node.thaw()
        settings = self._scenario.cluster.settings
        await asyncio.sleep(4 * settings.lease + DAY / 8)

    def _shut_down(self) -> None:
        self._loop.kill(self._operators.process)
        for node in self._alive():
            node.kill()

    # -- its nodes -------------------------------------------------------------------

    def _alive(self) -> list[JobNode]:
        return [node for node in self._job_nodes.values() if node.alive]

    def _working(self) -> list[Node]:
        return [node for node in self._alive() if node.works]

    def _boot(self, slot: int) -> None:
        if self._down or any(node.slot == slot for node in self._alive()):
            return
        scenario = self._scenario
        node = JobNode(
            self._network,
            self._store,
            scenario.cluster,
            self._rng,
            self._current,
            begin_seconds=scenario.begin_seconds,
            slot=slot,
            number=len(self._job_nodes),
        )
        self._job_nodes[node.process] = node
        self._trace.add("boot", node.process.name, node.release.number)
        self._trace.count("boots")
        starting = self._loop.spawn(node.process, node.start())
        starting.add_done_callback(lambda task: self._started(node, task))

    def _started(self, node: JobNode, task: asyncio.Task[None]) -> None:
        if node.alive and not task.cancelled():
            error = task.exception()
            if isinstance(error, StoreUnavailable):
                self._end(node, "cannot start")
            elif error is not None:
                self._trace.violation("a worker cannot start", repr(error))

    def _kill(self, node: Node) -> None:
        self._trace.count("kills")
        self._end(node, "kill")

    def _stop(self, node: Node) -> None:
        self._trace.count("orderly stops")
        node.stopping = True
        stopping = self._loop.spawn(node.process, node.stop())
        stopping.add_done_callback(lambda task: self._stopped(node, task))

    def _stopped(self, node: Node, task: asyncio.Task[None]) -> None:
        if not node.alive:
            return
        if not task.cancelled() and task.exception() is not None:
            self._trace.violation("an orderly stop failed", repr(task.exception()))
        self._end(node, "stopped")

    def _end(self, node: Node, fate: str) -> None:
        self._trace.add(fate, node.process.name)
        node.kill()
        quick = self._calm or not self._scenario.cluster.faults.kill
        wait = 1.0 if quick else self._rng.choice([1.0, self._rng.uniform(1, 1800)])
        self._loop.call_later_outside(wait, self._boot, node.slot)


def run(seed: int, *, scenario: Callable[[int], JobScenario] = draw, keep: bool = False) -> History:
    """Run the history of one seed and check it."""
    loop = SimLoop()
    trace = Trace(loop.time, keep=keep)
    shop = JobCluster(loop, scenario(seed), trace)
    with errors_as_violations(trace), _rare_pruning():
        try:
            loop.run_until_complete(shop.run())
        except Deadlock as error:
            trace.violation("the cluster makes no progress", error)
        finally:
            loop.close()
    for error_text in loop.errors:
        trace.violation("uncaught exception", error_text)
    ticks = sum(len(expected.ticks) for expected in shop.checker.expected_jobs.values())
    return History(
        seed,
        trace.hash,
        loop.time() / DAY,
        ticks,
        tuple(trace.violations),
        trace.tally,
        tuple(trace.lines),
    )


@contextmanager
def _rare_pruning() -> Iterator[None]:
    """Prune once an hour instead of once a minute, to save real time."""
    with patch.object(pruner, "INTERVAL_SECONDS", 3600.0):
        yield
