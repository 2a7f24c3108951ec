"""The real in-memory store of a history, with access to its rows for the checkers."""

from __future__ import annotations

from random import Random
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.lane import Lane, parse_lane
from duetime.store.memory.store import MemoryStore
from simulation.clocks import LoopClock
from simulation.virtual_loop import SimLoop


class RealStore(MemoryStore):
    """The store itself; processes see it through FaultyStore."""

    def __init__(self, loop: SimLoop, rng: Random) -> None:
        def random_id() -> UUID:
            return UUID(int=rng.getrandbits(128))

        super().__init__(clock=LoopClock(loop), tokens=random_id, ids=random_id)

    @property
    def now(self) -> int:
        return self._now()

    def snapshot(self) -> dict[UUID, Record]:
        """Return all records by id; records are immutable, so a change replaces them."""
        rows = {action_id: row.record for action_id, row in self._tables.unfinished.items()}
        return rows | self._tables.finished

    def record(self, action_id: UUID) -> Record | None:
        return self._tables.record(action_id)

    def lane(self, action_id: UUID) -> Lane:
        """Return the lane of an action, which must not be waiting for its parent."""
        text = self._tables.unfinished[action_id].lane
        assert text is not None
        return parse_lane(text)

    def unfinished(self) -> list[Record]:
        return [row.record for row in self._tables.unfinished.values()]
