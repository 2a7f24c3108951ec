"""The real in-memory store of a history, with access to its rows for the checkers."""

from __future__ import annotations

from random import Random
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.actions.claim import Claim, ClaimOrder
from duetime.model.lane import Lane, parse_lane
from duetime.store.flow import Mode
from duetime.store.memory.lanes import MemoryRow
from duetime.store.memory.store import MemoryStore
from duetime.store.sql.postgres.attempt import settings_by_mode
from simulation.clocks import LoopClock
from simulation.virtual_loop import SimLoop

# With synchronous_commit off, a commit may be this far from the disk: three times
# `wal_writer_delay`.
UNWRITTEN_MICROS = 600_000


class RealStore(MemoryStore):
    """The store itself; processes see it through FaultyStore."""

    def __init__(self, loop: SimLoop, rng: Random) -> None:
        def random_id() -> UUID:
            return UUID(int=rng.getrandbits(128))

        super().__init__(clock=LoopClock(loop), tokens=random_id, ids=random_id)
        # Claims that PostgreSQL would not have written to disk yet, each with its row before.
        self._not_on_disk: list[tuple[int, UUID, MemoryRow]] = []

    @property
    def now(self) -> int:
        return self._now()

    def snapshot(self) -> dict[UUID, Record]:
        """Return all records by id; records are immutable, so a change replaces them."""
        rows = {action_id: row.record for action_id, row in self._tables.unfinished.items()}
        return rows | self._tables.finished

    def _claim_one(self, action_id: UUID, order: ClaimOrder, now: int) -> Claim:
        before = self._tables.unfinished[action_id]
        claim = super()._claim_one(action_id, order, now)
        if "synchronous_commit" in settings_by_mode(1.0)[Mode.claim].text:
            self._not_on_disk.append((now, claim.token, before))
        return claim

    def crash(self) -> list[UUID]:
        """Forget what was not on disk; return the tokens of claims that are undone."""
        recent = [each for each in self._not_on_disk if each[0] > self._now() - UNWRITTEN_MICROS]
        self._not_on_disk = []
        undone = [(token, row) for _, token, row in recent if self._holds(row.record.id, token)]
        with self._transaction():
            for _, row in undone:
                self._tables.put(row)
        return [token for token, _ in undone]

    def _holds(self, action_id: UUID, token: UUID) -> bool:
        row = self._tables.unfinished.get(action_id)
        return row is not None and row.record.token == token

    def record(self, action_id: UUID) -> Record | None:
        return self._tables.record(action_id)

    def lane(self, action_id: UUID) -> Lane:
        """Return the lane of an action, which must not be waiting for its parent."""
        text = self._tables.unfinished[action_id].lane
        assert text is not None
        return parse_lane(text)

    def is_paused(self, queue: str) -> bool:
        return self._pause(queue) is not None

    def unfinished(self) -> list[Record]:
        return [row.record for row in self._tables.unfinished.values()]
