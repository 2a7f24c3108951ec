"""A node that runs a release of the simulated app."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from duetime.events.bus import Events
from duetime.events.types import ActionEvent
from duetime.model.ids import TimeOrderedIds
from duetime.registry.runtime import AppRuntime
from duetime.worker.claiming.precise_timer import LoopTimer
from duetime.worker.ports import Ports
from job_simulation.network import JobNetwork
from job_simulation.recording_store import RecordingStore
from job_simulation.release import Release
from simulation.clocks import LoopClock
from simulation.faulty_store import FaultyStore
from simulation.node import HOUR, METERS, Node, SeparateHeartbeat
from simulation.real_store import RealStore
from simulation.scenario import Scenario


def ignore_event(event: ActionEvent) -> None:
    """Events are checked in the cluster simulation."""


class JobNode(Node):
    """A node whose clock, and so its time-ordered ids, are up to an hour off."""

    def __init__(
        self,
        network: JobNetwork,
        store: RecordingStore,
        scenario: Scenario,
        rng: Random,
        release: Release,
        *,
        begin_seconds: float,
        slot: int,
        number: int,
    ) -> None:
        self.release = release
        self._skewed_clock = LoopClock(network.loop, begin_seconds + rng.uniform(-HOUR, HOUR))
        super().__init__(
            network, store, scenario, rng, slot=slot, number=number, on_event=ignore_event
        )

    def _runtime(
        self, real_store: RealStore, skew: float, on_event: Callable[[ActionEvent], None]
    ) -> AppRuntime:
        release = self.release
        return AppRuntime(
            FaultyStore(real_store, self.line),
            release.payloads,
            release.handlers,
            Events(),
            METERS,
            self._skewed_clock,
            release.jobs,
        )

    def _ports(self, name: str, real_store: RealStore, rng: Random) -> Ports:
        own = Random(rng.random())
        return Ports(
            monotonic=lambda: self._loop.time() + self._offset,
            dice=own.random,
            name=lambda: name,
            timer=LoopTimer,
            heartbeat=lambda _, renewal: SeparateHeartbeat(
                FaultyStore(real_store, self.beat_line),
                renewal,
                self._loop,
                self.beat,
                self.process,
            ),
            ids=TimeOrderedIds(self._skewed_clock, own.randbytes),
        )
