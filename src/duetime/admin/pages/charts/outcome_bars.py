"""Stacked bars: how many runs ended in each minute, by outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from markupsafe import Markup

from duetime.admin.pages.charts.axis import time_axis
from duetime.admin.pages.charts.glyphs import bare_glyph, glyph
from duetime.admin.pages.charts.scales import MINUTE, TimeScale, chunks, drawable, round_top
from duetime.admin.pages.charts.svg import chart, line, rect, text, titled, width_of
from duetime.admin.pages.formats.instants import exact
from duetime.admin.pages.formats.numbers import compact, counted, whole
from duetime.admin.pages.formats.phrases import (
    LABELLED,
    NOTHING_YET,
    OTHER,
    OUTCOMES,
    RUNS,
    agreeing,
)
from duetime.admin.pages.languages import Language
from duetime.model.clock import from_micros
from duetime.model.state import Outcome

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BASE = 44.0, 712.0, 36.0, 180.0
MARKER_Y, LABEL_Y = 190.0, 214.0
MAX_COLUMNS = 96
# A bar that has any runs is as high as this.
MIN_HEIGHT = 2.0
# From one bar to the next, where there are few.
MAX_PITCH = 24.0
# From the glyph of a legend's entry to its word, and from there to the next entry, if it fits.
WORD_INDENT, ENTRY_GAP = 16.0, 14.0
# From the base up: failures share a base line, so that they can be compared.
STACK = ("failed", "lost", "retried", "cancelled", "other", "succeeded")
LEGEND = ("succeeded", "failed", "lost", "retried", "cancelled", "other")
# What needs somebody's eye even if it is one of thousands.
MARKED = ("failed", "lost")
MAX_COUNT = 10**15


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """How many runs ended with each outcome, from `at` on until the next of these."""

    at: datetime
    counts: Mapping[Outcome, int]


@dataclass(frozen=True, slots=True)
class BarColumn:
    """The counts of one bar, by the name in the legend."""

    start: int
    counts: Counter[str]
    total: int


def outcome_bars(
    steps: Sequence[OutcomeCounts], label: str, zone: tzinfo, language: Language
) -> Markup:
    """Return a bar for each step, from the oldest on; of more than 96, neighbours are added up.
    Failures and losses have a cross beneath their bar, however few they are."""
    columns = [_column(steps[each.start : each.stop]) for each in chunks(len(steps), MAX_COLUMNS)]
    totals: Counter[str] = Counter()
    for column in columns:
        totals.update(column.counts)
    top = round_top(max([column.total for column in columns], default=0))
    content = [*_grid(top), *_legend(totals, language), *_bars(columns, top, zone, language)]
    content += _time_axis(columns, zone, language)
    words = LABELLED.to(language, label=label, text=_summary(totals, language))
    return chart("bars", WIDTH, HEIGHT, words, *content)


def _column(steps: Sequence[OutcomeCounts]) -> BarColumn:
    counts: Counter[str] = Counter()
    for step in steps:
        for outcome, count in step.counts.items():
            name = outcome.value if outcome.value in STACK else "other"
            counts[name] += min(max(count, 0), MAX_COUNT)
    return BarColumn(drawable(steps[0].at), counts, sum(counts.values()))


def _summary(totals: Counter[str], language: Language) -> str:
    parts = [
        f"{_word(name, totals[name], language)} {whole(totals[name], language)}"
        for name in _used(totals)
    ]
    return ", ".join(parts) or NOTHING_YET.to(language)


def _word(name: str, count: int, language: Language) -> str:
    phrase = OTHER if name == "other" else OUTCOMES[Outcome(name)]
    return agreeing(phrase, count, language)


def _used(totals: Counter[str]) -> list[str]:
    return [name for name in LEGEND if totals[name]]


def _grid(top: float) -> Iterator[Markup]:
    for part in (0, 0.5, 1):
        y = BASE - part * (BASE - TOP)
        yield line(LEFT, y, RIGHT, y, "grid" if part else "axis")
        yield text(LEFT - 6, y + 4, compact(round(top * part)), anchor="end")


def _legend(totals: Counter[str], language: Language) -> Iterator[Markup]:
    if not totals.total():
        yield text(
            (LEFT + RIGHT) / 2, (TOP + BASE) / 2 + 4, NOTHING_YET.to(language), None, "middle"
        )
    entries = _entries(totals, language)
    gap = min((WIDTH - LEFT - _width(entries)) / max(len(entries), 1), ENTRY_GAP)
    x = LEFT
    for name, words in entries.items():
        yield glyph(name, x + 6, 12)
        yield text(x + WORD_INDENT, 16, words)
        x += WORD_INDENT + width_of(words) + gap


def _entries(totals: Counter[str], language: Language) -> dict[str, str]:
    """Return the words of the legend, with exact counts if there is room for them."""
    used = _used(totals)
    entries = {
        name: f"{_word(name, totals[name], language)} {whole(totals[name], language)}"
        for name in used
    }
    if _width(entries) + ENTRY_GAP * len(entries) <= WIDTH - LEFT:
        return entries
    return {name: f"{_word(name, totals[name], language)} {compact(totals[name])}" for name in used}


def _width(entries: Mapping[str, str]) -> float:
    return sum(WORD_INDENT + width_of(words) for words in entries.values())


def _bars(
    columns: Sequence[BarColumn], top: float, zone: tzinfo, language: Language
) -> Iterator[Markup]:
    pitch = _pitch(columns)
    for index, column in enumerate(columns):
        if not column.total:
            continue
        left = LEFT + index * pitch
        width = max(pitch - 2, pitch * 0.7)
        marks = [*_stack(column, left + (pitch - width) / 2, width, top)]
        if any(column.counts[name] for name in MARKED):
            marks.append(bare_glyph("failed", left + pitch / 2, MARKER_Y))
        at = exact(from_micros(column.start), zone, language)
        runs = counted(column.total, RUNS[language], language)
        yield titled(f"{at}\n{runs}, {_summary(column.counts, language)}", *marks)


def _pitch(columns: Sequence[BarColumn]) -> float:
    return min((RIGHT - LEFT) / max(len(columns), 1), MAX_PITCH)


def _stack(column: BarColumn, left: float, width: float, top: float) -> Iterator[Markup]:
    scale = (BASE - TOP) / top
    used = [name for name in STACK if column.counts[name]]
    heights = [max(column.counts[name] * scale, MIN_HEIGHT) for name in used]
    # What the least heights added is taken from the whole.
    shrink = min((BASE - TOP) / sum(heights), 1.0)
    y = BASE
    for name, height in zip(used, heights, strict=True):
        y -= height * shrink
        hollow = name in ("cancelled", "lost", "retried") and height > MIN_HEIGHT * 2
        inset = 0.5 if hollow else 0
        size = height * shrink - 2 * inset
        style = f"{name} {'hollow' if hollow else 'full'}"
        yield rect(left + inset, y + inset, width - 2 * inset, max(size, 0.5), style)


def _time_axis(columns: Sequence[BarColumn], zone: tzinfo, language: Language) -> Iterator[Markup]:
    """Write the times of the bars, which have one width, since their steps have one length."""
    if columns:
        start, last = columns[0].start, columns[-1].start
        length = (last - start) // max(len(columns) - 1, 1) * len(columns)
        scale = TimeScale(start, start + length, LEFT, _pitch(columns) * len(columns))
        yield from time_axis(scale, BASE, LABEL_Y, zone, language, least=MINUTE)
