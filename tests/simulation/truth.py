"""The one real store of a history, with a way to look inside."""

from __future__ import annotations

from random import Random
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.lane import Lane, parse_lane
from duetime.store.memory.store import MemoryStore
from simulation.clocks import LoopClock
from simulation.loop import SimLoop


class Truth(MemoryStore):
    """What really is, whatever a process was told."""

    def __init__(self, loop: SimLoop, dice: Random) -> None:
        def any_id() -> UUID:
            return UUID(int=dice.getrandbits(128))

        super().__init__(clock=LoopClock(loop), tokens=any_id, ids=any_id)

    @property
    def now(self) -> int:
        return self._now()

    def snapshot(self) -> dict[UUID, Record]:
        """Every action as it is; records never change, they are replaced."""
        rows = {action_id: row.record for action_id, row in self._rows.unfinished.items()}
        return rows | self._rows.finished

    def record(self, action_id: UUID) -> Record | None:
        return self._rows.record(action_id)

    def lane(self, action_id: UUID) -> Lane:
        """Where it stands; what waits for its parent stands nowhere."""
        text = self._rows.unfinished[action_id].lane
        assert text is not None
        return parse_lane(text)

    def unfinished(self) -> list[Record]:
        return [row.record for row in self._rows.unfinished.values()]
