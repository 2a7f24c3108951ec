"""Queues as operators see them: their pauses, and counts of what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from duetime.model.actions.claim import SeenWorker
from duetime.model.clock import from_micros, maybe_nearest, nearest_micros, seconds_of
from duetime.model.pause import QueuePause


@dataclass(frozen=True, slots=True)
class QueueCount:
    """Counts of the unfinished actions of one queue. Children that wait are scheduled, too; parked
    actions are not overdue. `oldest` is the due time of the longest overdue one. There may be more
    of each if the counts are `capped`."""

    queue: str
    scheduled: int
    running: int
    overdue: int
    oldest: int | None
    capped: bool = False


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The queues of a store at its own time `now`, in any order: those with unfinished actions,
    the pauses in force, and the living workers."""

    now: int
    counts: Sequence[QueueCount]
    pauses: Sequence[QueuePause]
    workers: Sequence[SeenWorker]


@dataclass(frozen=True, slots=True)
class QueueGauges:
    """What gauges of a store show, at its own time `now`: the queues with unfinished actions, the
    names of the paused ones and of those that living workers name, and how many workers live."""

    now: int
    counts: Sequence[QueueCount]
    paused: frozenset[str]
    served: frozenset[str]
    workers: int

    @property
    def oldest_overdue(self) -> float:
        """For how many seconds the oldest action of a queue that is not paused is overdue."""
        dues = (count.oldest for count in self.counts if count.queue not in self.paused)
        waits = [seconds_of(self.now - due) for due in dues if due is not None]
        return max(waits, default=0.0)

    @property
    def backlog(self) -> list[tuple[str, str, int]]:
        """How many actions are scheduled, and how many run, by queue."""
        idle = (self.paused | self.served) - {count.queue for count in self.counts}
        known = [*self.counts, *(QueueCount(name, 0, 0, 0, None) for name in sorted(idle))]
        backlog = [(count.queue, "scheduled", count.scheduled) for count in known]
        return backlog + [(count.queue, "running", count.running) for count in known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue at one instant. What is due in a paused queue is not overdue; `oldest_overdue` is in
    seconds. There may be more actions if they are `capped`: those due first are counted."""

    name: str
    paused_at: datetime | None = None
    paused_by: str | None = None
    pause_note: str | None = None
    paused_until: datetime | None = None
    scheduled: int = 0
    running: int = 0
    overdue: int = 0
    oldest_overdue: float | None = None
    capped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedQueue:
    """A queue that was paused just now.

    `served_by` are the living workers that serve it, possibly none. `ignored_by` are the living
    workers whose older code does not know pauses: they go on claiming until they are replaced.
    """

    name: str
    paused_at: datetime
    paused_by: str
    pause_note: str | None
    paused_until: datetime | None
    served_by: tuple[str, ...]
    ignored_by: tuple[str, ...]


def queues_of(counted: QueueCounts) -> list[Queue]:
    """Return the queues by name: those with unfinished actions, the paused ones, and those that a
    living worker names."""
    counts = {count.queue: count for count in counted.counts}
    pauses = {pause.queue: pause for pause in counted.pauses}
    served = {queue for seen in counted.workers for queue in seen.worker.queues}
    names = sorted(counts.keys() | pauses.keys() | served)
    return [_queue(name, counts.get(name), pauses.get(name), counted.now) for name in names]


def _queue(name: str, count: QueueCount | None, pause: QueuePause | None, now: int) -> Queue:
    count = count or QueueCount(name, 0, 0, 0, None)
    oldest = None if pause is not None else count.oldest
    return Queue(
        name=name,
        paused_at=None if pause is None else _instant(pause.paused_at),
        paused_by=None if pause is None else pause.paused_by,
        pause_note=None if pause is None else pause.pause_note,
        paused_until=None if pause is None else maybe_nearest(pause.paused_until),
        scheduled=count.scheduled,
        running=count.running,
        overdue=count.overdue if pause is None else 0,
        oldest_overdue=None if oldest is None else seconds_of(now - oldest),
        capped=count.capped,
    )


def as_paused(pause: QueuePause, living: Iterable[SeenWorker]) -> PausedQueue:
    """Return a pause as its caller sees it, with the workers that it concerns."""
    workers = sorted((seen.worker for seen in living), key=lambda worker: worker.id)
    return PausedQueue(
        name=pause.queue,
        paused_at=_instant(pause.paused_at),
        paused_by=pause.paused_by,
        pause_note=pause.pause_note,
        paused_until=maybe_nearest(pause.paused_until),
        served_by=tuple(worker.id for worker in workers if worker.pool_for(pause.queue)),
        ignored_by=tuple(worker.id for worker in workers if worker.version is None),
    )


def _instant(micros: int) -> datetime:
    return from_micros(nearest_micros(micros))
