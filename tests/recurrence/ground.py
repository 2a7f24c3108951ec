"""The store of a history of jobs: the real one, with notes of what each edit did."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from random import Random
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.jobs.change import Change, Changed, Found
from duetime.model.jobs.job import JobRecord
from duetime.store.flow import immediate
from simulation.clocks import START, LoopClock
from simulation.loop import SimLoop
from simulation.truth import Truth

Waiting = dict[str, list[Record]]


class Ground(Truth):
    """Nothing is pruned: at the end the records are counted."""

    def __init__(self, loop: SimLoop, dice: Random, begin: datetime) -> None:
        super().__init__(loop, dice)
        self._clock = LoopClock(loop, (begin - START).total_seconds())
        self.changes: list[Changed] = []
        self._loop = loop
        self._read = (-1.0, 0)

    def _now(self) -> int:
        """Read once a moment: a search among all jobs asks at each of them."""
        if self._read[0] != self._loop.time():
            self._read = (self._loop.time(), super()._now())
        return self._read[1]

    def _change(self, found: Found, change: Change) -> Changed:
        changed = super()._change(found, change)
        self.changes.append(changed)
        return changed

    @immediate
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> int:
        return 0

    def job(self, name: str) -> JobRecord | None:
        return self._rows.jobs.get(name)

    def lane_text(self, action_id: UUID) -> str | None:
        return self._rows.unfinished[action_id].lane

    def unfinished_by_job(self) -> Waiting:
        """Occurrences that are not over."""
        found: Waiting = defaultdict(list)
        for row in self._rows.unfinished.values():
            if row.record.job is not None:
                found[row.record.job].append(row.record)
        return found
