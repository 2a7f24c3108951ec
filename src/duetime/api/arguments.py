"""The types of the verbs' arguments, their checks, and their conversion into the values that stores
take.

Each name that an argument accepts is a literal here, so that editors complete it and type checkers
refuse a misspelt one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, get_args
from uuid import UUID

from duetime.errors import InvalidArgument, did_you_mean
from duetime.model.act import Act, current_address, current_source
from duetime.model.actions.action import Action
from duetime.model.actions.action_key import ActionKey, KeyStates
from duetime.model.actions.chain import On
from duetime.model.actions.new_actions import IfExists
from duetime.model.bulk import BulkVerb
from duetime.model.clock import to_micros
from duetime.model.filter import Filter
from duetime.model.jobs.job import Overlap
from duetime.model.jobs.misfire import Misfire
from duetime.model.lane import Priority
from duetime.model.state import State
from duetime.model.tenant import AMBIENT, ANY, Ambient, Scope, current_by, current_tenant
from duetime.model.validation import check_name, check_optional, instant, micros
from duetime.words.phrase import phrase

if TYPE_CHECKING:
    from pydantic import BaseModel

Delay = float | timedelta
TenantArgument = Scope | Ambient
# The argument `after=`: an action or its id.
Parent = Action | UUID | str

PriorityArgument = Priority | Literal["low", "normal", "high", "critical"]
StateArgument = State | Literal["scheduled", "running", "succeeded", "failed", "cancelled"]
OverlapArgument = Overlap | Literal["skip", "queue", "allow"]
MisfireArgument = Misfire | Literal["skip", "once"]


class DataclassInstance(Protocol):
    """An instance of some dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


# Strings, because pydantic is imported only when a payload type is registered.
AnyPayload: TypeAlias = "DataclassInstance | BaseModel"
PayloadT = TypeVar("PayloadT", bound="DataclassInstance | BaseModel")

MAX_NAME_LENGTH = 450
MAX_LABEL_LENGTH = 500
MAX_QUEUE_LENGTH = 200
MAX_NOTE_LENGTH = 500
# How many runs or occurrences are read at once.
MAX_RUNS = 200


def to_when(at: datetime | None, delay: Delay | None) -> tuple[int | None, int | None]:
    """Return the instant, or else the delay that the store adds to its own clock.

    With neither argument the delay is 0: now.
    """
    if at is not None and delay is not None:
        raise InvalidArgument("delay", delay, phrase("give either at= or delay=, not both"))
    if at is not None:
        return to_micros(instant("at", at)), None
    return None, 0 if delay is None else micros("delay", delay)


def to_expiry(expires: datetime | None) -> int | None:
    return None if expires is None else to_micros(instant("expires", expires))


def to_scope(tenant: TenantArgument) -> Scope:
    scope = current_tenant() if tenant is AMBIENT else tenant
    return scope if scope is ANY else check_optional("tenant", scope, MAX_NAME_LENGTH)


def to_actor(by: str | None) -> str:
    return check_name("by", current_by() if by is None else by, MAX_NAME_LENGTH)


def to_act(by: str | None, note: str | None) -> Act:
    """Return who acts, why, and through which surface."""
    checked = check_optional("note", note, MAX_NOTE_LENGTH)
    return Act(to_actor(by), checked, current_source(), current_address())


def to_id(given: UUID | str, argument: str = "id", subject: str = "action") -> UUID:
    if isinstance(given, Action):
        raise InvalidArgument(argument, Action, f"you passed an action: pass its id: {given.id}")
    try:
        return given if isinstance(given, UUID) else UUID(given)
    except (ValueError, AttributeError, TypeError):
        raise InvalidArgument(argument, given, f"give the {subject}'s id, a UUID") from None


def to_target(
    action_id: UUID | str | None, kind: str | None, key: str | None, among: KeyStates
) -> UUID | ActionKey:
    """Return the action that a verb is about: its id, or the kind and key that name it."""
    if kind is None and key is None:
        if action_id is None:
            raise InvalidArgument("id", None, "give the action's id, a UUID, or kind= and key=")
        return to_id(action_id)
    name, value = ("key", key) if key is not None else ("kind", kind)
    if action_id is not None:
        raise InvalidArgument(name, value, "give either the action's id, or kind= and key=")
    if kind is None or key is None:
        lacking = "kind" if kind is None else "key"
        raise InvalidArgument(name, value, f"kind and key name an action together: give {lacking}=")
    return ActionKey(
        check_name("kind", kind, MAX_QUEUE_LENGTH), check_name("key", key, MAX_LABEL_LENGTH), among
    )


def to_action_id(action: Parent, argument: str = "action") -> UUID:
    try:
        return to_id(action.id if isinstance(action, Action) else action)
    except InvalidArgument:
        raise InvalidArgument(argument, action, "give an action or its id, a UUID") from None


def to_if_exists(mode: IfExists) -> IfExists:
    if mode not in get_args(IfExists):
        raise InvalidArgument("if_exists", mode, 'give "return", "replace" or "raise"')
    return mode


def to_parent(after: Parent | None, on: On | None) -> tuple[UUID | None, On | None]:
    """Return the id of the action to wait for, and how it must finish: "succeeded" by default."""
    if on is not None and on not in get_args(On):
        hint = did_you_mean(str(on), get_args(On))
        raise InvalidArgument("on", on, f'give "succeeded", "failed" or "finished"{hint}')
    if after is None and on is not None:
        raise InvalidArgument("on", on, "name the action to wait for: after=")
    if after is None:
        return None, None
    return to_action_id(after, "after"), on or "succeeded"


def to_priority(priority: PriorityArgument) -> Priority:
    try:
        return Priority(priority)
    except ValueError:
        hint = did_you_mean(str(priority), list(Priority))
        raise InvalidArgument(
            "priority", priority, f"give low, normal, high or critical{hint}"
        ) from None


def to_state(state: StateArgument) -> State:
    try:
        return State(state)
    except ValueError:
        hint = did_you_mean(str(state), list(State))
        raise InvalidArgument("state", state, f"give one of {', '.join(State)}{hint}") from None


def to_bulk_verb(verb: BulkVerb) -> BulkVerb:
    if verb not in get_args(BulkVerb):
        hint = did_you_mean(str(verb), get_args(BulkVerb))
        named = ", ".join(map(repr, get_args(BulkVerb)))
        raise InvalidArgument("verb", verb, f"give one of {named}{hint}")
    return verb


def to_shift(seconds: Delay) -> int:
    """Return how far to move actions, in microseconds: later, or earlier if it is negative."""
    number = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InvalidArgument("seconds", seconds, phrase("give seconds or a timedelta"))
    shift = micros("seconds", abs(number))
    if shift == 0:
        raise InvalidArgument(
            "seconds", seconds, phrase("give how far to move: a microsecond at least")
        )
    return shift if number > 0 else -shift


def to_filter(
    correlation_id: str | None,
    kind: str | None,
    state: StateArgument | None,
    tenant: TenantArgument,
    needed: State,
) -> Filter:
    """Return the filter of a `..._many` verb, for actions in the state `needed`.

    Without any criterion it raises: an argument that happens to be None must not select all.
    """
    if correlation_id is None and kind is None and state is None:
        raise InvalidArgument(
            "correlation_id", None, "select actions by correlation_id=, kind= or state="
        )
    if state is not None and to_state(state) is not needed:
        raise InvalidArgument("state", state, f"this verb applies to {needed} actions only")
    return Filter(
        states=(needed,),
        kinds=() if kind is None else (check_name("kind", kind, MAX_QUEUE_LENGTH),),
        correlation_id=check_optional("correlation_id", correlation_id, MAX_LABEL_LENGTH),
        tenant=to_scope(tenant),
    )
