"""Convert what callers give as a recurrence into a rule."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from duetime.errors import InvalidRecurrence
from duetime.model.recurrence.base import AnyOf, Recurrence
from duetime.model.recurrence.cron import Cron
from duetime.model.recurrence.instants import Instants
from duetime.words.phrase import phrase


def to_recurrence(value: object, tz: str | None = None) -> Recurrence:
    """Return the rule of a cron string, a rule, or a list of instants, rules and cron strings.

    `tz` is the zone of cron strings, by default UTC; a Cron has its own zone. Raises
    InvalidRecurrence for any other value.
    """
    match value:
        case str():
            return Cron(value, tz or "UTC")
        case Recurrence():
            return _checked_zone(value, tz)
        case list() | tuple():
            return _list(value, tz)
        case timedelta() | int() | float():
            remedy = phrase("an interval is written Every({length})", length=_interval(value))
        case date():
            remedy = phrase("a single instant is written [datetime(...)], with a zone")
        case _:
            remedy = phrase(
                "give a cron string, Cron(...), Every(...), or a list of instants or rules"
            )
    raise InvalidRecurrence("recurrence", value, remedy)


def _checked_zone(rule: Recurrence, tz: str | None) -> Recurrence:
    """Refuse a `tz` that differs from the rule's zone: a Cron without tz= is in UTC, and would
    run at the wrong time of day."""
    if tz is not None and rule.zones - {tz}:
        zones = ", ".join(sorted(rule.zones))
        remedy = phrase("the rule has its own zone, {zones}; give the zone there only", zones=zones)
        raise InvalidRecurrence("tz", tz, remedy)
    return rule


def _list(values: list[Any] | tuple[Any, ...], tz: str | None) -> Recurrence:
    instants = [value for value in values if isinstance(value, datetime)]
    rules = [to_recurrence(value, tz) for value in values if not isinstance(value, datetime)]
    # Instants also refuses an empty list.
    rules += [Instants(instants)] if instants or not rules else []
    return rules[0] if len(rules) == 1 else AnyOf(rules)


def _interval(value: timedelta | float) -> str:
    return f"seconds={value}" if isinstance(value, int | float) else repr(value)
