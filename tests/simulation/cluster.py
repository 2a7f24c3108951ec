"""Runs one seeded history: a cluster of workers, a client and injected faults."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random
from uuid import UUID

from duetime.errors import StoreUnavailable
from duetime.events.types import ActionEvent
from simulation.chaos import Chaos
from simulation.client import Client
from simulation.final_checker import FinalChecker
from simulation.handler_script import draw_script
from simulation.lease_loss_causes import LeaseLossCauses
from simulation.ledger import Ledger, Start
from simulation.liveness_monitor import LivenessMonitor
from simulation.network import Network
from simulation.node import Node
from simulation.pause_checker import PauseChecker
from simulation.pauser import QUEUES, Pauser
from simulation.real_store import RealStore
from simulation.scenario import Scenario, draw
from simulation.script_runner import ScriptRunner
from simulation.trace import Trace
from simulation.transaction_checker import TransactionChecker
from simulation.virtual_loop import Deadlock, Process, SimLoop

# In thirds of a lease: how long a cluster without faults may take to finish everything. Each
# poison action may be lost five times, one after the other.
MAX_SETTLE_ROUNDS = 250
# A history takes about 0.1 s; after this time it is considered stuck.
MAX_REAL_SECONDS = 60


@dataclass(frozen=True, slots=True)
class History:
    """Result of one seed."""

    seed: int
    hash: str
    seconds: float
    steps: int
    violations: tuple[str, ...]
    tally: Counter[str]
    latest: float
    lines: tuple[str, ...]


class Cluster:
    """Connects the parts of the simulation and replaces nodes that died."""

    def __init__(self, loop: SimLoop, scenario: Scenario, trace: Trace) -> None:
        self._loop = loop
        self._scenario = scenario
        self._trace = trace
        self._rng = Random(f"{scenario.seed}/cluster")
        self._real_store = RealStore(loop, Random(f"{scenario.seed}/truth"))
        self._nodes: dict[Process, Node] = {}
        self._checker = TransactionChecker(self._real_store, trace)
        self._pause_checker = PauseChecker(self._real_store, scenario, trace)
        self._ledger = Ledger(loop, self._checker, self._pause_checker, trace)
        find = self._nodes.__getitem__
        self._checker.is_loss_explained = LeaseLossCauses(
            scenario, self._real_store, self._ledger, trace, find
        ).explain
        self._network = Network(
            loop, self._real_store, self._checker, self._pause_checker, scenario, trace
        )
        self._pauser = Pauser(self._network, self._real_store, scenario)
        scripts = [draw_script(self._rng, scenario) for _ in range(scenario.actions)]
        self._client = Client(self._network, self._real_store, scenario, scripts)
        self._emitted_events: Counter[UUID] = Counter()
        self._calm_at: float | None = None
        self._script_runner = ScriptRunner(
            loop,
            scenario,
            scripts,
            self._ledger,
            trace,
            node=find,
            crash=self._crash,
        )
        loop.play = self._script_runner.play

    # -- the history -----------------------------------------------------------------

    async def run(self) -> float:
        """Run the whole history; return the longest start delay in seconds."""
        async with self._real_store.listen(self._network.deliver_wakes):
            for slot in range(self._scenario.nodes):
                self._boot(slot)
            scheduling = self._loop.spawn(self._client.process, self._client.run())
            self._loop.spawn(self._pauser.process, self._pauser.run())
            await self._inject_faults()
            self._calm_down()
            await self._settle(scheduling)
        latest = self._judge()
        self._shut_down()
        await asyncio.sleep(0)
        return latest

    async def _inject_faults(self) -> None:
        chaos = Chaos(
            self._network,
            self._scenario,
            self._trace,
            nodes=self._alive,
            kill=self._kill,
            stop=self._stop,
            crash=self._crash_store,
        )
        injecting = asyncio.ensure_future(chaos.run())
        await asyncio.sleep(self._scenario.chaos)
        injecting.cancel()
        with suppress(asyncio.CancelledError):
            await injecting

    def _crash_store(self) -> None:
        self._checker.forget(self._real_store.crash())

    def _calm_down(self) -> None:
        self._trace.add("calm")
        self._calm_at = self._script_runner.calm_at = self._loop.time()
        self._network.calm_down()
        for node in self._alive():
            node.thaw()
        self._loop.kill(self._pauser.process)
        self._resume_queues()

    def _resume_queues(self) -> None:
        self._pauser.resume_all()
        for queue in QUEUES:
            self._pause_checker.ended(queue)

    async def _settle(self, scheduling: asyncio.Task[None]) -> None:
        """Give healthy workers the time to finish everything, up to a limit."""
        monitor = LivenessMonitor(
            self._scenario,
            self._real_store,
            self._checker,
            self._ledger,
            self._trace,
            self._alive,
        )
        watching = asyncio.ensure_future(monitor.run(self._loop.time))
        settings = self._scenario.settings
        # A call sent before may arrive as late as this.
        await asyncio.sleep(3 * settings.lease)
        self._resume_queues()
        await scheduling
        if self._rng.random() < self._scenario.faults.deploy:
            self._deploy()
        for _ in range(MAX_SETTLE_ROUNDS):
            if self._is_over():
                break
            await asyncio.sleep(settings.lease / 3)
        watching.cancel()

    def _is_over(self) -> bool:
        if self._client.process.tasks or self._real_store.unfinished():
            return False
        return not any(node.stopping or node.leftovers() for node in self._alive())

    def _deploy(self) -> None:
        for node in self._alive():
            if node.works:
                self._stop(node)

    def _judge(self) -> float:
        checker = FinalChecker(
            self._real_store,
            self._checker,
            self._ledger,
            self._pause_checker,
            self._client,
            self._trace,
        )
        checker.check(self._emitted_events)
        for node in self._alive():
            if (left := node.leftovers()) is not None:
                self._trace.violation(
                    "a worker keeps state of finished actions", node.process.name, left
                )
        return checker.latest()

    def _shut_down(self) -> None:
        self._loop.kill(self._client.process)
        for node in self._alive():
            node.kill()

    # -- its nodes -------------------------------------------------------------------

    def _alive(self) -> list[Node]:
        return [node for node in self._nodes.values() if node.alive]

    def _boot(self, slot: int) -> None:
        node = Node(
            self._network,
            self._real_store,
            self._scenario,
            self._rng,
            slot=slot,
            number=len(self._nodes),
            on_event=self._count_event,
        )
        self._nodes[node.process] = node
        self._trace.add("boot", node.process.name)
        starting = self._loop.spawn(node.process, node.start())
        starting.add_done_callback(lambda task: self._started(node, task))

    def _started(self, node: Node, task: asyncio.Task[None]) -> None:
        """A worker that cannot reach its store does not start; its supervisor restarts it."""
        if node.alive and isinstance(task.exception(), StoreUnavailable):
            self._trace.count("starts without a store")
            self._end(node, "cannot start")

    def _count_event(self, event: ActionEvent) -> None:
        self._emitted_events[event.action_id] += 1

    def _kill(self, node: Node) -> None:
        self._trace.count("kills")
        self._end(node, "kill")

    def _crash(self, node: Node, start: Start) -> None:
        """A poison action kills its process, and with it every claim of that process."""
        self._trace.count("crashes by poison")
        claim = start.claim
        for lost in self._checker.unfinished_claims_of(node.process):
            if lost.delivered_at is not None:
                lost.killer = (claim.action, claim.budget_number)
        self._end(node, "crash")

    def _stop(self, node: Node) -> None:
        self._trace.count("orderly stops")
        self._trace.add("stop", node.process.name)
        healthy = self._calm_at is not None
        node.stopping = True
        stopping = self._loop.spawn(node.process, node.stop())
        stopping.add_done_callback(lambda task: self._stopped(node, task, healthy))

    def _stopped(self, node: Node, task: asyncio.Task[None], healthy: bool) -> None:
        if not node.alive:
            return
        if not task.cancelled() and task.exception() is not None:
            self._trace.violation("an orderly stop failed", node.process.name, task.exception())
        unfinished = [
            h
            for h in self._checker.unfinished_claims_of(node.process)
            if h.delivered_at is not None
        ]
        if unfinished and healthy:
            self._trace.violation("G7 stopped and kept a claim", node.process.name, len(unfinished))
        self._end(node, "stopped")

    def _end(self, node: Node, how: str) -> None:
        self._trace.add(how, node.process.name)
        self._ledger.died(node.process)
        node.kill()
        wait = self._rng.uniform(0.1, 2 * self._scenario.settings.lease)
        self._loop.call_later_outside(
            min(wait, 2.0) if self._calm_at else wait, self._boot, node.slot
        )


def run(seed: int, *, scenario: Callable[[int], Scenario] = draw, keep: bool = False) -> History:
    """Run the history of one seed and check it."""
    loop = SimLoop()
    trace = Trace(loop.time, keep=keep)
    latest = 0.0
    with errors_as_violations(trace), _real_time_limit():
        try:
            latest = loop.run_until_complete(Cluster(loop, scenario(seed), trace).run())
        except (Deadlock, Stuck) as error:
            trace.violation("the cluster stands still", error)
        finally:
            loop.close()
    for error_text in loop.errors:
        trace.violation("uncaught exception", error_text)
    return History(
        seed,
        trace.hash,
        loop.time(),
        loop.steps,
        tuple(trace.violations),
        trace.tally,
        latest,
        tuple(trace.lines),
    )


class Stuck(Exception):
    """Code did not return to the event loop in time."""


@contextmanager
def _real_time_limit() -> Iterator[None]:
    """Raise Stuck in code that never yields: virtual time cannot interrupt it, SIGALRM can."""

    def interrupt(number: int, frame: object) -> None:
        raise Stuck(f"more than {MAX_REAL_SECONDS} s of real time")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, MAX_REAL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _ErrorLogHandler(logging.Handler):
    """Turns every logged error into a violation: a service that fails and continues has a bug."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.ERROR)
        self._trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        if "failed in attempt" not in record.msg:
            error = record.exc_info[1] if record.exc_info else None
            self._trace.violation("logged", record.getMessage(), repr(error))


@contextmanager
def errors_as_violations(trace: Trace) -> Iterator[None]:
    log, watch = logging.getLogger("duetime"), _ErrorLogHandler(trace)
    before = log.level, log.propagate
    log.addHandler(watch)
    log.setLevel(logging.ERROR)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(watch)
        log.level, log.propagate = before
        log.setLevel(before[0])
