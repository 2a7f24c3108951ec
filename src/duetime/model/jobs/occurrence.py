"""Occurrences: the actions of a job, one for each tick or trigger.

The job's overlap rule decides what becomes of a tick while an occurrence is unfinished. Jitter
makes an occurrence due later than its tick, so that jobs of one tick do not all start at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from duetime.model.actions.action import NewAction, Record
from duetime.model.actions.new_actions import new_record
from duetime.model.clock import (
    MICROSECOND,
    from_micros,
    maybe_nearest,
    seconds_of,
    to_micros,
)
from duetime.model.ids import NewId
from duetime.model.jobs.change import FoundJob, NewOccurrence, Unfinished, queue_tail_of
from duetime.model.jobs.job import JobRecord, Overlap
from duetime.model.jobs.misfire import Misfired
from duetime.model.jobs.occurrence_filter import final_outcome
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State
from duetime.model.tenant import SYSTEM
from duetime.model.trace import current_trace
from duetime.model.validation import micros


def new_occurrence(
    job: JobRecord,
    action_id: UUID,
    *,
    tick: int | None = None,
    due_at: int | None = None,
    after: UUID | None = None,
    triggered_by: str | None = None,
    skipped: str | None = None,
) -> NewOccurrence:
    """Return an occurrence due at `due_at`, or now; with `after`, when that one has finished."""
    definition = job.definition
    action = NewAction(
        id=action_id,
        kind=definition.kind,
        version=definition.payload_version,
        payload=definition.payload,
        queue=definition.queue,
        priority=definition.priority,
        tenant=definition.tenant,
        correlation_id=None,
        key=None,
        lane=lane_of(definition.queue, definition.priority, definition.tenant),
        due_at=due_at,
        delay=0 if due_at is None else None,
        by=triggered_by or SYSTEM,
        after=after,
        on=None if after is None else "finished",
        trace=current_trace(),
    )
    return NewOccurrence(
        action=action, job=job.name, tick=tick, triggered_by=triggered_by, skipped=skipped
    )


def skip(new: NewOccurrence, reason: str) -> NewOccurrence:
    """Return the occurrence as skipped. An occurrence that is skipped already keeps its reason."""
    if new.skipped is not None:
        return new
    return replace(new, skipped=reason, action=new.action._replace(after=None, on=None))


def relink(
    wanted: Iterable[NewOccurrence], is_new: Callable[[NewOccurrence], bool]
) -> list[NewOccurrence]:
    """Return the occurrences whose tick is new. An occurrence that would wait for a dropped one
    waits for that one's predecessor."""
    relinked: list[NewOccurrence] = []
    predecessors: dict[UUID, UUID | None] = {}
    for occurrence in wanted:
        after = occurrence.action.after
        if after in predecessors:
            after = predecessors[after]
            on = None if after is None else occurrence.action.on
            action = occurrence.action._replace(after=after, on=on)
            occurrence = replace(occurrence, action=action)
        if is_new(occurrence):
            relinked.append(occurrence)
        else:
            predecessors[occurrence.action.id] = after
    return relinked


def queue_up(
    retried: Iterable[Record], job: JobRecord, unfinished: Sequence[Unfinished]
) -> list[Record]:
    """Return occurrences retried by hand such that they wait for unfinished ones, and for each
    other, unless occurrences may overlap."""
    if job.definition.overlap is Overlap.allow:
        return list(retried)
    queue: list[Record] = []
    tail = queue_tail_of(unfinished)
    for record in retried:
        queue.append(record if tail is None else _waiting(record, tail))
        tail = record.id
    return queue


def _waiting(record: Record, parent: UUID) -> Record:
    return replace(
        record, due_at=None, after=parent, after_on="finished", after_at=None, after_delay=None
    )


def due_at_of(new: NewOccurrence, now: int) -> int | None:
    """Return the due time; None while the occurrence waits for another."""
    if new.action.after is not None:
        return None
    return now if new.action.due_at is None else new.action.due_at


def to_record(new: NewOccurrence, now: int) -> Record:
    """Return the record that a store inserts: due, waiting, or cancelled because skipped."""
    record = replace(
        new_record(new.action, due_at_of(new, now), now),
        job=new.job,
        tick=new.tick,
        triggered_by=new.triggered_by,
    )
    if new.skipped is None:
        return record
    return replace(
        record,
        state=State.cancelled,
        outcome=Outcome.skipped,
        error=new.skipped,
        finished_at=now,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A tick or trigger of a job, and its outcome; `tick` is None for a trigger."""

    tick: datetime | None
    action_id: UUID
    state: State
    started_at: datetime | None
    finished_at: datetime | None
    outcome: Outcome | None
    retries: int
    error: str | None
    started_by: str
    worker: str | None
    late_by: timedelta | None
    duration: timedelta | None


def as_occurrence(record: Record) -> Occurrence:
    """Return the occurrence of a record. `late_by` counts from the tick, or from the due time."""
    nominal = record.due_at if record.tick is None else record.tick
    late = (
        None
        if record.started_at is None or nominal is None
        else timedelta(microseconds=record.started_at - nominal)
    )
    return Occurrence(
        tick=maybe_nearest(record.tick),
        action_id=record.id,
        state=record.state,
        started_at=maybe_nearest(record.started_at),
        finished_at=maybe_nearest(record.finished_at),
        outcome=final_outcome(record),
        retries=max(record.attempt - 1, 0),
        error=record.error,
        started_by=record.triggered_by or SYSTEM,
        worker=record.worker,
        late_by=late,
        duration=_duration(record),
    )


def _duration(record: Record) -> timedelta | None:
    """Return how long the last run took; None while it runs, and if none began."""
    if record.started_at is None or record.finished_at is None:
        return None
    return timedelta(microseconds=record.finished_at - record.started_at)


class OccurrenceBuilder:
    """Builds the occurrences of a job; each knows the ones before it."""

    def __init__(self, job: JobRecord, found: FoundJob, new_id: NewId) -> None:
        self._job = job
        self._new_id = new_id
        self._tail = found.queue_tail
        self._is_waiting = any(occurrence.after is not None for occurrence in found.unfinished)

    def run(self, ticks: Sequence[datetime], *, queued: bool) -> Iterator[NewOccurrence]:
        """Yield the occurrences of ticks that run; with `queued`, they wait for each other where
        they would otherwise be skipped."""
        for tick in map(to_micros, ticks):
            yield self._run(tick, queued=queued)

    def misfired(self, misfired: Misfired | None) -> Iterator[NewOccurrence]:
        """Yield a skipped occurrence for each misfire; of very many, for the newest ones, and one
        for all before them."""
        if misfired is None:
            return
        others = misfired.count - len(misfired.ticks)
        if others > 0:
            many = f"more than {others}" if misfired.more else f"{others}"
            until = misfired.ticks[0].isoformat()
            yield self._skip(to_micros(misfired.first), f"misfired, one of {many} before {until}")
        for tick in misfired.ticks:
            yield self._skip(to_micros(tick), "misfired: nothing ran it at its time")

    def _run(self, tick: int, *, queued: bool) -> NewOccurrence:
        overlap = self._job.definition.overlap
        if self._tail is None or overlap is Overlap.allow:
            return self._due(tick, None)
        if queued or (overlap is Overlap.queue and not self._is_waiting):
            return self._due(tick, self._tail)
        waits = " and another waits for it" if overlap is Overlap.queue else ""
        return self._skip(tick, f"skipped: occurrence {self._tail} is unfinished{waits}")

    def _due(self, tick: int, after: UUID | None) -> NewOccurrence:
        due_at = tick + self._jitter(tick)
        new = new_occurrence(self._job, self._new_id(), tick=tick, due_at=due_at, after=after)
        self._tail, self._is_waiting = new.action.id, self._is_waiting or after is not None
        return new

    def _jitter(self, tick: int) -> int:
        spread = seconds_of(self._job.definition.jitter)
        if not spread:
            return 0
        return jitter_of(self._job.name, from_micros(tick), spread) // MICROSECOND

    def _skip(self, tick: int, reason: str) -> NewOccurrence:
        return new_occurrence(self._job, self._new_id(), tick=tick, due_at=tick, skipped=reason)


def jitter_of(job: str, tick: datetime, jitter: float | timedelta) -> timedelta:
    """Return a delay in [0, jitter) that is the same for a job and tick in every process."""
    digest = sha256(f"{job}\n{to_micros(tick)}".encode()).digest()
    fraction = int.from_bytes(digest[:8], "big")
    return timedelta(microseconds=fraction * micros("jitter", jitter) >> 64)
