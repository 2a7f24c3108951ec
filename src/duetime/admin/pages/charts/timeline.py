"""The timeline: what ran, what is scheduled and the coming ticks of jobs, on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from itertools import groupby

from markupsafe import Markup

from duetime.admin.pages.charts.axis import time_axis
from duetime.admin.pages.charts.glyphs import glyph
from duetime.admin.pages.charts.scales import MINUTE, TimeScale, drawable
from duetime.admin.pages.charts.svg import (
    chart,
    element,
    fitting,
    line,
    number,
    part,
    rect,
    text,
    width_of,
)
from duetime.admin.pages.charts.timeline_marks import (
    ActionPath,
    JobPath,
    MarkWords,
    TimelineMark,
    run_marks,
    scheduled_marks,
    tick_marks,
)
from duetime.admin.pages.formats.instants import clock_time
from duetime.admin.pages.formats.numbers import compact, whole
from duetime.admin.pages.formats.phrases import AND_MORE, LABELLED, NOW, Wording
from duetime.admin.pages.languages import Language
from duetime.model.timeline import Timeline

WIDTH, HEIGHT = 960, 176
LEFT, RIGHT, TOP = 88.0, 952.0, 24.0
ROW_HEIGHT, MARK_SIZE = 40.0, 14.0
BASE = TOP + 3 * ROW_HEIGHT
LABEL_Y = BASE + 20
# Places for one count each. Three or more marks of one place are folded into their count, which is
# narrower than the place.
PLACES = 24
MAX_APART = 2
# Runs that are longer than such a place are drawn apart from it, unless there are many.
MAX_LONG = 24
# Of what is folded, so many are named.
MAX_NAMED = 10
# What a count has a glyph for, the most urgent first.
URGENT = ("failed", "lost", "late")

ROWS = (
    (Wording("Runs", "Exécutions"), run_marks),
    (Wording("Scheduled", "Planifiées"), scheduled_marks),
    (Wording("Ticks", "Échéances"), tick_marks),
)


def timeline_chart(
    timeline: Timeline,
    label: str,
    zone: tzinfo,
    language: Language,
    *,
    action_path: ActionPath | None = None,
    job_path: JobPath | None = None,
) -> Markup:
    """Return three rows over one axis, and a line at the store's time.

    Three or more marks of a minute, or of what is as narrow as their count, are folded into it.
    """
    words = MarkWords(zone, language, action_path, job_path)
    scale = TimeScale(drawable(timeline.start), drawable(timeline.end), LEFT, RIGHT - LEFT)
    rows = [(name.to(language), _inside(scale, marks(timeline))) for name, marks in ROWS]
    content = [*_now(timeline, scale, zone, language)]
    for index, (name, marks) in enumerate(rows):
        y = TOP + (index + 0.5) * ROW_HEIGHT
        content += [*_row_line(name, y), *_row(name, marks, y, scale, words)]
    content += time_axis(scale, BASE, LABEL_Y, zone, language)
    totals = ", ".join(_total(name, marks, language) for name, marks in rows)
    said = LABELLED.to(language, label=label, text=totals)
    return chart("timeline", WIDTH, HEIGHT, said, *content, interactive=any(m for _, m in rows))


def _inside(scale: TimeScale, marks: Sequence[TimelineMark]) -> list[TimelineMark]:
    return [mark for mark in marks if mark.end >= scale.start and mark.at <= scale.end]


def _total(name: str, marks: Sequence[TimelineMark], language: Language) -> str:
    return LABELLED.to(language, label=name, text=whole(len(marks), language))


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
        half = width_of(words) / 2
        yield line(x, TOP - 4, x, BASE, "now")
        yield text(min(max(x, LEFT + half), RIGHT - half), TOP - 9, words, "strong", "middle")


def _row_line(name: str, y: float) -> Iterator[Markup]:
    yield text(LEFT - 10, y + 4, fitting(name, LEFT - 10), None, "end")
    yield line(LEFT, y, RIGHT, y, "grid")


def _row(
    name: str, marks: Sequence[TimelineMark], y: float, scale: TimeScale, words: MarkWords
) -> Iterator[Markup]:
    width = max(MINUTE, -(-(scale.end - scale.start) // PLACES))
    # What lies in a part of a place, at an end of the axis, is shown in the whole one beside it.
    first = -(-scale.start // width)
    last = max(scale.end // width - 1, first)
    long = [mark for mark in marks if mark.end - mark.at > width]
    if len(long) <= MAX_LONG:
        yield from (_mark(mark, y, scale, words) for mark in long)
        marks = [mark for mark in marks if mark.end - mark.at <= width]
    for place, group in groupby(marks, key=lambda mark: min(max(mark.at // width, first), last)):
        near = list(group)
        if len(near) > MAX_APART:
            yield _folded(name, near, scale.place(place * width + width // 2), y, words)
        else:
            yield from (_mark(mark, y, scale, words) for mark in near)


def _mark(mark: TimelineMark, y: float, scale: TimeScale, words: MarkWords) -> Markup:
    left, right = scale.place(mark.at), scale.place(mark.end)
    half = MARK_SIZE / 2
    if right - left > MARK_SIZE:
        bar = rect(left, y - half, right - left, MARK_SIZE, f"{mark.name} bar", 3)
        shapes = [bar, glyph(mark.name, left + half, y)]
    else:
        shapes = [_point(mark.name, min(max((left + right) / 2, LEFT + half), RIGHT - half), y)]
    return part(words.label(mark), *shapes, href=words.href(mark))


def _point(name: str, x: float, y: float) -> Markup:
    if name != "tick":
        return glyph(name, x, y)
    diamond = f"M{number(x - 5)} {number(y)}l5-5 5 5-5 5z"
    return element("path", d=diamond, class_="tick")


def _folded(
    name: str, marks: Sequence[TimelineMark], x: float, y: float, words: MarkWords
) -> Markup:
    """Return a count, under a glyph if one of them failed, was lost or is late."""
    names = [words.short_label(mark) for mark in marks[:MAX_NAMED]]
    if len(marks) > MAX_NAMED:
        more = whole(len(marks) - MAX_NAMED, words.language)
        names.append(AND_MORE.to(words.language, count=more))
    count = compact(len(marks))
    half = pill_width(count) / 2
    x = min(max(x, LEFT + half), RIGHT - half)
    shapes = [
        rect(x - half, y - 8, 2 * half, 16, "count", 8),
        text(x, y + 4, count, "small", "middle"),
    ]
    found = {mark.name for mark in marks}
    shapes += [glyph(urgent, x, y - 14) for urgent in URGENT if urgent in found][:1]
    total = f"{_total(name, marks, words.language)}, {words.instant(marks[0])}"
    return part("\n".join([total, *names]), *shapes)


def pill_width(count: str) -> float:
    return max(width_of(count) + 6, 20)
