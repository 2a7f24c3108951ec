"""What callers give the verbs: checked, and turned into what a store keeps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, get_args
from uuid import UUID

from duetime.errors import InvalidArgument, did_you_mean
from duetime.model.actions.action import Action
from duetime.model.actions.chain import On
from duetime.model.actions.new_actions import IfExists
from duetime.model.clock import to_micros
from duetime.model.filter import Filter
from duetime.model.lane import Priority
from duetime.model.state import State
from duetime.model.tenant import AMBIENT, ANY, Ambient, Scope, current_by, current_tenant
from duetime.model.validation import check_name, check_optional, instant, micros

Delay = float | timedelta
TenantArgument = Scope | Ambient
# What `after=` takes: an action or its id.
Parent = Action | UUID | str

NAME = 450
LABEL = 500
QUEUE = 200


class Request(NamedTuple):
    """What `schedule_many` takes: a payload and when and how to run it."""

    payload: object
    at: datetime | None = None
    delay: Delay | None = None
    correlation_id: str | None = None
    key: str | None = None
    priority: Priority | str = Priority.normal
    queue: str | None = None
    tenant: str | Ambient | None = AMBIENT
    by: str | None = None
    after: Parent | None = None
    on: On | None = None


Pair = tuple[object, datetime]

# Of a value for each field: twice as fast as Request(...).
make_request: Callable[[tuple[object, ...]], Request] = partial(tuple.__new__, Request)


def to_request(item: Pair | Request) -> Request:
    if isinstance(item, Request):
        return item
    if isinstance(item, tuple) and len(item) == 2:
        return Request(payload=item[0], at=item[1])
    raise InvalidArgument(
        "requests", item, "give (payload, at) pairs or app.request(payload, ...) values"
    )


def to_when(at: datetime | None, delay: Delay | None) -> tuple[int | None, int | None]:
    """The instant, or the delay that the store adds to its own clock; neither means now."""
    if at is not None and delay is not None:
        raise InvalidArgument("delay", delay, "give either at= or delay=, not both")
    if at is not None:
        return to_micros(instant("at", at)), None
    return None, 0 if delay is None else micros("delay", delay)


def to_scope(tenant: TenantArgument) -> Scope:
    given = current_tenant() if tenant is AMBIENT else tenant
    return given if given is ANY else check_optional("tenant", given, NAME)


def to_actor(by: str | None) -> str:
    return check_name("by", current_by() if by is None else by, NAME)


def to_id(action_id: UUID | str) -> UUID:
    try:
        return action_id if isinstance(action_id, UUID) else UUID(action_id)
    except (ValueError, AttributeError, TypeError):
        raise InvalidArgument("id", action_id, "give the action's id, a UUID") from None


def to_if_exists(mode: IfExists) -> IfExists:
    if mode not in get_args(IfExists):
        raise InvalidArgument("if_exists", mode, 'give "return", "replace" or "raise"')
    return mode


def to_parent(after: Parent | None, on: On | None) -> tuple[UUID | None, On | None]:
    """The action to wait for, and how it must end: in success, unless said otherwise."""
    if on is not None and on not in get_args(On):
        hint = did_you_mean(str(on), get_args(On))
        raise InvalidArgument("on", on, f'give "succeeded", "failed" or "finished"{hint}')
    if after is None and on is not None:
        raise InvalidArgument("on", on, "say after which action: after=")
    if after is None:
        return None, None
    try:
        return to_id(after.id if isinstance(after, Action) else after), on or "succeeded"
    except InvalidArgument:
        raise InvalidArgument("after", after, "give an action or its id") from None


def to_priority(priority: Priority | str) -> Priority:
    try:
        return Priority(priority)
    except ValueError:
        hint = did_you_mean(str(priority), list(Priority))
        raise InvalidArgument(
            "priority", priority, f"give low, normal, high or critical{hint}"
        ) from None


def to_state(state: State | str) -> State:
    try:
        return State(state)
    except ValueError:
        hint = did_you_mean(str(state), list(State))
        raise InvalidArgument("state", state, f"give one of {', '.join(State)}{hint}") from None


def to_filter(
    correlation_id: str | None,
    kind: str | None,
    state: State | str | None,
    tenant: TenantArgument,
    needed: State,
) -> Filter:
    """A filter for many: never "all of them" by an argument that happened to be None."""
    if correlation_id is None and kind is None and state is None:
        raise InvalidArgument("correlation_id", None, "say which: correlation_id=, kind=, state=")
    if state is not None and to_state(state) is not needed:
        raise InvalidArgument("state", state, f"only {needed} actions allow it")
    return Filter(
        state=needed,
        kind=check_optional("kind", kind, QUEUE),
        correlation_id=check_optional("correlation_id", correlation_id, LABEL),
        tenant=to_scope(tenant),
    )
