"""The verbs of queues of a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from duetime.model.act import Act
from duetime.model.health.queues import QueueCount, QueueCounts, QueueGauges
from duetime.model.lane import PAUSES_LANE, readable_lane
from duetime.model.pause import (
    PausedQueues,
    QueuePause,
    next_pause,
    pause_in_force,
    pause_snapshot,
    paused_queues,
)
from duetime.model.reason import Circumstances
from duetime.model.tenant import Scope
from duetime.store.base import Store
from duetime.store.flow import Wake, immediate
from duetime.store.memory.lanes import MemoryRow
from duetime.store.memory.stats import living
from duetime.store.memory.tables import Tables


class MemoryQueues(Store, ABC):
    """`pause_queue`, `resume_queue`, `queues` and `circumstances`."""

    _tables: Tables
    _wakes: list[Wake]

    @abstractmethod
    def _now(self) -> int: ...

    @abstractmethod
    def _audit(
        self,
        verb: str,
        act: Act,
        subject: tuple[str, str],
        tenant: str | None,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> None: ...

    @immediate
    def pause_queue(self, queue: str, act: Act, *, until: int | None) -> QueuePause:
        before = self._pause(queue)
        after = next_pause(before, QueuePause(queue, self._now(), act.by, act.note, until))
        if after != before:
            self._set_pause("pause", act, before, after)
        return after

    @immediate
    def resume_queue(self, queue: str, act: Act) -> bool:
        before = self._pause(queue)
        if before is not None:
            self._set_pause("resume", act, before, None)
        return before is not None

    def _set_pause(
        self, verb: str, act: Act, before: QueuePause | None, after: QueuePause | None
    ) -> None:
        [queue] = {pause.queue for pause in (before, after) if pause is not None}
        self._tables.set_pause(queue, after)
        snapshots = pause_snapshot(before), pause_snapshot(after)
        self._audit(verb, act, ("queue", queue), None, *snapshots)
        self._wakes.append(Wake(PAUSES_LANE, self._now(), self._now()))

    def _pause(self, queue: str) -> QueuePause | None:
        return pause_in_force(self._tables.pauses.get(queue), self._now())

    def _paused(self) -> PausedQueues:
        """Return the queues that are paused now."""
        return paused_queues(self._tables.pauses.values(), self._now())

    @immediate
    def queues(self, alive: int, most: int | None = None) -> QueueCounts:
        now, rows = self._now(), defaultdict[str, list[MemoryRow]](list)
        for row in self._tables.unfinished.values():
            rows[row.record.queue].append(row)
        return QueueCounts(
            now,
            [_count(queue, members, now) for queue, members in rows.items()],
            [pause for pause in self._tables.pauses.values() if pause.in_force(now)],
            living(self._tables, now, alive),
        )

    @immediate
    def queue_gauges(self, alive: int) -> QueueGauges:
        now, rows = self._now(), defaultdict[str, list[MemoryRow]](list)
        for row in self._tables.unfinished.values():
            rows[row.record.queue].append(row)
        workers = living(self._tables, now, alive)
        return QueueGauges(
            now,
            [_count(queue, members, now) for queue, members in rows.items()],
            frozenset(self._paused()),
            frozenset(queue for seen in workers for queue in seen.worker.queues),
            len(workers),
        )

    @immediate
    def circumstances(self, action_id: UUID, tenant: Scope, *, alive: int) -> Circumstances:
        record, row = (
            self._tables.visible(action_id, tenant),
            self._tables.unfinished.get(action_id),
        )
        return Circumstances(
            now=self._now(),
            record=record,
            lane=row.lane if row else None,
            held=False,
            pause=self._pause(record.queue),
            parent=self._tables.record(record.after) if record.waits and record.after else None,
            workers=living(self._tables, self._now(), alive),
        )


def _count(queue: str, rows: list[MemoryRow], now: int) -> QueueCount:
    free = [row for row in rows if row.record.token is None]
    overdue = [
        row.record.due_at
        for row in free
        if row.record.due_at is not None and row.record.due_at <= now and not _is_parked(row)
    ]
    return QueueCount(
        queue, len(free), len(rows) - len(free), len(overdue), min(overdue, default=None)
    )


def _is_parked(row: MemoryRow) -> bool:
    lane = None if row.lane is None else readable_lane(row.lane)
    return lane is not None and lane.parked is not None
