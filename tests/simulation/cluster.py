"""One history: a cluster, its customer and its faults, from the seed to the verdict."""

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
from simulation.checker import Checker
from simulation.customer import Customer
from simulation.excuses import Excuses
from simulation.ledger import Ledger, Start
from simulation.loop import Deadlock, Process, SimLoop
from simulation.monitor import Monitor
from simulation.network import Network
from simulation.node import Node
from simulation.scenario import Scenario, draw
from simulation.script import draw_script
from simulation.stage import Stage
from simulation.trace import Trace
from simulation.truth import Truth
from simulation.witness import Witness

# Thirds of a lease that a cluster without faults may need to finish everything: five losses of
# every poison, one after the other.
LONGEST = 250
# A history takes a tenth of a second; this one does not end by itself.
REAL_SECONDS = 60


@dataclass(frozen=True, slots=True)
class History:
    """What came of one seed."""

    seed: int
    hash: str
    seconds: float
    steps: int
    violations: tuple[str, ...]
    tally: Counter[str]
    latest: float
    lines: tuple[str, ...]


class Cluster:
    """Puts the parts together, and replaces nodes that died."""

    def __init__(self, loop: SimLoop, scenario: Scenario, trace: Trace) -> None:
        self._loop = loop
        self._scenario = scenario
        self._trace = trace
        self._dice = Random(f"{scenario.seed}/cluster")
        self._truth = Truth(loop, Random(f"{scenario.seed}/truth"))
        self._nodes: dict[Process, Node] = {}
        self._witness = Witness(self._truth, trace)
        self._ledger = Ledger(loop, self._witness, trace)
        find = self._nodes.__getitem__
        self._witness.excuses = Excuses(scenario, self._truth, self._ledger, trace, find).covers
        self._network = Network(loop, self._truth, self._witness, scenario, trace)
        scripts = [draw_script(self._dice, scenario) for _ in range(scenario.actions)]
        self._customer = Customer(self._network, self._truth, scenario, scripts)
        self._told: Counter[UUID] = Counter()
        self._calm_at: float | None = None
        self._stage = Stage(
            loop,
            scenario,
            scripts,
            self._ledger,
            trace,
            node=find,
            crash=self._crash,
        )
        loop.play = self._stage.play

    # -- the history -----------------------------------------------------------------

    async def run(self) -> float:
        """Returns how late the latest start was."""
        async with self._truth.listen(self._network.woken):
            for slot in range(self._scenario.nodes):
                self._boot(slot)
            buying = self._loop.spawn(self._customer.process, self._customer.run())
            await self._rage()
            self._calm_down()
            await self._settle(buying)
        latest = self._judge()
        self._shut_down()
        await asyncio.sleep(0)
        return latest

    async def _rage(self) -> None:
        chaos = Chaos(
            self._network,
            self._scenario,
            self._trace,
            nodes=self._alive,
            kill=self._kill,
            stop=self._stop,
        )
        raging = asyncio.ensure_future(chaos.run())
        await asyncio.sleep(self._scenario.chaos)
        raging.cancel()
        with suppress(asyncio.CancelledError):
            await raging

    def _calm_down(self) -> None:
        self._trace.add("calm")
        self._calm_at = self._stage.calm_at = self._loop.time()
        self._network.calm_down()
        for node in self._alive():
            node.thaw()

    async def _settle(self, buying: asyncio.Task[None]) -> None:
        """Healthy workers get the time they need, and not for ever."""
        monitor = Monitor(
            self._scenario, self._truth, self._witness, self._ledger, self._trace, self._alive
        )
        watching = asyncio.ensure_future(monitor.run(self._loop.time))
        settings = self._scenario.settings
        # So late may a call from before still arrive.
        await asyncio.sleep(3 * settings.lease)
        await buying
        if self._dice.random() < self._scenario.faults.deploy:
            self._deploy()
        for _ in range(LONGEST):
            if self._is_over():
                break
            await asyncio.sleep(settings.lease / 3)
        watching.cancel()

    def _is_over(self) -> bool:
        if self._customer.process.tasks or self._truth.unfinished():
            return False
        return not any(node.stopping or node.leftovers() for node in self._alive())

    def _deploy(self) -> None:
        for node in self._alive():
            if node.works:
                self._stop(node)

    def _judge(self) -> float:
        checker = Checker(self._truth, self._witness, self._ledger, self._customer, self._trace)
        checker.check(self._told)
        for node in self._alive():
            if (left := node.leftovers()) is not None:
                self._trace.violation("a worker holds what is over", node.process.name, left)
        return checker.latest()

    def _shut_down(self) -> None:
        self._loop.kill(self._customer.process)
        for node in self._alive():
            node.kill()

    # -- its nodes -------------------------------------------------------------------

    def _alive(self) -> list[Node]:
        return [node for node in self._nodes.values() if node.alive]

    def _boot(self, slot: int) -> None:
        node = Node(
            self._network,
            self._truth,
            self._scenario,
            self._dice,
            slot=slot,
            number=len(self._nodes),
            told=self._tell,
        )
        self._nodes[node.process] = node
        self._trace.add("boot", node.process.name)
        starting = self._loop.spawn(node.process, node.start())
        starting.add_done_callback(lambda task: self._started(node, task))

    def _started(self, node: Node, task: asyncio.Task[None]) -> None:
        """A worker that does not find its store does not start; its supervisor tries again."""
        if node.alive and isinstance(task.exception(), StoreUnavailable):
            self._trace.count("starts without a store")
            self._end(node, "cannot start")

    def _tell(self, event: ActionEvent) -> None:
        self._told[event.action_id] += 1

    def _kill(self, node: Node) -> None:
        self._trace.count("kills")
        self._end(node, "kill")

    def _crash(self, node: Node, start: Start) -> None:
        """Poison: the process dies, and with it all that it holds."""
        self._trace.count("crashes by poison")
        hold = start.hold
        for held in self._witness.held_by(node.process):
            if held.delivered_at is not None:
                held.killer = (hold.action, hold.life)
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
        kept = [h for h in self._witness.held_by(node.process) if h.delivered_at is not None]
        if kept and healthy:
            self._trace.violation("G7 stopped and kept a claim", node.process.name, len(kept))
        self._end(node, "stopped")

    def _end(self, node: Node, how: str) -> None:
        self._trace.add(how, node.process.name)
        self._ledger.died(node.process)
        node.kill()
        wait = self._dice.uniform(0.1, 2 * self._scenario.settings.lease)
        self._loop.world_later(min(wait, 2.0) if self._calm_at else wait, self._boot, node.slot)


def run(seed: int, *, scenario: Callable[[int], Scenario] = draw, keep: bool = False) -> History:
    """Live through one history and judge it."""
    loop = SimLoop()
    trace = Trace(loop.time, keep=keep)
    latest = 0.0
    with watched_log(trace), _alarm():
        try:
            latest = loop.run_until_complete(Cluster(loop, scenario(seed), trace).run())
        except (Deadlock, Stuck) as error:
            trace.violation("the cluster stands still", error)
        finally:
            loop.close()
    for error_text in loop.errors:
        trace.violation("nobody caught", error_text)
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
    """Code that never comes back to the event loop."""


@contextmanager
def _alarm() -> Iterator[None]:
    """Virtual time cannot end a loop that never yields; the machine's own timer can."""

    def ring(number: int, frame: object) -> None:
        raise Stuck(f"more than {REAL_SECONDS} s without an end")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, REAL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _ErrorWatch(logging.Handler):
    """A part of the worker that fails and goes on has a bug."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.ERROR)
        self._trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        if "failed in attempt" not in record.msg:
            error = record.exc_info[1] if record.exc_info else None
            self._trace.violation("logged", record.getMessage(), repr(error))


@contextmanager
def watched_log(trace: Trace) -> Iterator[None]:
    log, watch = logging.getLogger("duetime"), _ErrorWatch(trace)
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
