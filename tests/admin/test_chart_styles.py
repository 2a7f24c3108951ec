"""The colours of charts: small, complete, and readable in both themes."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from admin.chart_samples import SAMPLES, STYLES
from admin.svg_checks import classes, read_svg
from duetime.admin.pages.charts.glyphs import FULL, HOLLOW

CSS = STYLES.read_text(encoding="utf-8")
TOKENS = re.compile(r"--([a-z-]+):\s*(#[0-9a-f]{6});")
TEXTS = ("chart-text", "text-muted", "late")
MARKS = ("succeeded", "failed", "cancelled", "running", "scheduled", "late", "axis")


def themes() -> dict[str, dict[str, str]]:
    """The tokens of each block that defines some."""
    blocks = re.findall(r"([^{}]+)\{([^{}]*--[a-z-]+:[^{}]*)\}", CSS)
    return {
        selector.strip().split("\n")[-1].strip(): dict(TOKENS.findall(body))
        for selector, body in blocks
    }


LIGHT = ':root, [data-theme="light"]'
DARK = '[data-theme="dark"]'
SYSTEM_DARK = ':root:not([data-theme="light"])'


def test_styles_are_small() -> None:
    assert len(CSS.encode()) < 6000


def test_both_themes_define_every_token() -> None:
    assert set(themes()) == {LIGHT, DARK, SYSTEM_DARK}
    assert themes()[LIGHT].keys() == themes()[DARK].keys()
    assert themes()[DARK] == themes()[SYSTEM_DARK]
    assert set(re.findall(r"var\(--([a-z-]+)\)", CSS)) <= themes()[LIGHT].keys()


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_colours_are_far_enough_from_the_ground(theme: str) -> None:
    tokens = themes()[theme]
    for ground in ("chart-ground", "past"):
        assert [t for t in TEXTS if contrast(tokens[t], tokens[ground]) < 4.5] == []
    assert [m for m in MARKS if contrast(tokens[m], tokens["chart-ground"]) < 3] == []


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
