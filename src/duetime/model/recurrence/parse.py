"""Recurrences as people declare them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from duetime.errors import InvalidRecurrence
from duetime.model.recurrence.base import AnyOf, Recurrence
from duetime.model.recurrence.cron import Cron
from duetime.model.recurrence.instants import Instants


def recurrence(value: object, tz: str | None = None) -> Recurrence:
    """A rule of a cron string, a rule, a list of instants, or a list of rules and strings.

    `tz` is the zone of cron strings, UTC unless it is given; a Cron brings its own.
    """
    match value:
        case str():
            return Cron(value, tz or "UTC")
        case Recurrence():
            return _agreeing(value, tz)
        case list() | tuple():
            return _list(value, tz)
        case timedelta() | int() | float():
            remedy = f"an interval is written Every({_interval(value)})"
        case date():
            remedy = "a single instant is written [datetime(...)], with a zone"
        case _:
            remedy = "give a cron string, Cron(...), Every(...), or a list of instants or rules"
    raise InvalidRecurrence("recurrence", value, remedy)


def _agreeing(rule: Recurrence, tz: str | None) -> Recurrence:
    """A Cron without tz= is one in UTC: better asked than run at the wrong time of day."""
    if tz is not None and rule.zones - {tz}:
        zones = ", ".join(sorted(rule.zones))
        raise InvalidRecurrence(
            "tz", tz, f"the rule has its own zone, {zones}; give the zone there only"
        )
    return rule


def _list(values: list[Any] | tuple[Any, ...], tz: str | None) -> Recurrence:
    instants = [value for value in values if isinstance(value, datetime)]
    rules = [recurrence(value, tz) for value in values if not isinstance(value, datetime)]
    # Also for an empty list: Instants knows what is wrong with it.
    rules += [Instants(instants)] if instants or not rules else []
    return rules[0] if len(rules) == 1 else AnyOf(rules)


def _interval(value: timedelta | float) -> str:
    return f"seconds={value}" if isinstance(value, int | float) else repr(value)
