"""How a job is changed: what is found under its lock, what to make of it, and what came of that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from duetime.model.actions.action import NewAction, Record
from duetime.model.jobs.job import JobRecord


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
