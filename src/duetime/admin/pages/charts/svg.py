"""SVG elements. Text that is put into them is made safe and escaped."""

from __future__ import annotations

import re
from functools import cache

from markupsafe import Markup, escape

from duetime.model.safe_text import safe_text, shorten

MAX_TEXT = 400
# What XML cannot hold, beside the characters that safe_text replaces.
NOT_IN_XML = re.compile("[\ufffe\uffff]")
# How wide a character of 12 px is, on average. Widths decide only what fits, and err on both sides.
CHARACTER_WIDTH = 7.0

Attribute = str | float | None


def element(name: str, *content: str, **attributes: Attribute) -> Markup:
    """Return an element. `class_` and `text_anchor` are written as `class` and `text-anchor`."""
    # Every text passes `escape`, which leaves markup as it is.
    written = "".join(
        f' {_attribute_name(attribute)}="{_value(value)}"'
        for attribute, value in attributes.items()
        if value is not None
    )
    if not content:
        return Markup(f"<{name}{written}/>")  # noqa: S704
    return Markup(f"<{name}{written}>{''.join(map(escape, content))}</{name}>")  # noqa: S704


def chart(
    kind: str, width: int, height: int, label: str, *content: Markup, interactive: bool = False
) -> Markup:
    """Return the root of a chart. With parts that take the focus it is a group, not one image."""
    return element(
        "svg",
        *content,
        xmlns="http://www.w3.org/2000/svg",
        class_=f"chart {kind}",
        viewBox=f"0 0 {width} {height}",
        role="group" if interactive else "img",
        aria_label=shown_text(label),
    )


def part(
    label: str, *content: Markup, class_: str | None = None, href: str | None = None
) -> Markup:
    """Return marks that take the focus and have a name: an image, or a link if they lead on."""
    words = shown_text(label)
    title = element("title", words)
    if href is None:
        return element("g", title, *content, class_=class_, tabindex=0, role="img")
    # Not every reader of screens names a link by its title.
    return element("a", title, *content, class_=class_, href=href, aria_label=words)


def titled(label: str, *content: Markup, class_: str | None = None) -> Markup:
    """Return marks whose name appears under the pointer."""
    return element("g", element("title", shown_text(label)), *content, class_=class_)


def text(
    x: float, y: float, words: str, class_: str | None = None, anchor: str = "start"
) -> Markup:
    return element(
        "text",
        shown_text(words),
        x=x,
        y=y,
        class_=class_,
        text_anchor=None if anchor == "start" else anchor,
    )


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rect(
    x: float, y: float, width: float, height: float, class_: str, radius: float | None = None
) -> Markup:
    return element("rect", x=x, y=y, width=width, height=height, rx=radius, class_=class_)


def shown_text(words: str) -> str:
    """Return text that is safe to show, line by line: newlines are ours."""
    shown = "\n".join(safe_text(shorten(each, MAX_TEXT)) for each in words.split("\n"))
    return NOT_IN_XML.sub("\ufffd", shown)


def fitting(words: str, width: float) -> str:
    """Return as much of a text as has room in about this width."""
    limit = max(int(width / CHARACTER_WIDTH), 1)
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


def width_of(words: str) -> float:
    return len(words) * CHARACTER_WIDTH


def number(value: float) -> str:
    """Write a coordinate: tenths are as fine as anybody sees."""
    written = f"{value:.1f}".removesuffix(".0")
    return "0" if written == "-0" else written


@cache
def _attribute_name(argument: str) -> str:
    return argument.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return str(escape(value)) if isinstance(value, str) else number(value)
