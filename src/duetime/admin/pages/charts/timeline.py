"""The timeline: what ran, what is scheduled and the coming ticks of jobs, on one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import groupby
from uuid import UUID

from markupsafe import Markup

from duetime.admin.pages.charts.axis import time_axis
from duetime.admin.pages.charts.glyphs import glyph
from duetime.admin.pages.charts.marks import (
    chart,
    element,
    fitting,
    line,
    part,
    rect,
    text,
    width_of,
)
from duetime.admin.pages.charts.scales import MINUTE, TimeScale, drawable
from duetime.admin.pages.formats.durations import duration
from duetime.admin.pages.formats.instants import clock_time, exact
from duetime.admin.pages.formats.numbers import compact, whole
from duetime.admin.pages.formats.phrases import (
    AND_MORE,
    LABELLED,
    LATE,
    NOW,
    OUTCOMES,
    STATES,
    Phrase,
)
from duetime.admin.pages.languages import Language
from duetime.model.clock import SECOND, from_micros
from duetime.model.state import State
from duetime.model.timeline import Timeline, TimelineAction

WIDTH, HEIGHT = 960, 176
LEFT, RIGHT, TOP = 88.0, 952.0, 24.0
ROW, MARK = 40.0, 14.0
BASE = TOP + 3 * ROW
LABEL_Y = BASE + 20
# Room for one count. What is nearer to each other than this, three or more, is folded into one.
SLOTS = 40
MAX_APART = 2
# Runs that are longer than such a place are drawn apart from it, unless there are many.
MAX_LONG = 24
MAX_NAMED = 10

RUNS = Phrase("Runs", "Exécutions")
SCHEDULED = Phrase("Scheduled", "Planifiées")
TICKS = Phrase("Ticks", "Échéances")
TICK = Phrase("tick", "échéance")
SUMMARY = Phrase(
    "{runs} runs, {scheduled} scheduled, {ticks} coming ticks",
    "{runs} exécutions, {scheduled} planifiées, {ticks} échéances à venir",
)

ActionPath = Callable[[UUID], str]
JobPath = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class TimelineMark:
    """What is drawn in a row, at an instant or until `end`."""

    at: int
    end: int
    name: str
    label: str
    href: str | None


def timeline_chart(
    timeline: Timeline,
    label: str,
    zone: tzinfo,
    language: Language,
    *,
    action_path: ActionPath | None = None,
    job_path: JobPath | None = None,
) -> Markup:
    """Return three rows over one axis, and a line at the store's time. Three or more marks of a
    minute, or of what is as narrow as their count, are folded; under it their first ten are named.
    """
    marks = TimelineMarks(timeline, zone, language, action_path, job_path)
    scale = TimeScale(drawable(timeline.start), drawable(timeline.end), LEFT, RIGHT - LEFT)
    rows = [
        (RUNS, _inside(scale, marks.runs())),
        (SCHEDULED, _inside(scale, marks.scheduled())),
        (TICKS, _inside(scale, marks.ticks())),
    ]
    content = [*_now(timeline, scale, zone, language)]
    for index, (name, found) in enumerate(rows):
        content += _row(name.to(language), found, TOP + (index + 0.5) * ROW, scale, language)
    content += time_axis(scale, BASE, LABEL_Y, zone, language)
    words = _summary([len(found) for _, found in rows], language)
    words = LABELLED.to(language, label=label, text=words)
    return chart("timeline", WIDTH, HEIGHT, words, *content, interactive=any(r for _, r in rows))


@dataclass(frozen=True, slots=True)
class TimelineMarks:
    """Makes marks of the lists of a timeline, each list in the order of time."""

    timeline: Timeline
    zone: tzinfo
    language: Language
    action_path: ActionPath | None
    job_path: JobPath | None

    def runs(self) -> list[TimelineMark]:
        """What has ended, and what runs."""
        running = (each for each in self.timeline.scheduled if each.state is State.running)
        return _in_order([*map(self._ended, self.timeline.ran), *map(self._running, running)])

    def scheduled(self) -> list[TimelineMark]:
        waiting = (each for each in self.timeline.scheduled if each.state is not State.running)
        return _in_order(map(self._waiting, waiting))

    def ticks(self) -> list[TimelineMark]:
        return _in_order(
            TimelineMark(
                drawable(tick),
                drawable(tick),
                "tick",
                self._words(coming.job, TICK.to(self.language), drawable(tick)),
                self.job_path(coming.job) if self.job_path else None,
            )
            for coming in self.timeline.ticks
            for tick in coming.ticks
        )

    def _ended(self, action: TimelineAction) -> TimelineMark:
        ended = action.finished_at or action.started_at or action.due_at or self.timeline.at
        started = drawable(action.started_at or ended)
        until = drawable(ended)
        outcome = action.outcome
        word = (OUTCOMES[outcome] if outcome else STATES[action.state]).to(self.language)
        took = duration((until - started) / SECOND, self.language)
        words = self._words(action.kind, f"{word}, {took}", started)
        name = outcome.value if outcome else action.state.value
        return TimelineMark(min(started, until), until, name, words, self._href(action))

    def _running(self, action: TimelineAction) -> TimelineMark:
        now = drawable(self.timeline.at)
        at = drawable(action.started_at or self.timeline.at)
        words = self._words(action.kind, STATES[State.running].to(self.language), at)
        return TimelineMark(min(at, now), now, "running", words, self._href(action))

    def _waiting(self, action: TimelineAction) -> TimelineMark:
        now = drawable(self.timeline.at)
        at = drawable(action.due_at or self.timeline.at)
        late = at < now
        word = (LATE if late else STATES[State.scheduled]).to(self.language)
        words = self._words(action.kind, word, at)
        return TimelineMark(at, at, "late" if late else "scheduled", words, self._href(action))

    def _words(self, name: str, word: str, at: int) -> str:
        return f"{name}, {word}, {exact(from_micros(at), self.zone, self.language)}"

    def _href(self, action: TimelineAction) -> str | None:
        return self.action_path(action.id) if self.action_path else None


def _in_order(marks: Iterable[TimelineMark]) -> list[TimelineMark]:
    return sorted(marks, key=lambda mark: (mark.at, mark.label))


def _inside(scale: TimeScale, marks: Sequence[TimelineMark]) -> list[TimelineMark]:
    return [mark for mark in marks if mark.end >= scale.start and mark.at <= scale.end]


def _summary(lengths: Sequence[int], language: Language) -> str:
    runs, scheduled, ticks = (whole(length, language) for length in lengths)
    return SUMMARY.to(language, runs=runs, scheduled=scheduled, ticks=ticks)


def _now(
    timeline: Timeline, scale: TimeScale, zone: tzinfo, language: Language
) -> Iterator[Markup]:
    """Draw the past as ground, and the present as a line with its time."""
    now = drawable(timeline.at)
    x = scale.place(now)
    yield rect(LEFT, TOP, x - LEFT, BASE - TOP, "past")
    yield line(LEFT, BASE, RIGHT, BASE, "axis")
    if scale.start <= now <= scale.end:
        words = f"{NOW.to(language)} {clock_time(timeline.at, zone)}"
        yield line(x, TOP - 4, x, BASE, "now")
        half = width_of(words) / 2
        yield text(min(max(x, LEFT + half), RIGHT - half), TOP - 9, words, "strong", "middle")


def _row(
    name: str, marks: Sequence[TimelineMark], y: float, scale: TimeScale, language: Language
) -> Iterator[Markup]:
    yield text(LEFT - 10, y + 4, fitting(name, LEFT - 10), None, "end")
    yield line(LEFT, y, RIGHT, y, "grid")
    slot = max(MINUTE, -(-(scale.end - scale.start) // SLOTS))
    long = [mark for mark in marks if mark.end - mark.at > slot]
    if len(long) <= MAX_LONG:
        yield from (_mark(mark, y, scale) for mark in long)
        marks = [mark for mark in marks if mark.end - mark.at <= slot]
    for place, group in groupby(marks, key=lambda mark: max(mark.at, scale.start) // slot):
        near = list(group)
        if len(near) > MAX_APART:
            yield _folded(name, near, scale.place(place * slot + slot // 2), y, language)
        else:
            yield from (_mark(mark, y, scale) for mark in near)


def _mark(mark: TimelineMark, y: float, scale: TimeScale) -> Markup:
    x = scale.place(mark.at)
    end = scale.place(mark.end)
    if end - x <= MARK:
        middle = min(max((x + end) / 2, LEFT + MARK / 2), RIGHT - MARK / 2)
        return part(mark.label, _point(mark.name, middle, y), href=mark.href)
    bar = rect(x, y - MARK / 2, end - x, MARK, f"{mark.name} bar", 3)
    return part(mark.label, bar, glyph(mark.name, x + MARK / 2, y), href=mark.href)


def _point(name: str, x: float, y: float) -> Markup:
    if name != "tick":
        return glyph(name, x, y)
    return element(
        "rect", x=x - 4, y=y - 4, width=8, height=8, class_="tick", transform=_turned(x, y)
    )


def _turned(x: float, y: float) -> str:
    return f"rotate(45 {x:.1f} {y:.1f})"


def _folded(
    name: str, marks: Sequence[TimelineMark], x: float, y: float, language: Language
) -> Markup:
    """Return a count, and a cross above it if one of them failed."""
    named = [mark.label for mark in marks[:MAX_NAMED]]
    if len(marks) > MAX_NAMED:
        more = whole(len(marks) - MAX_NAMED, language)
        named.append(AND_MORE.to(language, count=more))
    x = min(max(x, LEFT + 11), RIGHT - 11)
    content = [
        rect(x - 11, y - 8, 22, 16, "count", 8),
        text(x, y + 4, compact(len(marks)), "small", "middle"),
    ]
    bad = next((name for name in ("failed", "lost", "late") if _has(marks, name)), None)
    if bad is not None:
        content.append(glyph(bad, x, y - 14))
    total = LABELLED.to(language, label=name, text=whole(len(marks), language))
    return part("\n".join([total, *named]), *content)


def _has(marks: Sequence[TimelineMark], name: str) -> bool:
    return any(mark.name == name for mark in marks)
