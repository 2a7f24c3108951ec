"""The filters of templates: numbers, durations and instants as the reader of a message writes
them."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import NamedTuple

from jinja2 import pass_context
from jinja2.runtime import Context

from duetime.model.clock import from_micros
from duetime.words.habits import Habits, duration_text, exact_instant, whole_number

# The name by which templates are given the formats of their reader.
FORMATS = "formats"


class ReaderFormats(NamedTuple):
    """How the reader of a message writes, and whose clocks are meant."""

    habits: Habits
    zone: tzinfo


@pass_context
def number(context: Context, value: float | None) -> str:
    return "" if value is None else whole_number(round(value), _formats(context).habits)


@pass_context
def duration(context: Context, seconds: float | None) -> str:
    return "" if seconds is None else duration_text(seconds, _formats(context).habits)


@pass_context
def instant(context: Context, value: datetime | str | int | None) -> str:
    """Say an instant, which data may have in ISO 8601 or in microseconds."""
    if value is None:
        return ""
    habits, zone = _formats(context)
    local = _to_instant(value).astimezone(zone)
    return exact_instant(local.replace(microsecond=0), habits)


FILTERS = {"number": number, "duration": duration, "instant": instant}


def _to_instant(value: datetime | str | int) -> datetime:
    if isinstance(value, datetime):
        return value
    return datetime.fromisoformat(value) if isinstance(value, str) else from_micros(value)


def _formats(context: Context) -> ReaderFormats:
    formats: ReaderFormats = context[FORMATS]
    return formats
