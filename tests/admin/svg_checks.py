"""Reads a chart as XML: which elements it has, and where they are drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from duetime.admin.pages.charts.svg import CHARACTER_WIDTH

PREFIX = "{http://www.w3.org/2000/svg}"
# Half of the width of lines, and what rounding to tenths adds.
SLACK = 1.1


class Extent(NamedTuple):
    """From where to where something is drawn."""

    what: str
    left: float
    top: float
    right: float
    bottom: float


def read_svg(chart: str) -> ElementTree.Element:
    """Return the root. ParseError if the chart is not well-formed XML."""
    return ElementTree.fromstring(chart)


def view_box(root: ElementTree.Element) -> tuple[float, float]:
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    return width, height


def names(root: ElementTree.Element) -> list[str]:
    return [each.tag.removeprefix(PREFIX) for each in root.iter()]


def name_of(each: ElementTree.Element) -> str:
    """Return the accessible name of an element: its label, else its title."""
    title = each.find(f"{PREFIX}title")
    return each.get("aria-label") or (title.text if title is not None else None) or ""


def classes(root: ElementTree.Element) -> set[str]:
    return {name for each in root.iter() for name in each.get("class", "").split()}


def outside(root: ElementTree.Element) -> list[Extent]:
    """Return what is drawn beyond the viewBox."""
    width, height = view_box(root)
    return [
        each
        for each in _extents(root, 0, 0)
        if each.left < -SLACK
        or each.top < -SLACK
        or each.right > width + SLACK
        or each.bottom > height + SLACK
    ]


def _extents(parent: ElementTree.Element, dx: float, dy: float) -> Iterator[Extent]:
    for each in parent:
        moved = re.fullmatch(r"translate\((\S+) (\S+)\)", each.get("transform", ""))
        x, y = (dx + float(moved[1]), dy + float(moved[2])) if moved else (dx, dy)
        extent = _extent(each)
        if extent is not None:
            what, left, top, right, bottom = extent
            yield Extent(what, left + x, top + y, right + x, bottom + y)
        yield from _extents(each, x, y)


def _extent(each: ElementTree.Element) -> Extent | None:
    name = each.tag.removeprefix(PREFIX)
    get = {key: float(value) for key, value in each.attrib.items() if _is_number(value)}
    match name:
        case "rect":
            assert get["width"] >= 0, each.attrib
            assert get["height"] >= 0, each.attrib
            x, y = get["x"], get["y"]
            return Extent(name, x, y, x + get["width"], y + get["height"])
        case "line":
            xs, ys = sorted((get["x1"], get["x2"])), sorted((get["y1"], get["y2"]))
            return Extent(name, xs[0], ys[0], xs[1], ys[1])
        case "circle":
            x, y, r = get.get("cx", 0), get.get("cy", 0), get["r"]
            return Extent(name, x - r, y - r, x + r, y + r)
        case "text":
            return _text_extent(each, get["x"], get["y"])
        case "path" if re.fullmatch(r"M[\d., -]+(h0|V[\d.]+H[\d.]+z)?", each.attrib["d"]):
            places = re.findall(r"(-?[\d.]+),(-?[\d.]+)", each.attrib["d"])
            xs, ys = [float(x) for x, _ in places], [float(y) for _, y in places]
            return Extent(name, min(xs), min(ys), max(xs), max(ys)) if places else None
    return None


def _text_extent(each: ElementTree.Element, x: float, y: float) -> Extent:
    words = each.text or ""
    width = len(words) * CHARACTER_WIDTH
    part = {"start": 0.0, "middle": 0.5, "end": 1.0}[each.get("text-anchor", "start")]
    left = x - part * width
    return Extent(f"text {words!r}", left, y - 10, left + width, y + 3)


def _is_number(value: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", value) is not None
