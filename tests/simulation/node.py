"""One machine of the cluster: a real worker in a simulated process that can freeze and die."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from uuid import UUID

from duetime.events.bus import Events
from duetime.events.filter import EventFilter
from duetime.events.types import ActionCancelled, ActionEvent, ActionFailed, ActionSucceeded
from duetime.registry.runtime import AppRuntime
from duetime.store.base import Store
from duetime.telemetry.meters import Meters
from duetime.worker.claiming.precise_timer import LoopTimer
from duetime.worker.leases.heartbeat import Renewal, TaskHeartbeat
from duetime.worker.ports import Ports
from duetime.worker.worker import Worker
from simulation.clocks import LoopClock
from simulation.faulty_store import FaultyStore
from simulation.handlers import ALL, PAYLOADS, SOME_HANDLERS
from simulation.network import Network
from simulation.real_store import RealStore
from simulation.scenario import Scenario
from simulation.virtual_loop import Process, SimLoop

METERS = Meters()
HOUR = 3600.0


class SeparateHeartbeat(TaskHeartbeat):
    """A heartbeat in a process of its own, which continues while the worker's loop is blocked."""

    def __init__(
        self, store: Store, renewal: Renewal, loop: SimLoop, process: Process, worker: Process
    ) -> None:
        super().__init__(store, renewal)
        self._loop = loop
        self._process = process
        self._worker = worker
        self._notify = renewal.renewed
        renewal.renewed = self._notify_worker

    def start(self) -> None:
        with self._loop.within(self._process):
            super().start()

    def _notify_worker(self) -> None:
        with self._loop.within(self._worker):
            self._notify()


class Node:
    """A worker from start to stop; its replacement is another node."""

    def __init__(
        self,
        network: Network,
        real_store: RealStore,
        scenario: Scenario,
        rng: Random,
        *,
        slot: int,
        number: int,
        on_event: Callable[[ActionEvent], None],
    ) -> None:
        self._loop = network.loop
        self._network = network
        name = f"w{slot}" if scenario.names_reused else f"w{slot}.{number}"
        self.slot = slot
        self.number = number
        self.booted_at = self._loop.time()
        self.started = False
        self.stopping = False
        self.knows_all = slot == 0 or not scenario.some_without_handlers
        self.process = Process(f"{name}#{number}")
        self.beat = Process(f"{name}#{number}/beat")
        self._thawed_at = {self.process: -1.0, self.beat: -1.0}
        self.line = network.line(self.process)
        self.beat_line = network.line(self.beat)
        skew = rng.uniform(-HOUR, HOUR)
        self._offset = rng.uniform(0, HOUR)
        ports = self._ports(name, real_store, rng)
        self.worker = Worker(self._runtime(real_store, skew, on_event), scenario.settings, ports)

    def _runtime(
        self, real_store: RealStore, skew: float, on_event: Callable[[ActionEvent], None]
    ) -> AppRuntime:
        events = Events()
        for event in (ActionSucceeded, ActionFailed, ActionCancelled):
            events.on(event, on_event, EventFilter())
        return AppRuntime(
            FaultyStore(real_store, self.line),
            PAYLOADS,
            ALL if self.knows_all else SOME_HANDLERS,
            events,
            METERS,
            LoopClock(self._loop, skew),
        )

    def _ports(self, name: str, real_store: RealStore, rng: Random) -> Ports:
        return Ports(
            monotonic=lambda: self._loop.time() + self._offset,
            dice=rng.random,
            name=lambda: name,
            timer=LoopTimer,
            heartbeat=lambda _, renewal: SeparateHeartbeat(
                FaultyStore(real_store, self.beat_line),
                renewal,
                self._loop,
                self.beat,
                self.process,
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
        """Kill the process as by a power cut; calls that were sent may still arrive."""
        for process in (self.process, self.beat):
            self._loop.kill(process)
        self._network.unsubscribe(self.line)

    async def stop(self) -> None:
        """Stop in an orderly way, as after SIGTERM."""
        await self.worker.__aexit__(None, None, None)

    def freeze(self, seconds: float, *, beating: bool = False) -> None:
        """Freeze the process, or with `beating` only its event loop, for some seconds."""
        processes = [self.process] if beating else [self.process, self.beat]
        for process in processes:
            self._loop.freeze(process)
        self._loop.call_later_outside(seconds, self.thaw)

    def thaw(self) -> None:
        for process in (self.process, self.beat):
            if process.frozen and not process.dead:
                self._thawed_at[process] = self._loop.time()
                self._loop.thaw(process)

    @property
    def disturbed_at(self) -> float:
        """When the event loop last stood still."""
        return self._still_at(self.process)

    def last_trouble_at(self, *, beating: bool) -> float:
        """When something last disturbed the node, or with `beating` its heartbeat alone."""
        beat = max(self.beat_line.last_trouble_at, self._still_at(self.beat))
        return beat if beating else max(beat, self.disturbed_at)

    def _still_at(self, process: Process) -> float:
        return self._loop.time() if process.frozen else self._thawed_at[process]

    def cut(self, seconds: float) -> None:
        """Cut the network of this machine alone."""
        for line in (self.line, self.beat_line):
            line.cut(seconds)

    # -- internals of the worker -----------------------------------------------------

    def token_of(self, action_id: UUID) -> UUID | None:
        tokens = [h.claim.token for h in self.worker._runs if h.claim.id == action_id]
        return tokens[-1] if tokens else None

    def assumed_leases(self) -> list[tuple[UUID, float]]:
        """Until when, in loop time, the worker assumes each of its leases to last."""
        runs = self.worker._runs
        return [(h.claim.token, h.lease_expires - self._offset) for h in runs]

    def has_room(self, queue: str, suspect: bool) -> bool:
        """Whether the worker should claim an action of that queue at once."""
        pools = [p for p in self.worker._pools if p.serves(queue)]
        if suspect:
            no_suspect = not self.worker._runs.suspect_count()
            return no_suspect and any(p.running + len(p.ready) + p.early < p.slots for p in pools)
        return any(p.running < p.slots and not p.ready for p in pools)

    def shares_slots(self, queue: str, other: str) -> bool:
        return any(p.serves(queue) and p.serves(other) for p in self.worker._pools)

    def leftovers(self) -> str | None:
        """Describe state that the worker keeps though nothing is left to do."""
        runs, completer = len(self.worker._runs), len(self.worker._completer)
        parents = len(self.worker._child_settler)
        pools = [(p.running, p.early, len(p.ready)) for p in self.worker._pools]
        if runs or completer or parents or any(any(pool) for pool in pools):
            return f"runs {runs}, completions {completer}, parents {parents}, pools {pools}"
        return None
