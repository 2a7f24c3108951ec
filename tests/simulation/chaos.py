"""Injects faults into nodes and network at random moments."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random

from duetime.model.lane import lane_of
from hostile_wakes import LIES, REFUSED, message, mutated
from simulation.network import Network
from simulation.node import Node
from simulation.scenario import Scenario
from simulation.trace import Trace


class Forgeries:
    """Messages of a stranger, who has seen the lanes that are in use."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def message(self) -> str:
        rng = self._rng
        if rng.random() < 0.5:
            return rng.choice([*REFUSED.values(), *LIES.values(), mutated(rng)])
        queue, tenant = rng.choice(["default", "bulk"]), rng.choice([None, "t1", "t2"])
        lane = lane_of(queue, rng.randrange(4), tenant, suspect=rng.random() < 0.3)
        return message([lane, rng.choice([-(10**15), 1, 10**17])])


class Chaos:
    """Strikes a random node with a random fault, each kind at its own mean interval."""

    def __init__(
        self,
        network: Network,
        scenario: Scenario,
        trace: Trace,
        *,
        nodes: Callable[[], Sequence[Node]],
        kill: Callable[[Node], None],
        stop: Callable[[Node], None],
        crash: Callable[[], None],
    ) -> None:
        self._network = network
        self._lease = scenario.settings.lease
        self._faults = scenario.faults
        self._forgeries = Forgeries(Random(f"{scenario.seed}/forgeries"))
        self._trace = trace
        self._nodes = nodes
        self._kill = kill
        self._stop = stop
        self._crash = crash
        self._rng = Random(f"{scenario.seed}/chaos")
        self._attacks = Random(f"{scenario.seed}/chaos/attacks")

    async def run(self) -> None:
        """Inject every enabled kind of fault until cancelled."""
        faults = self._faults
        kinds: list[tuple[float, Callable[[Node], None]]] = [
            (faults.kill, self._killed),
            (faults.pause, self._paused),
            (faults.block, self._blocked),
            (faults.outage, self._outage),
            (faults.cut, self._cut),
            (faults.stop, self._stopped),
        ]
        attacks = [(faults.crash, self._crashed), (faults.forge, self._forged)]
        await asyncio.gather(
            *(self._repeat(self._rng, mean, do) for mean, do in kinds if mean),
            *(self._repeat(self._attacks, mean, do) for mean, do in attacks if mean),
        )

    async def _repeat(self, rng: Random, mean: float, do: Callable[[Node], None]) -> None:
        while True:
            await asyncio.sleep(rng.expovariate(1 / mean))
            victims = [node for node in self._nodes() if node.works]
            if victims:
                do(rng.choice(victims))

    def _duration(self) -> float:
        """Return seconds: shorter than the lease, about as long, or longer."""
        rng = self._rng
        return self._lease * rng.choice([rng.random(), rng.uniform(0.9, 1.4), 3 * rng.random()])

    def _killed(self, node: Node) -> None:
        self._kill(node)

    def _paused(self, node: Node) -> None:
        node.freeze(self._note("pauses", node))

    def _blocked(self, node: Node) -> None:
        node.freeze(self._note("blocked loops", node), beating=True)

    def _outage(self, node: Node) -> None:
        self._network.go_down(self._note("outages", None))

    def _cut(self, node: Node) -> None:
        node.cut(self._note("cuts", node))

    def _stopped(self, node: Node) -> None:
        self._stop(node)

    def _crashed(self, node: Node) -> None:
        """The store's server crashes, and recovers in a moment."""
        self._trace.count("server crashes")
        self._trace.add("server crashes")
        self._network.go_down(self._attacks.uniform(0.01, 0.5))
        self._crash()

    def _forged(self, node: Node) -> None:
        """A stranger wakes all workers, with a message that the listener's parser may refuse."""
        self._network.forge(self._forgeries.message())

    def _note(self, what: str, node: Node | None) -> float:
        seconds = self._duration()
        self._trace.count(what)
        self._trace.add(what, node.process.name if node else "store", f"{seconds:.3f}")
        return seconds
