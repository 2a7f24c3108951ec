"""Compare a commit with the working tree, in turn: `make bench PAIRS=<commit>`; or the working tree
without an SDK of OpenTelemetry with itself beside one, `make bench PAIRS=sdk`; or without and with
a subscription to failures, `make bench PAIRS=subscription ONLY=failing`.

Wall-clock time says little on a machine that does other work. Processor seconds and bytes of WAL
say more, and a load that comes and goes affects both runs of a pair much alike. So each workload
runs on both trees, one right after the other; the commit begins in every other pair.
`comparison.py` and `interval.py` explain how the pairs are judged.

Each run is a process of its own in an empty database of its own. All databases are in one server,
which runs no checkpoint and no autovacuum within a measured section: they would hit random runs.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from comparison import Comparison, Figures, Pair, comparisons, per_action
from meter import Usage
from tree import COMPANIONS, ROOT, Tree, two_trees

from servers import GivenServer, NoServer, Server, open_own_server

# The number of actions in each workload.
WORKLOADS = {"drain": 50_000, "bulk": 100_000, "transactional": 2_000, "failing": 10_000}
# Measured only if they are named.
NAMED_ONLY = ("failing",)
SERVER = {
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
}
RUN_TIMEOUT_SECONDS = 300.0

Results = Mapping[str, Sequence[Comparison]]


@dataclass(frozen=True, slots=True)
class Bench:
    """A server, and the two trees whose workloads it serves."""

    server: Server
    old: Tree
    new: Tree
    scale: float

    def count(self, workload: str) -> int:
        return max(1, round(WORKLOADS[workload] * self.scale))

    def pair(self, workload: str, number: int) -> Pair:
        """Run both trees; the old tree begins in pairs with an odd number."""
        order = (self.old, self.new) if number % 2 else (self.new, self.old)
        figures = {tree.name: self.run(workload, tree, seed=number) for tree in order}
        return Pair(figures[self.old.name], figures[self.new.name])

    def run(self, workload: str, tree: Tree, seed: int) -> Figures:
        name, count = self.server.create_database(), self.count(workload)
        url = self.server.database_url(name)
        try:
            return per_action(run_child(workload, count, tree, environment(tree, url, seed)), count)
        finally:
            self.server.drop_database(name)


def environment(tree: Tree, url: str, seed: int) -> dict[str, str]:
    """Variables of a run: without settings of duetime, and with the same hashes in a pair."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("DUETIME_")}
    python = {
        "PYTHONPATH": str(tree.src),
        "PYTHONHASHSEED": str(seed),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    beside = {"BENCH_BESIDE": tree.beside} if tree.beside else {}
    return {**inherited, **python, **beside, "BENCH_URL": url}


def run_child(workload: str, count: int, tree: Tree, variables: Mapping[str, str]) -> Usage:
    script = Path(__file__).with_name("workload.py")
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(script), workload, str(count), str(tree.src)],
        cwd=tree.src,
        env=variables,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_SECONDS,
    )
    if done.returncode:
        raise SystemExit(f"{workload} failed on {tree.name}: {done.stderr.strip()[-2000:]}")
    return Usage(**json.loads(done.stdout))


def compare(bench: Bench, names: Sequence[str], rounds: int) -> Results:
    """Run the workloads in turn, pair after pair. Pair 0 warms up and does not count."""
    pairs: dict[str, list[Pair]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in names:
            say(f"{name}, pair {number} of {rounds}" if number else f"{name}, warm-up")
            pairs[name].append(bench.pair(name, number))
    return {name: comparisons(taken[1:]) for name, taken in pairs.items()}


def main() -> None:
    options = parse()
    # SIGTERM stops the server and the run, as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with TemporaryDirectory(prefix="duetime-bench-") as folder:
        old, new = two_trees(options.commit, Path(folder))
        with closing(open_server(options.url)) as server:
            bench = Bench(server, old, new, options.scale)
            results = compare(bench, options.only or usual_workloads(), options.rounds)
    save(options, old, results)
    print("\n".join(lines(bench, options.rounds, results)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "commit",
        help="what the working tree is compared with; "
        f"{' or '.join(COMPANIONS)}: itself beside such a one",
    )
    parser.add_argument("--only", action="append", choices=[*WORKLOADS], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=20, help="pairs of each; default: 20")
    parser.add_argument("--scale", type=float, default=1.0, help="0.05 for a quick look")
    parser.add_argument("--url", help="a server on this machine; databases are created in it")
    parser.add_argument("--json", type=Path, default=ROOT / ".bench" / "pairs.json")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def usual_workloads() -> list[str]:
    return [name for name in WORKLOADS if name not in NAMED_ONLY]


def open_server(url: str | None) -> Server:
    try:
        return GivenServer(url) if url else open_own_server(**SERVER)
    except NoServer as missing:
        raise SystemExit(f"there is no PostgreSQL: {missing}") from None


def lines(bench: Bench, rounds: int, results: Results) -> Iterator[str]:
    """A table of each workload: the medians of both trees, and the ratio of the pairs."""
    for name, figures in results.items():
        yield f"{name}: {bench.count(name):,} actions; median of {rounds}, per action"
        heads = f"{bench.old.name:>12} {bench.new.name:>12} {'ratio':>7}"
        yield f"  {'':<14} {heads}  95 % interval"
        yield from (figure.line() for figure in figures)


def save(options: argparse.Namespace, old: Tree, results: Results) -> None:
    document = {
        "commit": old.name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": options.rounds,
        "scale": options.scale,
        "workloads": {
            name: [figure.document() for figure in figures] for name, figures in results.items()
        },
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(document, indent=1) + "\n")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
