"""One machine of the cluster: a real worker in a process that can freeze and die."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from uuid import UUID

from duetime.events.bus import (
    Events,
)
from duetime.events.types import (
    ActionCancelled,
    ActionEvent,
    ActionFailed,
    ActionSucceeded,
)
from duetime.registry.runtime import Parts
from duetime.store.base import Store
from duetime.telemetry.meters import Meters
from duetime.worker.claiming.precise_timer import LoopAlarm
from duetime.worker.leases.heartbeat import Renewal, TaskBeat
from duetime.worker.ports import Ports
from duetime.worker.worker import Worker
from simulation.clocks import LoopClock
from simulation.faulty import FaultyStore
from simulation.handlers import ALL, FEWER, PAYLOADS
from simulation.loop import Process, SimLoop
from simulation.network import Network
from simulation.scenario import Scenario
from simulation.truth import Truth

METERS = Meters()
HOUR = 3600.0


class OwnBeat(TaskBeat):
    """The heartbeat as a process of its own: it goes on while its worker's loop is blocked."""

    def __init__(
        self, store: Store, renewal: Renewal, loop: SimLoop, process: Process, worker: Process
    ) -> None:
        super().__init__(store, renewal)
        self._loop = loop
        self._process = process
        self._worker = worker
        self._tell = renewal.renewed
        renewal.renewed = self._tell_worker

    def start(self) -> None:
        with self._loop.within(self._process):
            super().start()

    def _tell_worker(self) -> None:
        with self._loop.within(self._worker):
            self._tell()


class Node:
    """A worker from its start to its end; what comes after it is another node."""

    def __init__(
        self,
        network: Network,
        truth: Truth,
        scenario: Scenario,
        dice: Random,
        *,
        slot: int,
        number: int,
        told: Callable[[ActionEvent], None],
    ) -> None:
        self._loop = network.loop
        self._network = network
        name = f"w{slot}" if scenario.names_reused else f"w{slot}.{number}"
        self.slot = slot
        self.number = number
        self.born_at = self._loop.time()
        self.started = False
        self.stopping = False
        self.knows_all = slot == 0 or not scenario.some_know_less
        self.process = Process(f"{name}#{number}")
        self.beat = Process(f"{name}#{number}/beat")
        self._thawed_at = {self.process: -1.0, self.beat: -1.0}
        self.line = network.line(self.process)
        self.beat_line = network.line(self.beat)
        skew = dice.uniform(-HOUR, HOUR)
        self._offset = dice.uniform(0, HOUR)
        ports = self._ports(name, truth, dice)
        self.worker = Worker(self._parts(truth, skew, told), scenario.settings, ports)

    def _parts(self, truth: Truth, skew: float, told: Callable[[ActionEvent], None]) -> Parts:
        events = Events()
        for event in (ActionSucceeded, ActionFailed, ActionCancelled):
            events.on(event, told)
        return Parts(
            FaultyStore(truth, self.line),
            PAYLOADS,
            ALL if self.knows_all else FEWER,
            events,
            METERS,
            LoopClock(self._loop, skew),
        )

    def _ports(self, name: str, truth: Truth, dice: Random) -> Ports:
        return Ports(
            monotonic=lambda: self._loop.time() + self._offset,
            dice=dice.random,
            name=lambda: name,
            alarm=LoopAlarm,
            heartbeat=lambda _, renewal: OwnBeat(
                FaultyStore(truth, self.beat_line), renewal, self._loop, self.beat, self.process
            ),
        )

    @property
    def alive(self) -> bool:
        return not self.process.dead

    @property
    def works(self) -> bool:
        return self.alive and self.started and not self.stopping

    async def start(self) -> None:
        await self.worker.__aenter__()
        self.started = True

    def kill(self) -> None:
        """The power is gone: what was sent may still arrive, nothing else ever happens."""
        for process in (self.process, self.beat):
            self._loop.kill(process)
        self._network.part(self.line)

    async def stop(self) -> None:
        """The orderly way, as after SIGTERM."""
        await self.worker.__aexit__(None, None, None)

    def freeze(self, seconds: float, *, beating: bool = False) -> None:
        """The process stands still, or, `beating`, only its event loop does."""
        processes = [self.process] if beating else [self.process, self.beat]
        for process in processes:
            self._loop.freeze(process)
        self._loop.world_later(seconds, self.thaw)

    def thaw(self) -> None:
        for process in (self.process, self.beat):
            if process.frozen and not process.dead:
                self._thawed_at[process] = self._loop.time()
                self._loop.thaw(process)

    @property
    def disturbed_at(self) -> float:
        """When its event loop last stood still."""
        return self._still_at(self.process)

    def troubled_at(self, *, beating: bool) -> float:
        """When something last kept it, or its heartbeat alone, from its work."""
        beat = max(self.beat_line.troubled_at, self._still_at(self.beat))
        return beat if beating else max(beat, self.disturbed_at)

    def _still_at(self, process: Process) -> float:
        return self._loop.time() if process.frozen else self._thawed_at[process]

    def cut(self, seconds: float) -> None:
        """The network is gone, for this machine alone."""
        for line in (self.line, self.beat_line):
            line.cut(seconds)

    # -- looking inside --------------------------------------------------------------

    def token_of(self, action_id: UUID) -> UUID | None:
        tokens = [h.claim.token for h in self.worker._holdings if h.claim.id == action_id]
        return tokens[-1] if tokens else None

    def beliefs(self) -> list[tuple[UUID, float]]:
        """Until when, in the loop's time, it takes each of its leases to be its own."""
        held = self.worker._holdings
        return [(h.claim.token, h.lease_ends - self._offset) for h in held]

    def has_room(self, queue: str, suspect: bool) -> bool:
        """Whether it should take an action of that queue at once."""
        pools = [p for p in self.worker._pools if p.serves(queue)]
        if suspect:
            alone = not self.worker._holdings.suspects()
            return alone and any(p.running + len(p.ready) + p.early < p.slots for p in pools)
        return any(p.running < p.slots and not p.ready for p in pools)

    def shares_slots(self, queue: str, other: str) -> bool:
        return any(p.serves(queue) and p.serves(other) for p in self.worker._pools)

    def leftovers(self) -> str | None:
        """What it still holds though nothing is left to do."""
        holdings, completer = len(self.worker._holdings), len(self.worker._completer)
        parents = len(self.worker._chainer)
        pools = [(p.running, p.early, len(p.ready)) for p in self.worker._pools]
        if holdings or completer or parents or any(any(pool) for pool in pools):
            return f"holdings {holdings}, endings {completer}, parents {parents}, pools {pools}"
        return None
