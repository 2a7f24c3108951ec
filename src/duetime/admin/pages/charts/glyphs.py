"""Glyphs of states and outcomes, 12 by 12: each has a shape, so that colour is not needed."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from duetime.admin.pages.charts.svg import element, number

# The path of each glyph around (0, 0). One that is `full` is a disc with the path cut out of it.
FULL: Mapping[str, str] = {
    "succeeded": "M-2.8 .2 -.8 2.2 2.8-2",
    "failed": "M-2.2-2.2 2.2 2.2M2.2-2.2-2.2 2.2",
    "running": "M-1.4-2.6V2.6L2.6 0z",
}
HOLLOW: Mapping[str, str] = {
    "scheduled": "M0-2.6V0l1.9 1.3",
    "cancelled": "M-3.4 3.4 3.4-3.4",
    "retried": "M-2.4.6A2.4 2.4 0 1 0-1.4-2M-1.8-3.4-1.4-2-.0-2.3",
    "snoozed": "M-1.7-1.9H1.7L-1.7 1.9H1.7",
    "skipped": "M-2.4-2.2-.2 0-2.4 2.2M.6-2.2 2.8 0 .6 2.2",
    "released": "M0 2.8V-2.6M-2.2-.6 0-2.8 2.2-.6",
    "lost": "M-1.5-1.4A1.6 1.6 0 1 1 .6.1Q0 .4 0 1.2M0 2.4V3",
    "other": "M-2.4 0H2.4",
    "late": "M0-3V.6M0 2.2V2.9",
}


def glyph(name: str, x: float, y: float) -> Markup:
    """Return the glyph of a state or outcome on its disc, around a point."""
    full = name in FULL
    disc = element("circle", r=5.4, class_="full" if full else "hollow")
    # Cut out of a disc that is filled, drawn on a hollow one.
    return _placed(name, x, y, disc, _path(name, "cut" if full else "pen"))


def cell_glyph(name: str, x: float, y: float) -> Markup:
    """Return the path of a glyph for a cell that has its colour, or its outline."""
    return _placed(name, x, y, _path(name, "cut" if name in FULL else "pen"))


def bare_glyph(name: str, x: float, y: float) -> Markup:
    """Return the path of a glyph, to be drawn beside something else."""
    return _placed(name, x, y, _path(name, "pen"))


def _path(name: str, style: str) -> Markup:
    path = FULL.get(name) or HOLLOW.get(name) or HOLLOW["other"]
    return element("path", d=path, class_=style)


def _placed(name: str, x: float, y: float, *shapes: Markup) -> Markup:
    return element("g", *shapes, class_=name, transform=f"translate({number(x)} {number(y)})")
