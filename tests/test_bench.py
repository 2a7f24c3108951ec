"""The trials of `make bench` run, at tiny sizes and without peers."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from duetime.bench.figures import Figure, figures, percentile
from run_page import ROOT
from servers import Server

BENCH = ROOT / "bench"
# One of each group of similar trials; a few seconds in total.
TRIED = ["single", "sqlite", "transactional", "sharing", "steady", "future", "memory"]
TRIED += ["rows", "rows-idle", "rows-late", "rows-wake"]


@pytest.fixture(scope="module")
def measured(postgres_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    sizes = ["--scale", "0.0005", "--rounds", "1", "--no-peers", "--json", str(path)]
    names = [word for name in TRIED for word in ("--only", name)]
    run("run.py", "--url", postgres_server.url, *sizes, *names)
    return path


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(BENCH / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_every_figure_stands_beside_its_goal(measured: Path) -> None:
    trials: list[dict[str, Any]] = json.loads(measured.read_text())["trials"]
    assert [trial["name"] for trial in trials] == TRIED
    for trial in trials:
        assert trial["skipped"] == {}
        assert all(item["low"] <= item["median"] <= item["high"] for item in trial["figures"])
        assert all(isinstance(goal["met"], bool) for goal in trial["goals"])


@pytest.mark.soak
def test_the_trials_over_http_run(postgres_server: Server, tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    sizes = ["--scale", "0.005", "--rounds", "1", "--no-peers", "--json", str(path)]
    names = ["--only", "http-schedule", "--only", "http-page"]
    run("run.py", "--url", postgres_server.url, *sizes, *names)
    trials = json.loads(path.read_text())["trials"]
    assert all(goal["value"] for trial in trials for goal in trial["goals"])


@pytest.mark.parametrize(
    ("bound", "reach", "values", "met"),
    [
        ("at most", 8.0, {"ours": 7.9}, True),
        ("at most", 8.0, {"ours": 8.0}, True),
        ("at most", 8.0, {"ours": 8.1}, False),
        ("at least", 1000.0, {"ours": 1000.0}, True),
        ("at least", 1000.0, {"ours": 999.0}, False),
        ("at least", 0.5, {"ours": 60.0, "theirs": 100.0}, True),
        ("at least", 0.5, {"ours": 40.0, "theirs": 100.0}, False),
        ("at least", 0.5, {"ours": 40.0, "theirs": 0.0}, False),
        ("at least", 0.5, {"theirs": 100.0}, None),
    ],
)
def test_when_a_goal_is_met(
    monkeypatch: pytest.MonkeyPatch,
    bound: str,
    reach: float,
    values: dict[str, float],
    met: bool | None,
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    from trial import Goal

    to = ("theirs", "rate /s") if "theirs" in values else None
    goal = Goal("a goal", ("ours", "rate /s"), reach, to, most=bound == "at most")
    found = {(name, "rate /s"): Figure("rate", "/s", (value,)) for name, value in values.items()}
    assert goal.judge(found).document()["met"] is met


def test_every_goal_has_a_line_in_the_table(measured: Path) -> None:
    trials = json.loads(measured.read_text())["trials"]
    lines = run("table.py", str(measured)).splitlines()
    assert len(lines) == 2 + sum(len(trial["goals"]) for trial in trials)
    assert all(line.count(" | ") >= 4 for line in lines[2:])


def test_figures_are_values_that_were_measured() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert [percentile(range(1, 201), share) for share in (0.0, 0.5, 0.99, 1.0)] == [
        1,
        100,
        198,
        200,
    ]
    [p99, drain] = figures([{"p99 ms": 3.0, "drain /s": 5.0}, {"p99 ms": 1.0}, {"p99 ms": 2.0}])
    assert (p99.name, p99.unit, p99.median, p99.low, p99.high) == ("p99", "ms", 2.0, 1.0, 3.0)
    assert (drain.name, drain.values) == ("drain", (5.0,))


def test_the_picture_shows_each_contender(tmp_path: Path) -> None:
    figure = {"figure": "drain", "unit": "/s", "median": 2000, "low": 1900, "high": 2100}
    drain = {"name": "drain", "scale": 1.0, "figures": []}
    drain["figures"] = [{"contender": name, **figure} for name in ("duetime", "A <peer>")]
    source, target = tmp_path / "bench.json", tmp_path / "bench.svg"
    source.write_text(json.dumps({"python": "3.11", "cores": 2, "trials": [drain]}))
    run("plot.py", str(source), str(target))
    words = [node.text for node in ElementTree.parse(target).iter() if node.tag.endswith("text")]
    assert {"duetime", "A <peer>", "2,000 /s"} <= set(words)


def test_every_pinned_peer_has_a_driver() -> None:
    listed = run("run.py", "--list").splitlines()
    assert {line.split()[0] for line in listed} >= {*TRIED, "drain", "lateness", "idle"}
    package = json.loads((BENCH / "peers" / "package.json").read_text())
    drivers = "".join(path.read_text() for path in (BENCH / "peers").glob("drive_*"))
    assert all(f'from "{name}"' in drivers for name in package["dependencies"])
