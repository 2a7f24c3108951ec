"""Ticks of a rule, as lines of text and as JSON items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from duetime.cli.times import iso
from duetime.model.recurrence.base import Recurrence
from duetime.model.recurrence.cron import Cron
from duetime.model.recurrence.preview_notes import clock_change_note


def tick_lines(rule: Recurrence, ticks: Sequence[datetime]) -> Iterator[str]:
    """Lines of text, since a rich table would wrap the notes in a narrow window."""
    yield f"{'local':<30}{'UTC':<22}note"
    for tick in ticks:
        local = f"{tick.astimezone(ZoneInfo(rule.tz)):%a %Y-%m-%d %H:%M:%S %Z}"
        yield f"{local:<30}{iso(tick):<22}{_note(rule, tick) or ''}".rstrip()


def tick_items(rule: Recurrence, ticks: Sequence[datetime]) -> list[dict[str, Any]]:
    return [
        {
            "tick": iso(tick),
            "local": tick.astimezone(ZoneInfo(rule.tz)).isoformat(),
            "note": _note(rule, tick),
        }
        for tick in ticks
    ]


def _note(rule: Recurrence, tick: datetime) -> str | None:
    """The note on a clock change; only Cron rules follow local clocks."""
    return clock_change_note(rule, tick) if isinstance(rule, Cron) else None
