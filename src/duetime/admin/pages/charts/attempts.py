"""The attempts of one action on one axis: waiting hollow, running filled, dotted until a retry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import pairwise

from markupsafe import Markup

from duetime.admin.pages.charts.axis import time_axis
from duetime.admin.pages.charts.glyphs import glyph
from duetime.admin.pages.charts.scales import TimeScale, chunks, drawable
from duetime.admin.pages.charts.svg import chart, line, part, rect, text, width_of
from duetime.admin.pages.formats.durations import duration
from duetime.admin.pages.formats.instants import exact
from duetime.admin.pages.formats.numbers import CountedNoun, compact, counted, whole
from duetime.admin.pages.formats.phrases import (
    LABELLED,
    NOTHING_YET,
    OUTCOMES,
    STATES,
    Wording,
)
from duetime.admin.pages.languages import Language
from duetime.model.clock import SECOND, from_micros
from duetime.model.state import Outcome, State

WIDTH, HEIGHT = 720, 96
LEFT, RIGHT = 12.0, 708.0
TOP, BAR, BASE, LABEL_Y = 34.0, 24.0, 66.0, 86.0
NUMBER_Y, GLYPH_WIDTH = 16.0, 14.0
MAX_BARS = 48
# A run is seen, however short beside the pauses between attempts.
MIN_LENGTH = 3.0
# Between two numbers.
NUMBER_GAP = 14.0

WAITED = Wording("waited {time}", "attente {time}")
RAN = Wording("ran {time}", "durée {time}")
WAITS = Wording("waits since {time}", "en attente depuis {time}")
ATTEMPT = Wording("attempt {number}", "tentative {number}")
SEVERAL = Wording("attempts {first} to {last}", "tentatives {first} à {last}")
ATTEMPTS: dict[Language, CountedNoun] = {
    "en": CountedNoun("attempt", "attempts"),
    "fr": CountedNoun("tentative", "tentatives"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSpan:
    """One attempt: due at `ready_at`, started and ended since, if it has."""

    number: int
    ready_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class AttemptBar:
    """Where attempts are drawn: one of them, or neighbours of which there would be too many."""

    attempts: Sequence[AttemptSpan]
    ready: int
    started: int | None
    ended: int | None
    name: str


def attempts_chart(
    attempts: Sequence[AttemptSpan], now: datetime, label: str, zone: tzinfo, language: Language
) -> Markup:
    """Return the attempts, from the first on, up to `now` if the last has not ended. Of more than
    48, neighbours share a bar that says how many they are."""
    parts = chunks(len(attempts), MAX_BARS)
    bars = [_bar(attempts[each.start : each.stop]) for each in parts]
    words = LABELLED.to(language, label=label, text=_summary(attempts, language))
    if not bars:
        middle = text(WIDTH / 2, TOP + BAR / 2 + 4, NOTHING_YET.to(language), None, "middle")
        return chart("attempts", WIDTH, HEIGHT, words, middle)
    scale = _scale(bars, drawable(now))
    content = [
        line(LEFT, BASE, RIGHT, BASE, "axis"),
        *time_axis(scale, BASE, LABEL_Y, zone, language),
    ]
    content += _gaps(bars, scale)
    content += _bars(bars, drawable(now), scale, zone, language)
    return chart("attempts", WIDTH, HEIGHT, words, *content, interactive=True)


def _bar(attempts: Sequence[AttemptSpan]) -> AttemptBar:
    first, last = attempts[0], attempts[-1]
    started = next((each.started_at for each in attempts if each.started_at), None)
    state = State.running if last.started_at else State.scheduled
    name = last.outcome.value if last.outcome else state.value
    ended = drawable(last.ended_at) if last.ended_at else None
    return AttemptBar(
        attempts, drawable(first.ready_at), drawable(started) if started else None, ended, name
    )


def _summary(attempts: Sequence[AttemptSpan], language: Language) -> str:
    if not attempts:
        return NOTHING_YET.to(language)
    count = counted(len(attempts), ATTEMPTS[language], language)
    return f"{count}, {_word(attempts[-1], language)}"


def _word(attempt: AttemptSpan, language: Language) -> str:
    if attempt.outcome is not None:
        return OUTCOMES[attempt.outcome].to(language)
    return STATES[State.running if attempt.started_at else State.scheduled].to(language)


def _scale(bars: Sequence[AttemptBar], now: int) -> TimeScale:
    ends = [bar.ended or max(now, bar.ready) for bar in bars]
    start = min(bar.ready for bar in bars)
    return TimeScale(start, max(*ends, start + 1), LEFT, RIGHT - LEFT)


def _gaps(bars: Sequence[AttemptBar], scale: TimeScale) -> Iterator[Markup]:
    """Draw the pauses between the end of an attempt and the time of the next."""
    y = TOP + BAR / 2
    for before, after in pairwise(bars):
        if before.ended is not None and after.ready > before.ended:
            yield line(scale.place(before.ended), y, scale.place(after.ready), y, "gap dotted")


def _bars(
    bars: Sequence[AttemptBar], now: int, scale: TimeScale, zone: tzinfo, language: Language
) -> Iterator[Markup]:
    """Draw the bars, and over those that stand apart their number and how they ended."""
    room_from = 0.0
    for bar in bars:
        marks = [*_spans(bar, now, scale)]
        number = _number(bar)
        width = width_of(number) + GLYPH_WIDTH
        left = scale.place(bar.started if bar.started is not None else bar.ready)
        left = min(left, WIDTH - width)
        if left >= room_from:
            room_from = left + width + NUMBER_GAP
            end = left + width_of(number)
            words = text(end, NUMBER_Y + 4, number, "small", "end")
            marks += [words, glyph(bar.name, end + GLYPH_WIDTH / 2 + 2, NUMBER_Y)]
        yield part(_label(bar, now, zone, language), *marks)


def _spans(bar: AttemptBar, now: int, scale: TimeScale) -> Iterator[Markup]:
    """Draw how long it waited, and how long it ran."""
    ready = scale.place(bar.ready)
    started = scale.place(bar.started if bar.started is not None else max(now, bar.ready))
    if started > ready:
        yield rect(ready, TOP + 4, started - ready, BAR - 8, "waiting")
    if bar.started is not None:
        ended = scale.place(bar.ended if bar.ended is not None else max(now, bar.started))
        length = max(ended - started, MIN_LENGTH)
        yield rect(min(started, RIGHT - length), TOP, length, BAR, f"{bar.name} full", 1)
    elif started == ready:
        yield rect(min(ready, RIGHT - MIN_LENGTH), TOP + 4, MIN_LENGTH, BAR - 8, "waiting")


def _number(bar: AttemptBar) -> str:
    if len(bar.attempts) > 1:
        return f"\u00d7{compact(len(bar.attempts))}"
    return compact(bar.attempts[0].number)


def _label(bar: AttemptBar, now: int, zone: tzinfo, language: Language) -> str:
    first, last = bar.attempts[0], bar.attempts[-1]
    numbers = {"first": whole(first.number, language), "last": whole(last.number, language)}
    if len(bar.attempts) > 1:
        name = SEVERAL.to(language, **numbers)
    else:
        name = ATTEMPT.to(language, number=numbers["first"])
    words = [name, _word(last, language)]
    ready = exact(from_micros(bar.ready), zone, language)
    if bar.started is None:
        return ", ".join([*words, WAITS.to(language, time=ready)])
    if len(bar.attempts) == 1:
        waited = duration((bar.started - bar.ready) / SECOND, language)
        ran = duration(((bar.ended or max(now, bar.started)) - bar.started) / SECOND, language)
        words += [WAITED.to(language, time=waited), RAN.to(language, time=ran)]
    return ", ".join([*words, exact(from_micros(bar.started), zone, language)])
