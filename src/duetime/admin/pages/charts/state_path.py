"""The path of an action: the states it was in, with their instants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from markupsafe import Markup

from duetime.admin.pages.charts.glyphs import glyph
from duetime.admin.pages.charts.svg import chart, element, fitting, line, text, titled
from duetime.admin.pages.formats.instants import exact, short
from duetime.admin.pages.formats.numbers import whole
from duetime.admin.pages.formats.phrases import AND_MORE, LABELLED, NOTHING_YET, STATES, Wording
from duetime.admin.pages.languages import Language
from duetime.model.state import State

WIDTH, HEIGHT = 720, 72
MAX_STEPS = 5
SLOT = WIDTH / MAX_STEPS
LINE_Y, WORD_Y, INSTANT_Y = 16.0, 42.0, 60.0
# Of a longer path, the first steps and the last ones are shown.
FIRST_STEPS, LAST_STEPS = 2, 2
EXPECTED = Wording("expected", "prévue")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """A state that an action entered at an instant, or will at the earliest if it is `expected`."""

    state: State
    at: datetime | None
    expected: bool = False


def state_path(
    steps: Sequence[PathStep], now: datetime, label: str, zone: tzinfo, language: Language
) -> Markup:
    """Return the states from the first on, joined by a line; dotted before what is expected."""
    shown, left_out = _shown(steps)
    content = [*_joints(shown)]
    for index, step in enumerate(shown):
        x = (index + 0.5) * SLOT
        current = step is not None and step is _current(steps)
        if step is None:
            content += _ellipsis(x, left_out, language)
        else:
            content.append(_step(step, x, now, zone, language, current=current))
    if not steps:
        content.append(text(WIDTH / 2, WORD_Y, NOTHING_YET.to(language), None, "middle"))
    words = ", ".join(_words(step, zone, language) for step in shown if step is not None)
    words = LABELLED.to(language, label=label, text=words or NOTHING_YET.to(language))
    return chart("path", WIDTH, HEIGHT, words, *content)


def _shown(steps: Sequence[PathStep]) -> tuple[list[PathStep | None], int]:
    """Return what has room, with None in place of others, and how many those are."""
    if len(steps) <= MAX_STEPS:
        return [*steps], 0
    left_out = len(steps) - FIRST_STEPS - LAST_STEPS
    return [*steps[:FIRST_STEPS], None, *steps[-LAST_STEPS:]], left_out


def _current(steps: Sequence[PathStep]) -> PathStep | None:
    return next((step for step in reversed(steps) if not step.expected), None)


def _joints(shown: Sequence[PathStep | None]) -> Iterator[Markup]:
    for index, step in enumerate(shown[1:], start=1):
        dotted = step is None or step.expected or shown[index - 1] is None
        left, right = (index - 0.5) * SLOT + 12, (index + 0.5) * SLOT - 12
        yield line(left, LINE_Y, right, LINE_Y, "joint dotted" if dotted else "joint")


def _ellipsis(x: float, left_out: int, language: Language) -> Iterator[Markup]:
    yield text(x, LINE_Y + 4, "…", "strong", "middle")
    words = AND_MORE.to(language, count=whole(left_out, language))
    yield text(x, WORD_Y, fitting(words, SLOT), None, "middle")


def _step(
    step: PathStep, x: float, now: datetime, zone: tzinfo, language: Language, *, current: bool
) -> Markup:
    marks = [glyph(step.state.value, x, LINE_Y)]
    if current:
        ring = element("circle", cx=x, cy=LINE_Y, r=9.5, class_=f"{step.state.value} ring")
        marks.insert(0, ring)
    word = STATES[step.state].to(language)
    marks.append(text(x, WORD_Y, word, "strong" if current else None, "middle"))
    instant = EXPECTED.to(language) if step.expected else ""
    if step.at is not None:
        instant = short(step.at, now, zone, language)
    marks.append(text(x, INSTANT_Y, fitting(instant, SLOT), None, "middle"))
    class_ = "expected" if step.expected else None
    return titled(_words(step, zone, language), *marks, class_=class_)


def _words(step: PathStep, zone: tzinfo, language: Language) -> str:
    parts = [STATES[step.state].to(language)]
    if step.expected:
        parts.append(EXPECTED.to(language))
    if step.at is not None:
        parts.append(exact(step.at, zone, language))
    return " ".join(parts)
