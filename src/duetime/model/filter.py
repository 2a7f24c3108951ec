"""What `find` and the verbs on many actions select by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from duetime.model.state import FINISHED, State
from duetime.model.tenant import ANY, Scope
from duetime.model.validation import check_count

MAX_PAGE_SIZE = 200

# This many leading digits of an id, or more, name it in a search.
MIN_ID_DIGITS = 8
ID_DIGITS = 32
HEX_DIGITS = frozenset("0123456789abcdef")

SortField = Literal["created_at", "due_at", "finished_at"]


class Sort(NamedTuple):
    """The order of a page. `created_at` is the order of ids, which have the client's clock;
    `due_at` holds unfinished actions only, `finished_at` finished ones only."""

    by: SortField
    descending: bool


NEWEST_FIRST = Sort("created_at", descending=True)


class Position(NamedTuple):
    """Where a page ended: the value it is sorted by, 0 for `created_at`, and an id."""

    value: int
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Matches actions by every field that is not None and not empty.

    `by` is who scheduled them. The flags ask for a state within a state, or, if False, for all
    others: `parked` until a worker knows the kind; `waiting` for a parent; `retrying` after an
    attempt that failed; `overdue`, due and not started, though neither parked nor in a paused
    queue. `search` is what `names` explains.

    A page of `find` holds up to `limit` matches in the order of `sort` that come after `follows`.
    """

    states: tuple[State, ...] = ()
    kinds: tuple[str, ...] = ()
    queue: str | None = None
    correlation_id: str | None = None
    key: str | None = None
    job: str | None = None
    error_group: str | None = None
    worker: str | None = None
    by: str | None = None
    after: UUID | None = None
    priority: int | None = None
    parked: bool | None = None
    waiting: bool | None = None
    retrying: bool | None = None
    overdue: bool | None = None
    due_from: int | None = None
    due_before: int | None = None
    created_from: int | None = None
    created_before: int | None = None
    finished_from: int | None = None
    finished_before: int | None = None
    search: str | None = None
    tenant: Scope = ANY
    sort: Sort = NEWEST_FIRST
    follows: Position | None = None
    limit: int = 50

    @property
    def finished_states(self) -> frozenset[State]:
        """The states of finished actions that may match."""
        flags = (self.parked, self.waiting, self.retrying, self.overdue)
        if self.sort.by == "due_at" or True in flags:
            return frozenset()
        only_failed = frozenset({State.failed}) if self.error_group is not None else FINISHED
        return self._states & only_failed

    @property
    def unfinished_states(self) -> frozenset[State]:
        """The states of unfinished actions that may match."""
        finished = (self.error_group, self.finished_from, self.finished_before)
        if self.sort.by == "finished_at" or any(wanted is not None for wanted in finished):
            return frozenset()
        return self._states - FINISHED

    @property
    def _states(self) -> frozenset[State]:
        return frozenset(self.states or State)


def id_span(search: str) -> tuple[UUID, UUID] | None:
    """Return the lowest and the highest of the ids that begin with these digits; None if they are
    no digits of an id, or too few."""
    digits = search.replace("-", "").lower()
    if not MIN_ID_DIGITS <= len(digits) <= ID_DIGITS or not HEX_DIGITS.issuperset(digits):
        return None
    return UUID(hex=digits.ljust(ID_DIGITS, "0")), UUID(hex=digits.ljust(ID_DIGITS, "f"))


def names(search: str, action_id: UUID, texts: Iterable[str | None]) -> bool:
    """Return whether a search names an action: by its whole correlation id, key or job, or by eight
    or more leading digits of its id."""
    span = id_span(search)
    return search in texts or (span is not None and span[0] <= action_id <= span[1])


def page_limit(limit: int) -> int:
    return check_count("limit", limit, MAX_PAGE_SIZE)
