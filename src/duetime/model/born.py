"""A new action that was just stored: it is what was asked for, and since when it is there."""

from __future__ import annotations

from typing import NamedTuple

from duetime.model.action import Action, NewAction, Record, shown_instant, to_action, to_record
from duetime.model.lane import Priority
from duetime.model.state import State


class Born(NamedTuple):
    """What became of one NewAction, told in a tenth of the time that its record takes."""

    new: NewAction
    created_at: int

    @property
    def created(self) -> bool:
        return True

    @property
    def record(self) -> Record:
        return born(self.new, due_of(self.new, self.created_at), self.created_at)


def due_of(new: NewAction, now: int) -> int | None:
    """When it is due if it is stored now; None while it waits for its parent."""
    if new.after is not None:
        return None
    return now + (new.delay or 0) if new.due_at is None else new.due_at


def born(new: NewAction, due_at: int | None, created_at: int) -> Record:
    """A new action as a store keeps it; one with a parent has no `due_at` yet."""
    child = new.after is not None
    return to_record(
        new.id,
        new.kind,
        new.version,
        new.payload,
        State.scheduled,
        new.queue,
        new.priority,
        new.tenant,
        new.correlation_id,
        new.key,
        due_at,
        *_UNTOUCHED,
        new.after,
        new.on,
        new.due_at if child else None,
        new.delay if child else None,
        created_at,
        new.by,
        *_UNCHANGED,
    )


# From `attempt` to `triggered_by`: no run, and no job.
_UNTOUCHED = (0, 0, 0, *[None] * 11)
# From `modified_at` to `finished_at`.
_UNCHANGED = (None,) * 4


def as_born_action(one: Born, payload: object) -> Action:
    """As users see it, who know its payload."""
    new, created_at = one
    return to_action(
        new.id,
        new.kind,
        payload,
        State.scheduled,
        shown_instant(due_of(new, created_at)),
        0,
        0,
        new.queue,
        Priority.of_rank(new.priority),
        new.correlation_id,
        new.key,
        new.tenant,
        new.after,
        new.on,
        *_NOTHING_YET,
        shown_instant(created_at),
        new.by,
        *_UNCHANGED,
        True,  # created
    )


# From `job` to `lease_expires_at`.
_NOTHING_YET = (None,) * 7
