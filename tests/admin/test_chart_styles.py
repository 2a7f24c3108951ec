"""The colours of charts: small, complete, and readable in both themes."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from admin.chart_samples import SAMPLES, STYLES
from admin.svg_checks import classes, read_svg
from duetime.admin.pages.charts.glyphs import FULL, HOLLOW

CSS = STYLES.read_text(encoding="utf-8")
PAGES = STYLES.with_name("duetime.css").read_text(encoding="utf-8")
THEMES = ("light", "dark")
# A colour of the pages in both themes, and the meaning that charts give to one.
COLOURS = dict(re.findall(r"--([a-z-]+): light-dark\((.*?)\);", PAGES))
MEANINGS = dict(re.findall(r"--([a-z-]+): var\(--([a-z-]+)\);", CSS))
TEXTS = ("chart-text", "text-muted", "late")
MARKS = ("succeeded", "failed", "cancelled", "running", "scheduled", "late", "axis")


def tokens(theme: str) -> dict[str, str]:
    """The colours of charts in a theme."""
    number = THEMES.index(theme)
    return {name: COLOURS[colour].split(", ")[number] for name, colour in MEANINGS.items()}


def test_styles_are_small() -> None:
    assert len(CSS.encode()) < 6000


def test_every_token_is_a_colour_of_both_themes() -> None:
    assert set(re.findall(r"var\(--([a-z-]+)\)", CSS)) - MEANINGS.keys() <= COLOURS.keys()
    for theme in THEMES:
        for colour in tokens(theme).values():
            assert re.fullmatch("#[0-9a-f]{6}", colour), (theme, colour)
    assert tokens("light") != tokens("dark")


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_colours_are_far_enough_from_the_ground(theme: str) -> None:
    colours = tokens(theme)
    for ground in ("chart-ground", "past"):
        assert [t for t in TEXTS if contrast(colours[t], colours[ground]) < 4.5] == []
    assert [m for m in MARKS if contrast(colours[m], colours["chart-ground"]) < 3] == []


def test_every_class_that_charts_use_has_a_rule() -> None:
    used = set(chain.from_iterable(classes(read_svg(draw())) for draw in SAMPLES.values()))
    styled = set(re.findall(r"\.([a-z-]+)", CSS))
    assert used - styled == set()
    # The other way round, a rule that nothing uses has to go.
    assert styled - used - {"chart-scroll"} == set()


def test_states_differ_without_their_colours() -> None:
    shapes = [
        *(("full", path) for path in FULL.values()),
        *(("hollow", p) for p in HOLLOW.values()),
    ]
    assert len(set(shapes)) == len(shapes)
