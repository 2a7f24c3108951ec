"""What a timeline draws: its runs, what is scheduled, and the ticks to come, as marks on an axis.

A timeline may have thousands of them, of which few are named: words are made when they are asked
for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import tzinfo
from typing import NamedTuple
from uuid import UUID

from duetime.admin.pages.charts.scales import drawable
from duetime.admin.pages.formats.durations import duration
from duetime.admin.pages.formats.instants import clock_time, exact
from duetime.admin.pages.formats.phrases import LATE, OUTCOMES, STATES, Wording
from duetime.admin.pages.languages import Language
from duetime.model.clock import SECOND, from_micros
from duetime.model.state import State
from duetime.model.timeline import ComingTicks, Timeline, TimelineAction

TICK = Wording("tick", "échéance")

ActionPath = Callable[[UUID], str]
JobPath = Callable[[str], str]


class TimelineMark(NamedTuple):
    """What is drawn at an instant, or until `end`, by the name of its glyph."""

    at: int
    end: int
    name: str
    subject: TimelineAction | ComingTicks


def run_marks(timeline: Timeline) -> list[TimelineMark]:
    """Return what has ended, and what runs, in the order of time."""
    now = drawable(timeline.at)
    running = (each for each in timeline.scheduled if each.state is State.running)
    return _in_order(
        [*(_ended(each, now) for each in timeline.ran), *(_running(each, now) for each in running)]
    )


def scheduled_marks(timeline: Timeline) -> list[TimelineMark]:
    now = drawable(timeline.at)
    waiting = (each for each in timeline.scheduled if each.state is not State.running)
    return _in_order(_waiting(each, now) for each in waiting)


def tick_marks(timeline: Timeline) -> list[TimelineMark]:
    return _in_order(
        TimelineMark(at, at, "tick", coming)
        for coming in timeline.ticks
        for at in map(drawable, coming.ticks)
    )


@dataclass(frozen=True, slots=True)
class MarkWords:
    """Names marks, and says where they lead."""

    zone: tzinfo
    language: Language
    action_path: ActionPath | None
    job_path: JobPath | None

    def label(self, mark: TimelineMark) -> str:
        """`send-receipt, failed, 1.2 s, Sun 14 Jun 2026, 14:02:00 Europe/Paris (UTC+2)`."""
        return f"{self._name(mark)}, {self.instant(mark)}"

    def short_label(self, mark: TimelineMark) -> str:
        """`send-receipt, failed, 1.2 s, 14:02:00`, for where the day and zone are named."""
        at = clock_time(from_micros(mark.at), self.zone, seconds=True)
        return f"{self._name(mark)}, {at}"

    def instant(self, mark: TimelineMark) -> str:
        return exact(from_micros(mark.at), self.zone, self.language)

    def href(self, mark: TimelineMark) -> str | None:
        subject = mark.subject
        if isinstance(subject, ComingTicks):
            return self.job_path(subject.job) if self.job_path else None
        return self.action_path(subject.id) if self.action_path else None

    def _name(self, mark: TimelineMark) -> str:
        subject = mark.subject
        if isinstance(subject, ComingTicks):
            return f"{subject.job}, {TICK.to(self.language)}"
        return f"{subject.kind}, {self._word(mark, subject)}"

    def _word(self, mark: TimelineMark, action: TimelineAction) -> str:
        if mark.name == "late":
            return LATE.to(self.language)
        if action.outcome is None or not action.state.finished:
            return STATES[action.state].to(self.language)
        took = duration((mark.end - mark.at) / SECOND, self.language)
        return f"{OUTCOMES[action.outcome].to(self.language)}, {took}"


def _in_order(marks: Iterable[TimelineMark]) -> list[TimelineMark]:
    return sorted(marks, key=lambda mark: mark.at)


def _ended(action: TimelineAction, now: int) -> TimelineMark:
    ended = action.finished_at or action.started_at or action.due_at
    end = drawable(ended) if ended else now
    started = drawable(action.started_at) if action.started_at else end
    name = action.outcome.value if action.outcome else action.state.value
    return TimelineMark(min(started, end), end, name, action)


def _running(action: TimelineAction, now: int) -> TimelineMark:
    started = drawable(action.started_at) if action.started_at else now
    return TimelineMark(min(started, now), now, "running", action)


def _waiting(action: TimelineAction, now: int) -> TimelineMark:
    due = drawable(action.due_at) if action.due_at else now
    return TimelineMark(due, due, "late" if due < now else "scheduled", action)
