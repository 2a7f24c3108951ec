"""A job as a store keeps it, and as users see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from uuid import UUID

from pydantic import ConfigDict

from duetime.model.action import NewAction, Record
from duetime.model.clock import maybe_from_micros
from duetime.model.lane import Priority
from duetime.model.recurrence import Recurrence
from duetime.model.recurrence_text import from_text
from duetime.model.state import Outcome

# What is read from a store says so if a newer version wrote more than is known here.
STRICT = ConfigDict(extra="forbid")


class JobState(StrEnum):
    """What a job does. It is retired when no live worker declares it any more."""

    scheduled = "scheduled"
    running = "running"
    paused = "paused"
    retired = "retired"


class Overlap(StrEnum):
    """What becomes of a tick that finds an occurrence unfinished."""

    skip = "skip"
    queue = "queue"
    allow = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What code, or `put`, says of a job: instants in microseconds, rules and data as text."""

    __pydantic_config__ = STRICT

    name: str
    kind: str
    payload_version: int
    payload: str
    recurrence: str
    tz: str
    queue: str
    priority: int
    misfire: str
    overlap: Overlap
    jitter: int
    alert_after: int
    retry: str | None
    tenant: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as stored. `next_due_at` is its next tick; None while it has none."""

    __pydantic_config__ = STRICT

    definition: Definition
    app: str
    # By code; otherwise by `put`.
    declared: bool
    version: int
    created_at: int
    created_by: str
    modified_at: int | None = None
    modified_by: str | None = None
    next_due_at: int | None = None
    last_tick: int | None = None
    last_started_at: int | None = None
    last_finished_at: int | None = None
    last_outcome: Outcome | None = None
    consecutive_failures: int = 0
    last_error: str | None = None
    # Since when it is told to be failing, and by which end it was told to be, or not to be.
    failing_since: int | None = None
    told_by: str | None = None
    triggered_by: str | None = None
    paused_at: int | None = None
    paused_by: str | None = None
    pause_note: str | None = None
    paused_until: int | None = None
    retired_at: int | None = None
    removed_at: int | None = None
    # The text it was read from, if a newer version wrote more in it than is understood here.
    read_from: str | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def tenant(self) -> str | None:
        return self.definition.tenant

    def paused(self, now: int) -> bool:
        until = self.paused_until
        return self.paused_at is not None and (until is None or now < until)

    def over(self, now: int) -> bool:
        """Whether no tick will come, though nobody keeps it from coming."""
        kept = self.removed_at is not None or self.retired_at is not None or self.paused(now)
        return self.next_due_at is None and not kept

    def unpaused(self) -> JobRecord:
        return replace(self, paused_at=None, paused_by=None, pause_note=None, paused_until=None)


def rule_of(job: JobRecord) -> Recurrence:
    return rule_in(job.definition)


def rule_in(definition: Definition) -> Recurrence:
    return _rule(definition.recurrence, definition.tz)


@lru_cache(maxsize=4096)
def _rule(text: str, tz: str) -> Recurrence:
    return from_text(text, tz)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An occurrence that has not come to its end; `after` names the one that it waits for."""

    id: UUID
    running: bool
    after: UUID | None
    tick: int | None
    triggered_by: str | None
    started_at: int | None = None


def last_of(unfinished: Sequence[Unfinished]) -> UUID | None:
    """The one for which nobody waits: whoever queues up waits for it."""
    awaited = {one.after for one in unfinished}
    free = [one.id for one in unfinished if one.id not in awaited]
    return free[-1] if free else None


@dataclass(frozen=True, slots=True)
class Found:
    """A job under its lock, with its unfinished occurrences, the oldest first. Whoever seeds it
    is told whether it is the `youngest` worker that declares jobs of its app, and whether the job
    was `left` to it by another app, of which no worker lives."""

    name: str
    job: JobRecord | None
    unfinished: tuple[Unfinished, ...]
    now: int
    youngest: bool = True
    left: bool = False

    @property
    def last(self) -> UUID | None:
        return last_of(self.unfinished)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOccurrence:
    """The action of one tick or trigger; with `skipped`, it is born cancelled, and that is
    why."""

    action: NewAction
    job: str
    tick: int | None
    triggered_by: str | None = None
    skipped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What to make of a job: how it is from now on, the occurrences that come, those that are
    cancelled, and who did what to it."""

    job: JobRecord
    occurrences: tuple[NewOccurrence, ...] = ()
    cancel: tuple[UUID, ...] = ()
    verb: str | None = None
    by: str = "system"


Decide = Callable[[Found], Change | None]


@dataclass(frozen=True, slots=True)
class Changed:
    """What a store made of a Change; of its occurrences, those whose tick was new."""

    before: JobRecord | None
    after: JobRecord
    occurrences: tuple[NewOccurrence, ...]
    cancelled: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Edited:
    """What became of an edit of several jobs. `next_tick` is told to whoever asked for those
    that are due, but for those it knew; `busy` names those that whoever seeds must try again,
    since others hold them, and `unread` those that were meant and that nobody here can read."""

    changes: list[Changed]
    next_tick: int | None
    now: int
    busy: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class JobEnd:
    """A job before and after one occurrence of it came to its end."""

    before: JobRecord
    after: JobRecord


def told(job: JobRecord | None) -> dict[str, object]:
    """What an audit entry says of a job before or after an act."""
    if job is None:
        return {}
    definition = job.definition
    return {
        "recurrence": definition.recurrence,
        "tz": definition.tz,
        "kind": definition.kind,
        "payload": definition.payload,
        "queue": definition.queue,
        "priority": definition.priority,
        "misfire": definition.misfire,
        "overlap": definition.overlap.value,
        "jitter": definition.jitter,
        "alert_after": definition.alert_after,
        "version": job.version,
        "paused": job.paused_at is not None,
        "pause_note": job.pause_note,
        "paused_until": job.paused_until,
        "removed": job.removed_at is not None,
        "next_due_at": job.next_due_at,
    }


@dataclass(frozen=True, slots=True)
class JobView:
    """A job with what is told by its occurrences."""

    job: JobRecord
    running: Unfinished | None
    dead_letters: int
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A named recurring definition, as it was when it was read."""

    name: str
    kind: str
    recurrence: str
    tz: str
    state: JobState
    enabled: bool
    next_due_at: datetime | None
    last_started_at: datetime | None
    last_finished_at: datetime | None
    last_outcome: Outcome | None
    consecutive_failures: int
    last_error: str | None
    triggered_by: str | None
    paused_by: str | None
    pause_note: str | None
    paused_until: datetime | None
    dead_letters: int
    priority: Priority
    queue: str
    payload: object
    retry: str | None
    misfire: str
    overlap: Overlap
    jitter: timedelta
    alert_after: int
    tenant: str | None
    declared: bool
    removed: bool
    version: int


def as_job(view: JobView, payload: object) -> Job:
    job, definition, paused = view.job, view.job.definition, view.job.paused(view.now)
    started = view.running.started_at if view.running else job.last_started_at
    return Job(
        name=job.name,
        kind=definition.kind,
        recurrence=definition.recurrence,
        tz=definition.tz,
        state=_state(view, paused),
        enabled=not paused,
        next_due_at=maybe_from_micros(job.next_due_at),
        last_started_at=maybe_from_micros(started),
        last_finished_at=maybe_from_micros(job.last_finished_at),
        last_outcome=job.last_outcome,
        consecutive_failures=job.consecutive_failures,
        last_error=job.last_error,
        triggered_by=view.running.triggered_by if view.running else job.triggered_by,
        paused_by=job.paused_by if paused else None,
        pause_note=job.pause_note if paused else None,
        paused_until=maybe_from_micros(job.paused_until) if paused else None,
        dead_letters=view.dead_letters,
        priority=Priority.of_rank(definition.priority),
        queue=definition.queue,
        payload=payload,
        retry=definition.retry,
        misfire=definition.misfire,
        overlap=definition.overlap,
        jitter=timedelta(microseconds=definition.jitter),
        alert_after=definition.alert_after,
        tenant=definition.tenant,
        declared=job.declared,
        removed=job.removed_at is not None,
        version=job.version,
    )


def _state(view: JobView, paused: bool) -> JobState:
    if view.job.retired_at is not None:
        return JobState.retired
    if paused:
        return JobState.paused
    return JobState.scheduled if view.running is None else JobState.running
