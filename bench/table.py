"""Every goal beside its figure, as a table of Markdown: `python bench/table.py [FIGURES.json]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peer import HOME
from report import MARKS

from duetime.bench.figures import shown

FIGURES = HOME / "bench.json"


def main() -> None:
    path = Path(sys.argv[1]) if sys.argv[1:] else FIGURES
    print("\n".join(lines(json.loads(path.read_text()))))


def lines(document: dict[str, Any]) -> Iterator[str]:
    yield "| what | goal | reached | figures: median (lowest to highest) | |"
    yield "|---|---|---|---|---|"
    for trial in document["trials"]:
        figures = {
            (one["contender"], f"{one['figure']} {one['unit']}"): one for one in trial["figures"]
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
    return f"{goal['value']:.2f} x" if goal["to"] else shown(goal["value"])


def figure(figures: dict[tuple[str, str], dict[str, Any]], key: list[str]) -> str:
    contender, label = key
    one = figures.get((contender, label))
    if one is None:
        return f"{contender}: -"
    spread = ""
    if len(one["values"]) > 1:
        spread = f" ({shown(one['low'])} to {shown(one['high'])})"
    return f"{contender} {shown(one['median'])} {one['unit']}{spread}"


if __name__ == "__main__":
    main()
