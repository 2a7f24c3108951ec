"""Rules as stored texts: equal rules have equal texts, and are read back as equal rules.

A Cron is written as its expression, with the zone stored beside it. All other rules are JSON, with
zones inside.
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
    """Return `0 2 * * *`, or JSON; store `rule.tz` beside it."""
    if isinstance(rule, Cron):
        return rule.expr
    return json.dumps(_to_json(rule), separators=(",", ":"))


def from_text(text: str, tz: str) -> Recurrence:
    """Return the rule of a text that `to_text` wrote, with the zone stored beside it."""
    if not text.startswith("{"):
        return Cron(text, tz)
    try:
        return _from_json(json.loads(text))
    except DuetimeError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidRecurrence(
            "recurrence", text, f"duetime did not write it ({type(error).__name__}: {error})"
        ) from error


def _to_json(rule: Recurrence) -> dict[str, Any]:
    match rule:
        case Cron():
            return {"cron": rule.expr, "tz": rule.tz}
        case Every():
            anchor = {} if rule.anchor == EPOCH else {"anchor": rule.anchor.isoformat()}
            return {"every": _seconds(rule.interval), **anchor}
        case Instants():
            return {"instants": [tick.isoformat() for tick in rule.ticks]}
        case AnyOf():
            return {"any_of": [_to_json(member) for member in rule.rules]}
        case Without():
            return {"rule": _to_json(rule.rule), "without": _exclusions_to_json(rule.excluded)}
        case _:
            raise InvalidRecurrence(
                "recurrence", rule, f"a {type(rule).__name__} cannot be stored; use duetime's rules"
            )


def _exclusions_to_json(excluded: Exclusions) -> dict[str, Any]:
    parts = {
        "dates": [day.isoformat() for day in sorted(excluded.dates)],
        "instants": [moment.isoformat() for moment in sorted(excluded.instants)],
        "rules": [_to_json(rule) for rule in excluded.rules],
    }
    return {name: values for name, values in parts.items() if values}


def _seconds(interval: timedelta) -> int | float:
    """Return whole seconds as an int, else a float, which keeps microseconds up to 1000 years."""
    whole, rest = divmod(interval, timedelta(seconds=1))
    return whole + rest / timedelta(seconds=1) if rest else whole


def _from_json(data: Any) -> Recurrence:
    match data:
        case {"cron": expr, "tz": tz, **rest} if not rest:
            return Cron(expr, tz)
        case {"every": seconds, **rest} if not rest.keys() - {"anchor"}:
            interval = micros_of(seconds) * MICROSECOND
            return Every(interval, anchor=_instant(rest["anchor"]) if rest else EPOCH)
        case {"instants": [*ticks], **rest} if not rest:
            return Instants(_instant(tick) for tick in ticks)
        case {"any_of": [_, *_] as rules, **rest} if not rest:
            return AnyOf(_from_json(rule) for rule in rules)
        case {"rule": rule, "without": excluded, **rest} if not rest:
            return Without(_from_json(rule), _exclusions_from_json(**excluded))
    raise ValueError("no such rule")


def _exclusions_from_json(
    dates: list[str] | None = None,
    instants: list[str] | None = None,
    rules: list[Any] | None = None,
) -> Exclusions:
    return Exclusions(
        frozenset(date.fromisoformat(day) for day in dates or ()),
        frozenset(_instant(moment) for moment in instants or ()),
        tuple(_from_json(rule) for rule in rules or ()),
    )


def _instant(text: Any) -> datetime:
    return datetime.fromisoformat(text)
