"""Changes of jobs: the job found under its lock, the change to store, and the stored result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from duetime.model.act import SYSTEM_ACT, Act
from duetime.model.actions.action import NewAction, Record
from duetime.model.jobs.job import JobRecord


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An unfinished occurrence; `after` is the id of the occurrence that it waits for."""

    id: UUID
    running: bool
    after: UUID | None
    tick: int | None
    triggered_by: str | None
    started_at: int | None = None


def queue_tail_of(unfinished: Sequence[Unfinished]) -> UUID | None:
    """Return the newest occurrence that no other one waits for: the next one waits for it."""
    awaited = {occurrence.after for occurrence in unfinished}
    tails = [occurrence.id for occurrence in unfinished if occurrence.id not in awaited]
    return tails[-1] if tails else None


@dataclass(frozen=True, slots=True)
class FoundJob:
    """A locked job with its unfinished occurrences, oldest first; `job` is None if there is none.

    For seeding, `by_newest_worker` says whether the worker is the newest that declares jobs of its
    app, and `adoptable` whether the job belongs to another app that has no live worker.
    """

    name: str
    job: JobRecord | None
    unfinished: tuple[Unfinished, ...]
    now: int
    by_newest_worker: bool = True
    adoptable: bool = False

    @property
    def queue_tail(self) -> UUID | None:
        return queue_tail_of(self.unfinished)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOccurrence:
    """The action of a tick or trigger. `skipped` is the reason if it is inserted as cancelled."""

    action: NewAction
    job: str
    tick: int | None
    triggered_by: str | None = None
    skipped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """A change to store: the job as it shall be, occurrences to insert and to cancel, and for the
    audit the verb and the act."""

    job: JobRecord
    occurrences: tuple[NewOccurrence, ...] = ()
    cancel: tuple[UUID, ...] = ()
    verb: str | None = None
    act: Act = SYSTEM_ACT


JobEdit = Callable[[FoundJob], JobChange | None]


@dataclass(frozen=True, slots=True)
class AppliedJobChange:
    """A stored JobChange; `occurrences` has only those whose tick had none before."""

    before: JobRecord | None
    after: JobRecord
    occurrences: tuple[NewOccurrence, ...]
    cancelled: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class JobEditResult:
    """The result of an edit of several jobs.

    `next_tick` answers DueJobs: the next tick of the app's jobs, except its excluded names.
    `locked` answers ToSeed: jobs to try again, because other transactions have locked them.
    `unreadable` names selected jobs whose text this version cannot read.
    """

    changes: list[AppliedJobChange]
    next_tick: int | None
    now: int
    locked: frozenset[str] = frozenset()
    unreadable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """A job before and after one of its occurrences finished."""

    before: JobRecord
    after: JobRecord
