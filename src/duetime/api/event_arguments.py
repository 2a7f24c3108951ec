"""Checks the arguments of `app.on`: the event, and the filter of its subscriber."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import fields
from typing import Any

from duetime.api.arguments import MAX_NAME_LENGTH, MAX_QUEUE_LENGTH
from duetime.errors import ConfigError, InvalidArgument, did_you_mean, shown
from duetime.events.filter import EventFilter
from duetime.events.types import EVENT_TYPES, Event
from duetime.model.jobs.name import check_job_name
from duetime.model.tenant import ANY, AnyTenant
from duetime.model.validation import check_name, check_optional

# One value, or several of which an event must have one.
Names = str | Collection[str]
Tenants = str | None | AnyTenant | Collection[str | None]

FILTERS = ("kind", "job", "tenant")


def check_event(event: Any) -> None:
    """Refuse what is never emitted: a subscriber of it would never be called."""
    if not any(event is type_ for type_ in EVENT_TYPES):
        raise ConfigError(f"{shown(event)} is not an event: {_event_remedy(event)}")


def _event_remedy(event: Any) -> str:
    names = [type_.__name__ for type_ in EVENT_TYPES]
    if isinstance(event, str) and event in names:
        return f"write the class, without quotes: app.on({event}, ...)"
    if type(event) in EVENT_TYPES:
        return f"give its class, {type(event).__name__}"
    several = [type_.__name__ for type_ in _several_events(event)]
    if several:
        return f"call app.on once for each of {', '.join(several)}"
    guess = did_you_mean(event if isinstance(event, str) else getattr(event, "__name__", ""), names)
    return f"give one of {', '.join(names)}{guess}"


def _several_events(event: Any) -> list[type[Event]]:
    """Return the events of a collection, or those that a base class stands for."""
    if isinstance(event, type):
        return [type_ for type_ in EVENT_TYPES if issubclass(type_, event) and event is not object]
    several = event if isinstance(event, list | tuple | set | frozenset) else ()
    return [type_ for type_ in EVENT_TYPES if type_ in several]


def check_subscriber(event: type[Event], subscriber: object) -> None:
    if not callable(subscriber):
        raise ConfigError(
            f"the subscriber {shown(subscriber)} of {event.__name__} is not a function"
        )


def to_event_filter(
    event: type[Event],
    kind: Names | None,
    job: Names | None,
    tenant: Tenants,
    wire_name: Callable[[str], str],
) -> EventFilter:
    known = {field.name for field in fields(event)}
    for name, value in (("kind", kind), ("job", job)):
        if value is not None and name not in known:
            usable = " or ".join(f"{field}=" for field in FILTERS if field in known)
            raise ConfigError(
                f"{name}={shown(value)}: {event.__name__} has no {name}: filter it by {usable}"
            )
    return EventFilter(
        None if kind is None else frozenset(_kinds(kind)),
        None if job is None else frozenset(_jobs(job)),
        None if tenant is ANY else frozenset(_tenants(tenant)),
        wire_name,
    )


def _kinds(kind: Names) -> Iterable[str]:
    return [check_name("kind", name, MAX_QUEUE_LENGTH) for name in _several("kind", kind)]


def _jobs(job: Names) -> Iterable[str]:
    return [check_job_name(name, "job") for name in _several("job", job)]


def _tenants(tenant: Tenants) -> Iterable[str | None]:
    several = _several("tenant", tenant)
    return [check_optional("tenant", name, MAX_NAME_LENGTH) for name in several]


def _several(argument: str, value: Any) -> Collection[Any]:
    """Return the values of a collection, or a single value as the only one."""
    if not isinstance(value, list | tuple | set | frozenset):
        return [value]
    if not value:
        raise InvalidArgument(argument, value, "name at least one")
    return value
