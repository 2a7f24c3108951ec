"""A strip of recent outcomes, the newest at the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from markupsafe import Markup

from duetime.admin.pages.charts.glyphs import FULL, cell_glyph
from duetime.admin.pages.charts.svg import chart, line, part, rect, titled
from duetime.admin.pages.formats.durations import duration
from duetime.admin.pages.formats.instants import exact
from duetime.admin.pages.formats.numbers import counted
from duetime.admin.pages.formats.phrases import LABELLED, NOTHING_YET, OUTCOMES, RUNS, agreeing
from duetime.admin.pages.languages import Language
from duetime.model.state import Outcome

MAX_CELLS = 30
PITCH, CELL, HEIGHT = 15, 13, 22


@dataclass(frozen=True, slots=True, kw_only=True)
class StripOutcome:
    """How a run ended, when, and how long it took, if anybody measured it."""

    outcome: Outcome
    at: datetime
    took: timedelta | None = None
    href: str | None = None


def outcome_strip(
    outcomes: Sequence[StripOutcome],
    label: str,
    zone: tzinfo,
    language: Language,
    *,
    focusable: bool = True,
    room: int = MAX_CELLS,
) -> Markup:
    """Return a cell for each of the last outcomes, given from the oldest to the newest, as many as
    there is room for. Cells take the focus unless they would be too many on one page, as in a
    table of jobs."""
    shown = outcomes[-room:]
    empty = room - len(shown)
    cells = [
        _cell(outcome, (empty + index) * PITCH, zone, language, focusable=focusable)
        for index, outcome in enumerate(shown)
    ]
    words = LABELLED.to(language, label=label, text=_summary(shown, language))
    focus = focusable and bool(cells)
    kind = "strip" if room == MAX_CELLS else "strip short"
    parts = (_placeholders(empty), *cells)
    return chart(kind, room * PITCH, HEIGHT, words, *parts, interactive=focus)


def _summary(shown: Sequence[StripOutcome], language: Language) -> str:
    """Return what is worth saying of all of them: how many did not succeed, and the newest."""
    if not shown:
        return NOTHING_YET.to(language)
    counts = {kind: sum(each.outcome is kind for each in shown) for kind in Outcome}
    parts = [
        f"{agreeing(OUTCOMES[kind], count, language)} {count}"
        for kind, count in counts.items()
        if count
    ]
    return f"{counted(len(shown), RUNS[language], language)}, {', '.join(parts)}"


def _placeholders(empty: int) -> Markup:
    """Return a line where cells will be, so that a short history does not look like a long one."""
    if not empty:
        return Markup()
    return line(0, HEIGHT / 2, empty * PITCH - (PITCH - CELL), HEIGHT / 2, "grid dotted")


def _cell(
    outcome: StripOutcome, x: float, zone: tzinfo, language: Language, *, focusable: bool
) -> Markup:
    words = [OUTCOMES[outcome.outcome].to(language)]
    if outcome.took is not None:
        words.append(duration(outcome.took.total_seconds(), language))
    words.append(exact(outcome.at, zone, language))
    name = outcome.outcome.value
    marks = (
        rect(x, 0.5, CELL, HEIGHT - 1, f"{name} {'full' if name in FULL else 'hollow'}", 2),
        # Successes are quiet: a glyph is where something else happened.
        *([] if name == "succeeded" else [cell_glyph(name, x + CELL / 2, HEIGHT / 2)]),
    )
    label = ", ".join(words)
    return part(label, *marks, href=outcome.href) if focusable else titled(label, *marks)
