"""How a recurrence is written in a store: equal rules have equal texts, and come back equal.

A Cron is its expression, with the zone beside it; all others are JSON, with zones inside.
"""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from typing import Any

from duetime.errors import DuetimeError, InvalidRecurrence
from duetime.model.clock import EPOCH, MICROSECOND, micros_of
from duetime.model.recurrence.base import AnyOf, Exclusions, Recurrence, Without
from duetime.model.recurrence.cron import Cron
from duetime.model.recurrence.every import Every
from duetime.model.recurrence.instants import Instants


def to_text(rule: Recurrence) -> str:
    """`0 2 * * *`, or JSON; `rule.tz` is what belongs beside it."""
    if isinstance(rule, Cron):
        return rule.expr
    return json.dumps(_written(rule), separators=(",", ":"))


def from_text(text: str, tz: str) -> Recurrence:
    """The rule that was written so, with its zone."""
    if not text.startswith("{"):
        return Cron(text, tz)
    try:
        return _read(json.loads(text))
    except DuetimeError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidRecurrence(
            "recurrence", text, f"it was not written by duetime ({type(error).__name__}: {error})"
        ) from error


def _written(rule: Recurrence) -> dict[str, Any]:
    match rule:
        case Cron():
            return {"cron": rule.expr, "tz": rule.tz}
        case Every():
            anchor = {} if rule.anchor == EPOCH else {"anchor": rule.anchor.isoformat()}
            return {"every": _seconds(rule.interval), **anchor}
        case Instants():
            return {"instants": [tick.isoformat() for tick in rule.ticks]}
        case AnyOf():
            return {"any_of": [_written(one) for one in rule.rules]}
        case Without():
            return {"rule": _written(rule.rule), "without": _exclusions(rule.excluded)}
        case _:
            raise InvalidRecurrence(
                "recurrence", rule, f"a {type(rule).__name__} cannot be stored; use duetime's rules"
            )


def _exclusions(excluded: Exclusions) -> dict[str, Any]:
    parts = {
        "dates": [day.isoformat() for day in sorted(excluded.dates)],
        "instants": [moment.isoformat() for moment in sorted(excluded.instants)],
        "rules": [_written(rule) for rule in excluded.rules],
    }
    return {name: values for name, values in parts.items() if values}


def _seconds(interval: timedelta) -> int | float:
    """Whole seconds as people write them; microseconds survive a float for a thousand years."""
    whole, rest = divmod(interval, timedelta(seconds=1))
    return whole + rest / timedelta(seconds=1) if rest else whole


def _read(data: Any) -> Recurrence:
    match data:
        case {"cron": expr, "tz": tz, **rest} if not rest:
            return Cron(expr, tz)
        case {"every": seconds, **rest} if not rest.keys() - {"anchor"}:
            interval = micros_of(seconds) * MICROSECOND
            return Every(interval, anchor=_instant(rest["anchor"]) if rest else EPOCH)
        case {"instants": [*ticks], **rest} if not rest:
            return Instants(_instant(tick) for tick in ticks)
        case {"any_of": [_, *_] as rules, **rest} if not rest:
            return AnyOf(_read(rule) for rule in rules)
        case {"rule": rule, "without": excluded, **rest} if not rest:
            return Without(_read(rule), _read_exclusions(**excluded))
    raise ValueError("no such rule")


def _read_exclusions(
    dates: list[str] | None = None,
    instants: list[str] | None = None,
    rules: list[Any] | None = None,
) -> Exclusions:
    return Exclusions(
        frozenset(date.fromisoformat(day) for day in dates or ()),
        frozenset(_instant(moment) for moment in instants or ()),
        tuple(_read(rule) for rule in rules or ()),
    )


def _instant(text: Any) -> datetime:
    return datetime.fromisoformat(text)
