"""A node that runs a release."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from duetime.events.bus import (
    Events,
)
from duetime.events.types import (
    ActionEvent,
)
from duetime.model.ids import TimeOrderedIds
from duetime.registry.runtime import Parts
from duetime.worker.claiming.precise_timer import LoopAlarm
from duetime.worker.ports import Ports
from recurrence.ground import Ground
from recurrence.release import Release
from recurrence.wire import Wire
from simulation.clocks import LoopClock
from simulation.faulty import FaultyStore
from simulation.node import HOUR, METERS, Node, OwnBeat
from simulation.scenario import Scenario
from simulation.truth import Truth


def nobody(event: ActionEvent) -> None:
    """Events are judged elsewhere."""


class Machine(Node):
    """Its clock is up to an hour wrong, and so are the ids it makes."""

    def __init__(
        self,
        wire: Wire,
        ground: Ground,
        scenario: Scenario,
        dice: Random,
        release: Release,
        *,
        begun: float,
        slot: int,
        number: int,
    ) -> None:
        self.release = release
        self._wrong = LoopClock(wire.loop, begun + dice.uniform(-HOUR, HOUR))
        super().__init__(wire, ground, scenario, dice, slot=slot, number=number, told=nobody)

    def _parts(self, truth: Truth, skew: float, told: Callable[[ActionEvent], None]) -> Parts:
        release = self.release
        return Parts(
            FaultyStore(truth, self.line),
            release.payloads,
            release.handlers,
            Events(),
            METERS,
            self._wrong,
            release.jobs,
        )

    def _ports(self, name: str, truth: Truth, dice: Random) -> Ports:
        own = Random(dice.random())
        return Ports(
            monotonic=lambda: self._loop.time() + self._offset,
            dice=own.random,
            name=lambda: name,
            alarm=LoopAlarm,
            heartbeat=lambda _, renewal: OwnBeat(
                FaultyStore(truth, self.beat_line), renewal, self._loop, self.beat, self.process
            ),
            ids=TimeOrderedIds(self._wrong, own.randbytes),
        )
