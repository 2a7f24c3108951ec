"""Print every goal with its figure as a Markdown table: `python bench/table.py [FIGURES.json]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peer import HOME
from report import MARKS

from duetime.bench.figures import format_figure

FIGURES = HOME / "bench.json"


def main() -> None:
    path = Path(sys.argv[1]) if sys.argv[1:] else FIGURES
    print("\n".join(lines(json.loads(path.read_text()))))


def lines(document: dict[str, Any]) -> Iterator[str]:
    yield "| what | goal | reached | figures: median (lowest to highest) | |"
    yield "|---|---|---|---|---|"
    for trial in document["trials"]:
        figures = {
            (item["contender"], f"{item['figure']} {item['unit']}"): item
            for item in trial["figures"]
        }
        for row, goal in enumerate(trial["goals"]):
            cells = [
                "" if row else trial["words"] + ("" if trial["scale"] == 1 else " (IN SMALL)"),
                goal["goal"],
                reached(goal),
                "; ".join(figure(figures, goal[side]) for side in ("of", "to") if goal[side]),
                MARKS[goal["met"]],
            ]
            yield f"| {' | '.join(cells)} |"


def reached(goal: dict[str, Any]) -> str:
    if goal["value"] is None:
        return "-"
    return f"{goal['value']:.2f} x" if goal["to"] else format_figure(goal["value"])


def figure(figures: dict[tuple[str, str], dict[str, Any]], key: list[str]) -> str:
    contender, label = key
    item = figures.get((contender, label))
    if item is None:
        return f"{contender}: -"
    spread = ""
    if len(item["values"]) > 1:
        spread = f" ({format_figure(item['low'])} to {format_figure(item['high'])})"
    return f"{contender} {format_figure(item['median'])} {item['unit']}{spread}"


if __name__ == "__main__":
    main()
