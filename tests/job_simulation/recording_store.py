"""The real store of a job simulation, which records what each edit changed."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from random import Random
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.jobs.change import AppliedJobChange, FoundJob, JobChange
from duetime.model.jobs.job import JobRecord
from duetime.store.flow import immediate
from simulation.clocks import START, LoopClock
from simulation.real_store import RealStore
from simulation.virtual_loop import SimLoop

UnfinishedByJob = dict[str, list[Record]]


class RecordingStore(RealStore):
    """Never prunes, because the final check counts all records."""

    def __init__(self, loop: SimLoop, rng: Random, begin: datetime) -> None:
        super().__init__(loop, rng)
        self._clock = LoopClock(loop, (begin - START).total_seconds())
        self.changes: list[AppliedJobChange] = []
        self._loop = loop
        self._read = (-1.0, 0)

    def _now(self) -> int:
        """Read the clock once per moment: a search asks for the time at each job."""
        if self._read[0] != self._loop.time():
            self._read = (self._loop.time(), super()._now())
        return self._read[1]

    def _apply_change(self, found: FoundJob, change: JobChange) -> AppliedJobChange:
        applied = super()._apply_change(found, change)
        self.changes.append(applied)
        return applied

    @immediate
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> int:
        return 0

    def job(self, name: str) -> JobRecord | None:
        return self._tables.jobs.get(name)

    def lane_text(self, action_id: UUID) -> str | None:
        return self._tables.unfinished[action_id].lane

    def unfinished_by_job(self) -> UnfinishedByJob:
        """Return the unfinished occurrences of each job."""
        unfinished: UnfinishedByJob = defaultdict(list)
        for row in self._tables.unfinished.values():
            if row.record.job is not None:
                unfinished[row.record.job].append(row.record)
        return unfinished
