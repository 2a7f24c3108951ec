"""The axis of time: a tick and a label at each round instant."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from markupsafe import Markup

from duetime.admin.pages.charts.marks import line, text
from duetime.admin.pages.charts.scales import DAY, MINUTE, TimeScale, round_instants, time_step
from duetime.admin.pages.formats.instants import clock_time, day_of, local_time
from duetime.admin.pages.languages import Language
from duetime.model.clock import SECOND, from_micros

# Between two labels, and from a label to the end of the axis.
LABEL_WIDTH, HALF_LABEL = 58, 22
TICK = 4


def time_axis(
    scale: TimeScale, y: float, label_y: float, zone: tzinfo, language: Language, least: int = 0
) -> Iterator[Markup]:
    """Draw the round instants of a scale, `least` or more apart, below a line at `y`."""
    most = max(int(scale.width / LABEL_WIDTH), 1)
    step = time_step(scale.end - scale.start, most, least)
    for instant in round_instants(scale.start, scale.end, step, zone):
        x = scale.place(instant)
        yield line(x, y, x, y + TICK, "axis")
        middle = min(x, scale.left + scale.width - HALF_LABEL)
        yield text(middle, label_y, axis_label(instant, step, zone, language), None, "middle")


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
