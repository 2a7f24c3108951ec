"""What the clocks of a zone do around a tick, in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from duetime.model.clock import EPOCH
from duetime.model.recurrence.cron import Cron
from duetime.model.recurrence.zone import DAY, zone


def clock_note(rule: Cron, tick: datetime) -> str | None:
    """Why a tick stands where it does, if the clocks change there."""
    second = (tick - EPOCH) // timedelta(seconds=1)
    return _gap(rule, second) or _second_pass(rule, second) or _first_pass(rule, second)


def _gap(rule: Cron, tick: int) -> str | None:
    span = zone(rule.tz).span(tick)
    end = span.start + span.offset
    if tick != span.start or not rule.falls_between(span.reached, end):
        return None
    return f"first instant after the gap {_clock(span.reached, end)}-{_clock(end, span.reached)}"


def _second_pass(rule: Cron, tick: int) -> str | None:
    span = zone(rule.tz).span(tick)
    if tick + span.offset >= span.reached:
        return None
    return f"second pass: the clocks went back from {_clock(span.reached, tick + span.offset)}"


def _first_pass(rule: Cron, tick: int) -> str | None:
    span = zone(rule.tz).span(tick)
    following = zone(rule.tz).span(span.end)
    back = following.start + following.offset
    if not back <= tick + span.offset < following.reached:
        return None
    change = f"{_clock(following.reached, back)} to {_clock(back, following.reached)}"
    again = "" if rule.interval else ", and it does not run again"
    return f"first pass: the clocks go back from {change}{again}"


def _clock(local: int, other: int) -> str:
    """The time, with its date where the other one has another date."""
    shown = datetime.fromtimestamp(local, UTC)
    form = "%H:%M:%S" if local % 60 else "%H:%M"
    return shown.strftime(form if local // DAY == other // DAY else f"%Y-%m-%d {form}")
