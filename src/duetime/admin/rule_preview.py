"""Rules that people give, and their next ticks before a job is made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Any

from duetime.errors import InvalidRecurrence
from duetime.model.jobs.view import Job
from duetime.model.recurrence.base import BEGINNING, END, Recurrence
from duetime.model.recurrence.cron import Cron
from duetime.model.recurrence.parse import to_recurrence
from duetime.model.recurrence.preview_notes import clock_change_note
from duetime.model.recurrence.serialize import from_text
from duetime.model.recurrence.within import Within
from duetime.words.phrase import Phrase

MAX_RECURRENCE_LENGTH = 1000
MAX_PREVIEW_SECONDS = 0.1
# The part of a search's bound that one step may take.
PREVIEW_SHARE = 100


@dataclass(frozen=True, slots=True)
class NotedTick:
    """A tick, and what a clock change made of it, or of those before it."""

    at: datetime
    note: Phrase | None


def to_rule(given: str | dict[str, Any], tz: str | None) -> Recurrence:
    text = given if isinstance(given, str) else json.dumps(given)
    if len(text) > MAX_RECURRENCE_LENGTH:
        remedy = f"it has {len(text)} characters, {MAX_RECURRENCE_LENGTH} are allowed"
        raise InvalidRecurrence("recurrence", given, remedy)
    if text.startswith("{"):
        return to_recurrence(from_text(text, tz or "UTC"), tz)
    return to_recurrence(text, tz)


def within_span(rule: Recurrence, job: Job) -> Recurrence:
    """Return a rule without the ticks before the job starts and after it ends."""
    if job.starts_at is None and job.ends_at is None:
        return rule
    return Within(rule, job.starts_at or BEGINNING, job.ends_at or END)


def next_ticks(rule: Recurrence, after: datetime, count: int) -> Iterator[datetime]:
    """Yield the next ticks, as many as are found in the time that a preview may take. Nothing else
    is done meanwhile, so a search among very many excluded ticks is taken in small steps."""
    started, wake = perf_counter(), rule.wake(after, PREVIEW_SHARE)
    while wake is not None and count and perf_counter() - started < MAX_PREVIEW_SECONDS:
        if wake in rule:
            yield wake
            count -= 1
        wake = rule.wake(wake, PREVIEW_SHARE)


def noted_tick(rule: Recurrence, tick: datetime) -> NotedTick:
    return NotedTick(tick, clock_change_note(rule, tick) if isinstance(rule, Cron) else None)
