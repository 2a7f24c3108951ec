"""A new action that was just stored: it is what was asked for, and since when it is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice, repeat
from typing import NamedTuple, overload
from uuid import UUID

from duetime.model.actions.action import (
    Action,
    NewAction,
    Record,
    shown_instant,
    to_action,
    to_record,
)
from duetime.model.actions.new_actions import NewActions
from duetime.model.columns import each
from duetime.model.fast_dataclass import filler
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
        new, now = self.new, self.created_at
        return born(new, _due(new.due_at, new.delay, new.after, now), now)


class Births(Sequence[Born]):
    """Many that were stored at once. A Born is made when it is asked for: of a thousand that are
    kept the garbage collector would look at each, several times. What users see is made once; it
    may be begun while a store is at work on them, which only then tells when they were stored."""

    def __init__(
        self, new: NewActions, created_at: int | None = None, shown: Iterable[Action] = ()
    ) -> None:
        self._new = new
        self._created_at = created_at
        self._shown = list(shown)

    def stored_at(self, instant: int) -> None:
        self._created_at = instant

    @property
    def created_at(self) -> int:
        if self._created_at is None:
            raise LookupError("nobody told when these actions were stored")
        return self._created_at

    def __len__(self) -> int:
        return len(self._new)

    @overload
    def __getitem__(self, place: int) -> Born: ...
    @overload
    def __getitem__(self, place: slice) -> Births: ...
    def __getitem__(self, place: int | slice) -> Born | Births:
        if isinstance(place, slice):
            return Births(self._new[place], self.created_at, self._shown[place])
        return Born(self._new[place], self.created_at)

    def __iter__(self) -> Iterator[Born]:
        return (Born(one, self.created_at) for one in self._new)

    def __repr__(self) -> str:
        return f"Births({[*self]})"

    def actions(self) -> list[Action]:
        """As users see them who gave us their payloads."""
        self.show(len(self))
        if len(self._shown) < len(self):
            raise LookupError("nobody gave the payloads of these actions")
        _fill_created_at(self._shown, repeat(shown_instant(self.created_at)))
        _fill_due_at(self._shown, self._shown_dues())
        return self._shown

    def show(self, until: int) -> None:
        """Begin to make these up to that place: best while a store is at work on them."""
        made = len(self._shown)
        if made < until and self._new.payloads:  # else nobody is to see them
            self._shown += map(to_action, *_as_born(self._new[made:until]))

    def _shown_dues(self) -> Sequence[datetime | None]:
        of = self._new.columns

        def shown_due(due_at: int | None, delay: int | None, after: UUID | None) -> datetime | None:
            return shown_instant(_due(due_at, delay, after, self.created_at))

        return each(shown_due, of["due_at"], of["delay"], of["after"])

    def split(self, several: Sequence[NewActions]) -> list[Births]:
        """Of those that several asked for, to each its own."""
        self.show(len(self))
        shown = iter(self._shown)
        return [Births(one, self.created_at, islice(shown, len(one))) for one in several]

    def dues(self) -> set[tuple[str, int | None]]:
        """In which lanes, and when."""
        timed = self._new.counted("lane", "due_at", "delay", "after")
        now = self.created_at
        return {(lane, _due(due_at, delay, after, now)) for lane, due_at, delay, after in timed}

    def counted(self) -> Mapping[tuple[str, str | None], int]:
        """How many of each kind and tenant."""
        return self._new.counted("kind", "tenant")


_fill_due_at, _fill_created_at = filler(Action, "due_at"), filler(Action, "created_at")


def _due(due_at: int | None, delay: int | None, after: UUID | None, now: int) -> int | None:
    """When it is due if it is stored now; None while it waits for its parent."""
    if after is not None:
        return None
    return now + (delay or 0) if due_at is None else due_at


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


def _as_born(new: NewActions) -> Sequence[Iterable[object]]:
    """The columns of Action, in their order, but for what is not known before they are stored."""
    of = new.columns
    return (
        of["id"],
        of["kind"],
        new.payloads,
        repeat(State.scheduled),
        repeat(None),  # due_at
        repeat(0),  # attempt
        repeat(0),  # losses
        of["queue"],
        each(Priority.of_rank, of["priority"]),
        of["correlation_id"],
        of["key"],
        of["tenant"],
        of["after"],
        of["on"],
        *[repeat(None)] * 7,  # from `job` to `lease_expires_at`
        repeat(None),  # created_at
        of["by"],
        *[repeat(None)] * 4,  # from `modified_at` to `finished_at`
        repeat(True),  # created
    )
