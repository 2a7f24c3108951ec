"""A new action that was just stored: it is what was asked for, and since when it is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, overload

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


class Births(Sequence[Born]):
    """Many that were stored at once, each made when it is asked for: of a thousand that are kept
    the garbage collector would look at each, several times."""

    def __init__(self, new: Sequence[NewAction], created_at: int) -> None:
        self._new = new
        self._created_at = created_at

    def __len__(self) -> int:
        return len(self._new)

    @overload
    def __getitem__(self, place: int) -> Born: ...
    @overload
    def __getitem__(self, place: slice) -> Births: ...
    def __getitem__(self, place: int | slice) -> Born | Births:
        if isinstance(place, slice):
            return Births(self._new[place], self._created_at)
        return Born(self._new[place], self._created_at)

    def __iter__(self) -> Iterator[Born]:
        return (Born(one, self._created_at) for one in self._new)

    def __repr__(self) -> str:
        return f"Births({[*self]})"

    def actions(self, payloads: Sequence[object]) -> list[Action]:
        """As users see them, who know their payloads."""
        shown: list[Action] = []
        known: tuple[object, ...] = ()
        for new, payload in zip(self._new, payloads, strict=True):
            # Most that are stored at once differ in payload alone.
            given = new[4:]
            if given != known:
                known, rest = given, _as_born(new, self._created_at)
            shown.append(to_action(new[0], new[1], payload, *rest))
        return shown

    def dues(self) -> set[tuple[str, int | None]]:
        """In which lanes, and when."""
        timed = {_TIMED(new): new for new in self._new}
        return {(one.lane, due_of(one, self._created_at)) for one in timed.values()}

    def counted(self) -> Mapping[tuple[str, str | None], int]:
        """How many of each kind and tenant."""
        return Counter(map(_COUNTED, self._new))


_TIMED = attrgetter("lane", "due_at", "delay", "after")
_COUNTED = attrgetter("kind", "tenant")


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


def _as_born(new: NewAction, created_at: int) -> tuple[object, ...]:
    """From `state` on, in the order of Action."""
    return (
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
