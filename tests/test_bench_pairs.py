"""`make bench PAIRS=<commit>`: its statistics, its meters, and one comparison at a tiny scale."""

import json
import math
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from polling import until
from run_page import ROOT
from servers import NoServer, OwnServer, open_own_server

BENCH = ROOT / "bench"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


@pytest.fixture(scope="module")
def local_server() -> Iterator[OwnServer]:
    """A server on this machine, whose processes can be seen."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("processor time of PostgreSQL is read from /proc, which is there on Linux only")
    try:
        server = open_own_server()
    except NoServer as reason:
        pytest.skip(f"no PostgreSQL of our own: {reason}")
    yield server
    server.close()


def run(script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCH / script), *arguments],
        capture_output=True,
        text=True,
        timeout=400,
        env={**os.environ, **variables},
    )


@pytest.mark.parametrize(
    ("count", "rank"),
    [(1, 0), (5, 0), (6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (19, 5), (20, 6), (100, 40)],
)
def test_the_rank_of_the_bounds(count: int, rank: int) -> None:
    from interval import bound_rank

    assert bound_rank(count) == rank


def test_the_interval_is_the_narrowest_of_at_least_95_percent() -> None:
    from interval import bound_rank

    def confidence(count: int, rank: int) -> float:
        return 1 - 2 * float(sum(math.comb(count, below) for below in range(rank))) / 2.0**count

    for count in range(6, 60):
        rank = bound_rank(count)
        assert confidence(count, rank) >= 0.95 > confidence(count, rank + 1)


def test_the_interval_of_20_values_is_from_the_6th_to_the_15th() -> None:
    from interval import Interval, interval

    values = [float(n) for n in range(1, 21)]
    random.Random(1).shuffle(values)
    assert interval(values) == Interval(10.5, 6.0, 15.0)
    assert interval(values[:5]).low is None


def test_usage_is_divided_by_the_number_of_actions() -> None:
    from comparison import per_action
    from meter import Usage

    used = Usage(worker=3.0, postgres=2.5, wal=9000.0) - Usage(1.0, 2.0, 1000.0)
    figures = per_action(used, 1000)
    assert figures == {"worker µs": 2000.0, "PostgreSQL µs": 500.0, "WAL bytes": 8.0}


def test_pairs_are_compared_not_medians() -> None:
    from comparison import Pair, comparisons

    values = [(1.0, 2.0), (10.0, 20.0), (100.0, 10.0)]
    [wal] = comparisons([Pair({"WAL bytes": old}, {"WAL bytes": new}) for old, new in values])
    assert (wal.old, wal.new) == ([1.0, 10.0, 100.0], [2.0, 20.0, 10.0])
    assert wal.ratio.median == 2.0


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([0.9] * 15 + [1.1] * 5, "less"),
        ([0.9] * 14 + [1.1] * 6, "no difference seen"),
        ([0.9] * 6 + [1.1] * 14, "no difference seen"),
        ([0.9] * 5 + [1.1] * 15, "more"),
        ([0.9] * 5, "too few pairs"),
        ([1.0] * 20, "no difference seen"),
    ],
)
def test_what_is_said_of_the_ratios(ratios: list[float], verdict: str) -> None:
    from comparison import Comparison

    comparison = Comparison("worker µs", [1.0] * len(ratios), ratios)
    assert comparison.verdict == verdict
    assert comparison.line().endswith(verdict)


def test_trees_take_turns_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    from comparison import Pair
    from pairs import Bench, compare
    from tree import Tree

    from servers import Server

    order: list[tuple[str, int]] = []

    def record(_: Bench, workload: str, tree: Tree, seed: int) -> dict[str, float]:
        order.append((tree.name, seed))
        return {"WAL bytes": float(len(order))}

    monkeypatch.setattr(Bench, "run", record)
    bench = Bench(Server(""), Tree("old", Path()), Tree("new", Path()), 1.0)
    assert bench.pair("drain", 2) == Pair({"WAL bytes": 2.0}, {"WAL bytes": 1.0})
    order.clear()
    [figure] = compare(bench, ["drain"], rounds=2)["drain"]
    assert order == [("new", 0), ("old", 0), ("old", 1), ("new", 1), ("new", 2), ("old", 2)]
    assert (figure.old, figure.new) == ([3.0, 6.0], [4.0, 5.0])


def test_another_tree_than_the_named_one_is_refused(tmp_path: Path) -> None:
    done = run("workload.py", "drain", "1", str(tmp_path), PYTHONPATH=str(ROOT / "src"))
    assert done.returncode == 1
    assert f"not from {tmp_path}" in done.stderr


def test_an_unknown_commit_is_refused(tmp_path: Path) -> None:
    from tree import commit_tree

    with pytest.raises(SystemExit, match="Needed a single revision"):
        commit_tree("no-such-commit", tmp_path)


async def test_exited_backends_count_for_postgresql(local_server: OwnServer) -> None:
    from meter import Meter

    url = local_server.url
    with closing(Meter(url)) as meter:
        before = meter.read()
        with psycopg.connect(url) as connection:
            pid = connection.info.backend_pid
            connection.execute("SELECT sum(n) FROM generate_series(1, 1000000) AS n")
            connection.execute("CREATE TABLE filled AS SELECT generate_series(1, 10000) AS n")
            live = meter.read() - before
        await until(lambda: not Path(f"/proc/{pid}").exists())
        exited = meter.read() - before
    assert live.wal > 10_000
    assert live.postgres > 0.05
    # Exited processes are counted in ticks of 10 ms.
    assert exited.postgres > live.postgres - 0.03


@pytest.mark.parametrize("workload", ["drain", "bulk"])
def test_a_workload_reports_its_usage(workload: str, local_server: OwnServer) -> None:
    source, url = str(ROOT / "src"), local_server.database_url(local_server.create_database())
    variables = {"PYTHONPATH": source, "BENCH_URL": url}
    done = run("workload.py", workload, "1200", source, **variables)
    assert done.returncode == 0, done.stderr[-2000:]
    usage = json.loads(done.stdout)
    assert 0 < usage["worker"] < 10
    assert 0 < usage["postgres"] < 10
    assert usage["wal"] > 1200 * 100
    with psycopg.connect(url) as connection:
        query = "SELECT (SELECT count(*) FROM duetime_actions), count(*) FROM duetime_history"
        rows = connection.execute(query).fetchone()
    assert rows == ((0, 1700) if workload == "drain" else (1700, 0))


def test_a_comparison_with_the_newest_commit(local_server: OwnServer, tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("there is no commit to compare with")
    url, path = local_server.url, tmp_path / "pairs.json"
    sizes = ["--rounds", "1", "--scale", "0.02", "--only", "transactional"]
    done = run("pairs.py", "HEAD", "--url", url, "--json", str(path), *sizes)
    assert done.returncode == 0, done.stderr[-2000:]
    [(workload, figures)] = json.loads(path.read_text())["workloads"].items()
    names = [figure["figure"] for figure in figures]
    assert (workload, names) == ("transactional", ["worker µs", "PostgreSQL µs", "WAL bytes"])
    for figure in figures:
        assert len(figure["old"]) == len(figure["new"]) == 1
        assert min(figure["old"] + figure["new"]) > 0
    assert done.stdout.count("too few pairs") == 3


def test_a_comparison_without_and_with_an_sdk(local_server: OwnServer, tmp_path: Path) -> None:
    url, path = local_server.url, tmp_path / "pairs.json"
    sizes = ["--rounds", "1", "--scale", "0.02", "--only", "drain"]
    done = run("pairs.py", "sdk", "--url", url, "--json", str(path), *sizes)
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(r"without SDK +with SDK", done.stdout)
    assert json.loads(path.read_text())["commit"] == "without SDK"


def test_a_comparison_without_and_with_a_subscription(
    local_server: OwnServer, tmp_path: Path
) -> None:
    url = local_server.database_url("postgres")
    sizes = ("--only", "failing", "--scale", "0.005", "--rounds", "2")
    done = run("pairs.py", "subscription", "--url", url, "--json", str(tmp_path / "p.json"), *sizes)
    assert done.returncode == 0, done.stderr
    assert re.search(r"without subscription +with subscription", done.stdout)


def test_the_sdk_of_a_workload_measures_and_samples() -> None:
    script = (
        "import workload; workload.set_up_sdk()\n"
        "from duetime.telemetry import sdk; print(sdk.measures(), sdk.traces())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "bench", capture_output=True, text=True
    )
    assert done.stdout == "True True\n", done.stderr
