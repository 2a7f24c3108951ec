"""The arguments by which `find` selects actions, and the verbs on many actions, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypedDict, TypeVar, get_args
from uuid import UUID

from duetime.api.arguments import (
    MAX_LABEL_LENGTH,
    MAX_NAME_LENGTH,
    MAX_QUEUE_LENGTH,
    Parent,
    PriorityArgument,
    StateArgument,
    TenantArgument,
    to_action_id,
    to_priority,
    to_scope,
    to_state,
)
from duetime.errors import InvalidArgument, did_you_mean
from duetime.model.clock import to_micros
from duetime.model.filter import NEWEST_FIRST, Filter, Sort, SortField
from duetime.model.groups import GroupField
from duetime.model.jobs.name import MAX_JOB_NAME_LENGTH
from duetime.model.state import FINISHED, State
from duetime.model.tenant import AMBIENT
from duetime.model.validation import check_name, instant

T = TypeVar("T")

SortArgument = Literal[
    "created_at", "-created_at", "due_at", "-due_at", "finished_at", "-finished_at"
]
MAX_NAMED_AT_ONCE = 100
SORTS: tuple[str, ...] = get_args(SortArgument)


class GroupArguments(TypedDict, total=False):
    """Which actions: those that match every argument that is given and not None."""

    state: StateArgument | Iterable[StateArgument] | None
    kind: str | Iterable[str] | None
    queue: str | None
    correlation_id: str | None
    key: str | None
    job: str | None
    error_group: str | None
    worker: str | None
    priority: PriorityArgument | None
    after: Parent | None
    parked: bool | None
    waiting: bool | None
    retrying: bool | None
    overdue: bool | None
    due_from: datetime | None
    due_before: datetime | None
    created_from: datetime | None
    created_before: datetime | None
    finished_from: datetime | None
    finished_before: datetime | None
    q: str | None
    tenant: TenantArgument


class FindArguments(GroupArguments, total=False):
    """Which actions, also by who scheduled them: for `groups`, `by` says what is counted."""

    by: str | None


def to_action_filter(arguments: Mapping[str, Any]) -> Filter:
    """Return the filter of these arguments of `find`. InvalidArgument for any other argument."""
    for name in arguments:
        if name not in _CONVERSIONS and name != "tenant":
            hint = did_you_mean(str(name), [*_CONVERSIONS, "tenant"])
            raise InvalidArgument("filter", name, f"give arguments of find{hint}")
    fields: dict[str, Any] = {
        field: convert(name, arguments[name])
        for name, (field, convert) in _CONVERSIONS.items()
        if arguments.get(name) is not None
    }
    return Filter(**fields, tenant=to_scope(arguments.get("tenant", AMBIENT)))


def to_sort(sort: str | None, states: Iterable[State]) -> Sort:
    """Return the order of a page of actions in these states, or in any if there are none."""
    if sort is None:
        return NEWEST_FIRST
    if sort not in SORTS:
        hint = did_you_mean(str(sort), SORTS) if isinstance(sort, str) else ""
        raise InvalidArgument("sort", sort, f"give one of {', '.join(SORTS)}{hint}")
    order = Sort(_FIELDS[sort.removeprefix("-")], sort.startswith("-"))
    allowed = _SORTED_STATES[order.by]
    if not allowed.issuperset(states):
        among = ", ".join(state for state in State if state in allowed)
        raise InvalidArgument(
            "sort", sort, f"it orders {among} actions only: give no other state, or another sort"
        )
    return order


def to_group_field(by: GroupField) -> GroupField:
    if by not in get_args(GroupField):
        hint = did_you_mean(by, get_args(GroupField)) if isinstance(by, str) else ""
        raise InvalidArgument("by", by, f"give one of {', '.join(get_args(GroupField))}{hint}")
    return by


_SORTED_STATES: Mapping[SortField, frozenset[State]] = {
    "created_at": frozenset(State),
    "due_at": frozenset(State) - FINISHED,
    "finished_at": FINISHED,
}
_FIELDS: Mapping[str, SortField] = {field: field for field in get_args(SortField)}


def _states(argument: str, value: Any) -> tuple[State, ...]:
    return _several(argument, value, to_state)


def _kinds(argument: str, value: Any) -> tuple[str, ...]:
    return _several(argument, value, lambda kind: check_name(argument, kind, MAX_QUEUE_LENGTH))


def _several(argument: str, value: Any, convert: Callable[[Any], T]) -> tuple[T, ...]:
    """Return one value or several, each once, in an order that does not depend on the caller's."""
    if isinstance(value, str):
        return (convert(value),)
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise InvalidArgument(argument, value, f"give a {argument}, or a list of them")
    listed = [*value]
    if not 1 <= len(listed) <= MAX_NAMED_AT_ONCE:
        raise InvalidArgument(argument, value, f"give 1 to {MAX_NAMED_AT_ONCE} of them, or None")
    return tuple(sorted({convert(item) for item in listed}, key=str))


def _text(max_length: int) -> Callable[[str, Any], str]:
    return lambda argument, value: check_name(argument, value, max_length)


def _flag(argument: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidArgument(argument, value, "give True, False or None")
    return value


def _rank(_: str, value: Any) -> int:
    return to_priority(value).rank


def _parent(argument: str, value: Any) -> UUID:
    return to_action_id(value, argument)


def _micros(argument: str, value: Any) -> int:
    return to_micros(instant(argument, value))


# The field of the filter, and the check, of each argument but `tenant`.
_CONVERSIONS: Mapping[str, tuple[str, Callable[[str, Any], object]]] = {
    "state": ("states", _states),
    "kind": ("kinds", _kinds),
    "queue": ("queue", _text(MAX_QUEUE_LENGTH)),
    "correlation_id": ("correlation_id", _text(MAX_LABEL_LENGTH)),
    "key": ("key", _text(MAX_LABEL_LENGTH)),
    "job": ("job", _text(MAX_JOB_NAME_LENGTH)),
    "error_group": ("error_group", _text(MAX_LABEL_LENGTH)),
    "worker": ("worker", _text(MAX_NAME_LENGTH)),
    "by": ("by", _text(MAX_NAME_LENGTH)),
    "priority": ("priority", _rank),
    "after": ("after", _parent),
    **{name: (name, _flag) for name in ("parked", "waiting", "retrying", "overdue")},
    **{
        f"{event}_{bound}": (f"{event}_{bound}", _micros)
        for event in ("due", "created", "finished")
        for bound in ("from", "before")
    },
    "q": ("search", _text(MAX_LABEL_LENGTH)),
}
