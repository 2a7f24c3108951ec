"""Measure duetime beside its peers: `make bench`, or `python bench/run.py --help`.

Every trial runs its contenders in turn, for several rounds, each in its own database on the same
server. A measurement stops when the store shows that all work is finished.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import ballast
import costs
import dashboard
import peer
import precision
import psycopg
import rows
import rows_wake
import shifts
import steady
import throughput
import ticks
import web
from peer import ROOT
from report import Measured, keep, lines, machine, summary
from rounds import measure
from trial import Take, Trial

from servers import GivenServer, NoServer, Server, open_own_server

MODULES = (
    *(throughput, precision, steady, ballast, costs, ticks),
    *(rows, rows_wake, shifts, web, dashboard),
)
TRIALS: Mapping[str, Trial] = {trial.name: trial for module in MODULES for trial in module.TRIALS}
# Settings of a small production server: every commit on disk, no checkpoint during a trial.
SERVER = {
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
}
REPORTED_SETTINGS = (
    "server_version",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "shared_buffers",
)


def main() -> None:
    options = parse()
    # Stop the server and all workers, as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    logging.disable(logging.CRITICAL)
    if options.list:
        for trial in TRIALS.values():
            print(f"{trial.name:<14} {trial.words}{'; only by name' if trial.apart else ''}")
        return
    if options.peers:
        say("peers: installing what is missing into .bench")
        for failure in peer.install():
            say(f"SKIPPED: {failure}")
    names = options.only or [name for name, trial in TRIALS.items() if not trial.apart]
    with opened(options.url) as server:
        about = {**machine(), **server_facts(server), "peers": peer.versions()}
        done = [run(TRIALS[name], server, options, about) for name in names]
    print("\n".join(summary([measured for measured in done if measured is not None])))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=[*TRIALS], metavar="NAME")
    parser.add_argument("--list", action="store_true", help="list the trials and exit")
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds of each trial, at most; default: 3"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="factor for all sizes; 0.05 for a quick run"
    )
    parser.add_argument("--url", help="a server on which databases are created and dropped")
    parser.add_argument("--json", type=Path, default=ROOT / ".bench" / "bench.json")
    parser.add_argument(
        "--no-peers", dest="peers", action="store_false", help="measure duetime alone"
    )
    return parser.parse_args()


def run(
    trial: Trial, server: Server | None, options: argparse.Namespace, about: Mapping[str, Any]
) -> Measured | None:
    if server is None and trial.needs_server:
        say(f"{trial.name}: SKIPPED, no PostgreSQL")
        return None
    began = time.monotonic()
    measured = measure(
        trial,
        contenders(trial, options.peers),
        server,
        rounds=options.rounds,
        scale=options.scale,
        progress=say,
    )
    keep(options.json, measured, about)
    print("\n".join(lines(measured)), f"\n  ({time.monotonic() - began:.0f} s)\n", flush=True)
    return measured


def contenders(trial: Trial, peers: bool) -> dict[str, Take]:
    return {
        name: take for name, take in trial.contenders.items() if peers or name not in peer.PEERS
    }


@contextmanager
def opened(url: str | None) -> Iterator[Server | None]:
    """Yield the server of all contenders; None if there is none."""
    try:
        server = GivenServer(url) if url else open_own_server(**SERVER)
    except NoServer as missing:
        say(f"postgresql: SKIPPED, {missing}")
        yield None
        return
    try:
        yield server
    finally:
        server.close()


def server_facts(server: Server | None) -> dict[str, Any]:
    if server is None:
        return {}
    with psycopg.connect(server.url) as connection:
        rows = connection.execute(
            "SELECT name, setting || coalesce(unit, '') FROM pg_settings WHERE name = ANY(%s)",
            (list(REPORTED_SETTINGS),),
        ).fetchall()
    return {"postgresql": dict(rows)}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
