"""Notes on ticks near a clock change, in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from duetime.model.clock import EPOCH
from duetime.model.recurrence.base import BEGINNING
from duetime.model.recurrence.cron import Cron
from duetime.model.recurrence.zone import DAY, Span, zone

SECOND = timedelta(seconds=1)


def clock_change_note(rule: Cron, tick: datetime) -> str | None:
    """Return why a tick, or none before it, lies where it does if clocks changed; else None."""
    second = (tick - EPOCH) // SECOND
    here = _moved(rule, second) or _second_pass(rule, second) or _first_pass(rule, second)
    notes = [note for note in (_swallowed(rule, tick, second), here) if note is not None]
    return "; ".join(notes) or None


def _swallowed(rule: Cron, tick: datetime, second: int) -> str | None:
    """Name the newest gap since the tick before, if it swallowed ticks of an interval."""
    before = rule.latest(BEGINNING, tick - SECOND) if rule.interval else None
    if before is None:
        return None
    span = zone(rule.tz).span(second)
    local = second + span.offset
    while span.start > (before - EPOCH) // SECOND:
        if rule.matches_between(span.reached, span.begin):
            return f"no ticks in the gap {_range(span, local)}"
        span = zone(rule.tz).span(span.start - 1)
    return None


def _moved(rule: Cron, tick: int) -> str | None:
    span = zone(rule.tz).span(tick)
    fixed = tick == span.start and not rule.interval
    if not fixed or not rule.matches_between(span.reached, span.begin):
        return None
    return f"first instant after the gap {_range(span, span.begin)}"


def _second_pass(rule: Cron, tick: int) -> str | None:
    span = zone(rule.tz).span(tick)
    if tick + span.offset >= span.reached:
        return None
    return f"second pass: the clocks went back from {_clock(span.reached, tick + span.offset)}"


def _first_pass(rule: Cron, tick: int) -> str | None:
    span = zone(rule.tz).span(tick)
    following = zone(rule.tz).span(span.end)
    back = following.begin
    if not back <= tick + span.offset < following.reached:
        return None
    change = f"{_clock(following.reached, back)} to {_clock(back, following.reached)}"
    again = "" if rule.interval else ", and it does not run again"
    return f"first pass: the clocks go back from {change}{again}"


def _range(gap: Span, local: int) -> str:
    """Return the gap's two ends, with dates where they or the tick's local time differ in date."""
    start, end = gap.reached, gap.begin
    return f"{_clock(start, end, local)}-{_clock(end, start)}"


def _clock(local: int, *others: int) -> str:
    """Return the time of day, with its date if another local time has another date."""
    shown = datetime.fromtimestamp(local, UTC)
    form = "%H:%M:%S" if local % 60 else "%H:%M"
    same_day = all(local // DAY == other // DAY for other in others)
    return shown.strftime(form if same_day else f"%Y-%m-%d {form}")
