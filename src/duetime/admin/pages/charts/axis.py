"""The axis of time: a tick and a label at each round instant."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from markupsafe import Markup

from duetime.admin.pages.charts.scales import DAY, MINUTE, TimeScale, round_instants, time_step
from duetime.admin.pages.charts.svg import line, text, width_of
from duetime.admin.pages.formats.instants import clock_time, day_of, local_time
from duetime.admin.pages.languages import Language
from duetime.model.clock import SECOND, from_micros

# Room for `14 juin`, and for `14:02:05.250`.
LABEL_WIDTH, LONG_LABEL_WIDTH = 60, 96
TICK = 4
# Labels may reach this far beyond the ends of the axis.
OVERHANG = 8


def time_axis(
    scale: TimeScale, y: float, label_y: float, zone: tzinfo, language: Language, least: int = 0
) -> Iterator[Markup]:
    """Draw the round instants of a scale, `least` or more apart, below a line at `y`."""
    step = _step(scale, least)
    right = scale.left + scale.width
    for instant in round_instants(scale.start, scale.end, step, zone):
        x = scale.place(instant)
        label = axis_label(instant, step, zone, language)
        half = width_of(label) / 2 - OVERHANG
        yield line(x, y, x, y + TICK, "axis")
        yield text(min(max(x, scale.left + half), right - half), label_y, label, None, "middle")


def _step(scale: TimeScale, least: int) -> int:
    length = scale.end - scale.start
    step = time_step(length, _most(scale, LABEL_WIDTH), least)
    if step >= SECOND:
        return step
    return time_step(length, _most(scale, LONG_LABEL_WIDTH), least)


def _most(scale: TimeScale, label_width: float) -> int:
    return max(int(scale.width / label_width), 1)


def axis_label(instant: int, step: int, zone: tzinfo, language: Language) -> str:
    """Write an instant of an axis: the time; the day at midnight, and where steps are days."""
    at = from_micros(instant)
    local = local_time(at, zone)
    if step >= 365 * DAY:
        return str(local.year)
    if step >= DAY or (local.hour, local.minute, local.second) == (0, 0, 0):
        return day_of(at, zone, language, now=at)
    if step < SECOND:
        return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"
    return clock_time(at, zone, seconds=step < MINUTE)
