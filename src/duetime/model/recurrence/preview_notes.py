"""Notes on ticks near a clock change, in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from duetime.model.clock import EPOCH
from duetime.model.recurrence.base import BEGINNING
from duetime.model.recurrence.cron import Cron
from duetime.model.recurrence.zone import DAY, Span, zone
from duetime.words.phrase import Phrase, WallClock, joined, phrase

SECOND = timedelta(seconds=1)


def clock_change_note(rule: Cron, tick: datetime) -> Phrase | None:
    """Return why a tick, or none before it, lies where it does if clocks changed; else None."""
    second = (tick - EPOCH) // SECOND
    here = _moved(rule, second) or _second_pass(rule, second) or _first_pass(rule, second)
    notes = [note for note in (_swallowed(rule, tick, second), here) if note is not None]
    return joined(notes) if notes else None


def _swallowed(rule: Cron, tick: datetime, second: int) -> Phrase | None:
    """Name the newest gap since the tick before, if it swallowed ticks of an interval."""
    before = rule.latest(BEGINNING, tick - SECOND) if rule.interval else None
    if before is None:
        return None
    span = zone(rule.tz).span(second)
    local = second + span.offset
    while span.start > (before - EPOCH) // SECOND:
        if rule.matches_between(span.reached, span.begin):
            return phrase("no ticks in the gap {start}-{end}", **_ends(span, local))
        span = zone(rule.tz).span(span.start - 1)
    return None


def _moved(rule: Cron, tick: int) -> Phrase | None:
    span = zone(rule.tz).span(tick)
    fixed = tick == span.start and not rule.interval
    if not fixed or not rule.matches_between(span.reached, span.begin):
        return None
    return phrase("first instant after the gap {start}-{end}", **_ends(span, span.begin))


def _second_pass(rule: Cron, tick: int) -> Phrase | None:
    span = zone(rule.tz).span(tick)
    if tick + span.offset >= span.reached:
        return None
    back_from = _clock(span.reached, tick + span.offset)
    return phrase("second pass: the clocks went back from {start}", start=back_from)


def _first_pass(rule: Cron, tick: int) -> Phrase | None:
    span = zone(rule.tz).span(tick)
    following = zone(rule.tz).span(span.end)
    back = following.begin
    if not back <= tick + span.offset < following.reached:
        return None
    start, end = _clock(following.reached, back), _clock(back, following.reached)
    change = phrase("first pass: the clocks go back from {start} to {end}", start=start, end=end)
    return change if rule.interval else phrase("{change}, and it does not run again", change=change)


def _ends(gap: Span, local: int) -> dict[str, WallClock]:
    """Return the gap's two ends, with dates where they or the tick's local time differ in date."""
    start, end = gap.reached, gap.begin
    return {"start": _clock(start, end, local), "end": _clock(end, start)}


def _clock(local: int, *others: int) -> WallClock:
    """Return the time of day, with its date if another local time has another date."""
    same_day = all(local // DAY == other // DAY for other in others)
    return WallClock(datetime.fromtimestamp(local, UTC), dated=not same_day)
