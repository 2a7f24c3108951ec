"""Draw the figures: `python bench/plot.py [FIGURES.json [PICTURE.svg]]`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from duetime.bench.figures import format_figure

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / ".bench" / "bench.json"
PICTURE = ROOT / "docs" / "assets" / "bench.svg"

WIDTH, LEFT, RIGHT, BAR, GAP, TITLE = 760, 190, 130, 20, 8, 44
OURS, THEIRS, INK, PAPER = "#0b7285", "#adb5bd", "#212529", "#ffffff"


@dataclass(frozen=True)
class Panel:
    """Bars of a trial's figure, on a logarithmic scale if `powers`."""

    trial: str
    figure: str
    title: str
    powers: bool = False


PANELS = [
    Panel("drain", "drain", "drain: actions a second, one worker process (more is better)"),
    Panel("drain", "schedule", "schedule in bulk: actions a second (more is better)"),
    Panel(
        "lateness",
        "p50",
        "lateness, median: milliseconds, by powers of ten (less is better)",
        powers=True,
    ),
    Panel(
        "lateness",
        "p99",
        "lateness, p99: milliseconds, by powers of ten (less is better)",
        powers=True,
    ),
]


def main() -> None:
    source, target = ([*map(Path, sys.argv[1:]), *[FIGURES, PICTURE][len(sys.argv) - 1 :]])[:2]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(draw(json.loads(source.read_text())), encoding="utf-8")
    print(target)


def draw(document: dict[str, Any]) -> str:
    """Draw all panels whose trials were measured, from top to bottom."""
    trials = {trial["name"]: trial for trial in document["trials"]}
    parts: list[str] = []
    top = 10.0
    for panel in PANELS:
        found = [
            item
            for item in trials.get(panel.trial, {"figures": []})["figures"]
            if item["figure"] == panel.figure
        ]
        if found:
            parts += bars(panel, found, top)
            top += TITLE + len(found) * (BAR + GAP)
    parts.append(text(10, top + 20, about(document), "start", 11))
    height = top + 34
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'font-family="system-ui, sans-serif" role="img">'
        f"<title>duetime beside its peers</title>"
        f'<rect width="100%" height="100%" fill="{PAPER}"/>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def bars(panel: Panel, found: Sequence[dict[str, Any]], top: float) -> Iterator[str]:
    most = max(item["high"] for item in found)
    least = min((item["low"] for item in found if item["low"] > 0), default=most) / 2

    def reach(value: float) -> float:
        if panel.powers and most > least:
            share = math.log(max(value, least) / least) / math.log(most / least)
        else:
            share = value / (most or 1)
        return share * (WIDTH - LEFT - RIGHT)

    yield text(LEFT, top + 26, panel.title, "start", 14)
    for row, item in enumerate(sorted(found, key=lambda item: -item["median"] * sign(panel))):
        y = top + TITLE - 6 + row * (BAR + GAP)
        ours = item["contender"].startswith("duetime")
        color, end = OURS if ours else THEIRS, LEFT + reach(item["high"])
        low, high = LEFT + reach(item["low"]), end
        yield text(LEFT - 8, y + 15, item["contender"], "end", 13)
        size = f'width="{reach(item["median"]):.1f}" height="{BAR}"'
        yield f'<rect x="{LEFT}" y="{y}" {size} fill="{color}"/>'
        yield (f'<path d="M{low:.1f} {y + BAR / 2}H{high:.1f}" stroke="{INK}" stroke-width="1.5"/>')
        yield text(end + 8, y + 15, f"{format_figure(item['median'])} {item['unit']}", "start", 12)


def sign(panel: Panel) -> int:
    """Return the sign that sorts the best first."""
    return -1 if panel.powers else 1


def text(x: float, y: float, words: str, anchor: str, size: int) -> str:
    return (
        f'<text x="{x}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{INK}">'
        f"{escape(words)}</text>"
    )


def about(document: dict[str, Any]) -> str:
    server = document.get("postgresql", {}).get("server_version", "none")
    scales = {trial["scale"] for trial in document["trials"]}
    size = "" if scales == {1.0} else "; SMALL SIZES, for a look only"
    return (
        f"Medians, and the spread of all rounds. Python {document['python']}, PostgreSQL {server}, "
        f"{document['cores']} cores{size}"
    )


if __name__ == "__main__":
    main()
