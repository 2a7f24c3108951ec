"""Checks the arguments of the verbs and converts them into the values that stores take."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import get_args
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
# The argument `after=`: an action or its id.
Parent = Action | UUID | str

MAX_NAME_LENGTH = 450
MAX_LABEL_LENGTH = 500
MAX_QUEUE_LENGTH = 200


def to_when(at: datetime | None, delay: Delay | None) -> tuple[int | None, int | None]:
    """Return the instant, or else the delay that the store adds to its own clock.

    With neither argument the delay is 0: now.
    """
    if at is not None and delay is not None:
        raise InvalidArgument("delay", delay, "give either at= or delay=, not both")
    if at is not None:
        return to_micros(instant("at", at)), None
    return None, 0 if delay is None else micros("delay", delay)


def to_scope(tenant: TenantArgument) -> Scope:
    scope = current_tenant() if tenant is AMBIENT else tenant
    return scope if scope is ANY else check_optional("tenant", scope, MAX_NAME_LENGTH)


def to_actor(by: str | None) -> str:
    return check_name("by", current_by() if by is None else by, MAX_NAME_LENGTH)


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
    """Return the id of the action to wait for, and how it must finish: "succeeded" by default."""
    if on is not None and on not in get_args(On):
        hint = did_you_mean(str(on), get_args(On))
        raise InvalidArgument("on", on, f'give "succeeded", "failed" or "finished"{hint}')
    if after is None and on is not None:
        raise InvalidArgument("on", on, "name the action to wait for: after=")
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
        state=needed,
        kind=check_optional("kind", kind, MAX_QUEUE_LENGTH),
        correlation_id=check_optional("correlation_id", correlation_id, MAX_LABEL_LENGTH),
        tenant=to_scope(tenant),
    )
