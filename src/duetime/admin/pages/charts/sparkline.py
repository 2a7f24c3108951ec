"""A sparkline: how a number went, without axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from duetime.admin.pages.charts.scales import chunks, finite
from duetime.admin.pages.charts.svg import chart, element, line, number

WIDTH, HEIGHT = 160, 36
LEFT, RIGHT, TOP, BOTTOM = 2.0, 156.0, 4.0, 34.0
MAX_POINTS = 120

Place = tuple[float, float]


def sparkline(values: Sequence[float | None], label: str) -> Markup:
    """Return the values as a line from the first to the last, which has a dot; gaps for None. The
    label names them, and says the last: `Lateness p99, last hour: 2.4 ms`."""
    runs = list(_runs(_places(_peaks(values))))
    base = line(LEFT, BOTTOM, RIGHT, BOTTOM, "grid")
    return chart("sparkline", WIDTH, HEIGHT, label, base, *map(_area, runs), *_strokes(runs))


def _peaks(values: Sequence[float | None]) -> list[float | None]:
    """Return at most as many values as there is room for, of several the highest."""
    drawable = [finite(value) for value in values]
    return [
        max((each for each in drawable[part.start : part.stop] if each is not None), default=None)
        for part in chunks(len(drawable), MAX_POINTS)
    ]


def _places(values: Sequence[float | None]) -> list[Place | None]:
    """Return where values stand: from 0 or the lowest, to the highest."""
    known = [value for value in values if value is not None]
    low, high = min([*known, 0.0]), max([*known, 0.0])
    # Halves of them, since the span of the largest floats would be none.
    span = (high / 2 - low / 2) or 1.0
    step = (RIGHT - LEFT) / max(len(values) - 1, 1)
    # The only value is the last.
    first = LEFT if len(values) > 1 else RIGHT
    return [
        None
        if value is None
        else (first + step * index, BOTTOM - (value / 2 - low / 2) / span * (BOTTOM - TOP))
        for index, value in enumerate(values)
    ]


def _runs(places: Sequence[Place | None]) -> Iterator[list[Place]]:
    """Yield neighbours that are joined by a line."""
    run: list[Place] = []
    for place in [*places, None]:
        if place is not None:
            run.append(place)
        elif run:
            yield run
            run = []


def _area(run: Sequence[Place]) -> Markup:
    down = f"V{number(BOTTOM)}H{number(run[0][0])}z"
    return element("path", d=_path(run) + down, class_="area")


def _strokes(runs: Sequence[Sequence[Place]]) -> Iterator[Markup]:
    for run in runs:
        alone = len(run) == 1
        # A line of no length with round ends is a dot.
        yield element("path", d=_path(run) + ("h0" if alone else ""), class_="stroke")
    if runs:
        x, y = runs[-1][-1]
        yield element("circle", cx=x, cy=y, r=2.5, class_="latest")


def _path(run: Sequence[Place]) -> str:
    return "M" + " ".join(f"{number(x)},{number(y)}" for x, y in run)
