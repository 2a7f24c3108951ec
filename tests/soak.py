"""The long test with faults: python tests/soak.py [seeds [first]]

Lives through many histories of a cluster on all cores, shows how far it is, and ends with a
tally of what went wrong and what came of it. Then months of recurring jobs, until so many ticks
have come; `python tests/soak.py jobs [ticks [first]]` lives through these alone. Then plays each
SQL store against the specification, for longer than the tests do.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from duetime.store.base import Store
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore
from duetime.testing import FakeClock
from recurrence import campaign as recurring
from recurrence.month import draw_busy
from servers import NoServer, open_server
from simulation.campaign import Verdict, campaign
from store.empty import empty_postgres, empty_sqlite
from store.machine import LONGER, ROUND, play_rounds

SEEDS = 100_000
# Beyond those that every test run lives through.
FIRST = 1_000_000
# Of jobs; lived through before it is asked whether enough ticks have come.
MONTHS = 4
TICKS = 500_000
ROUNDS = range(1_000, 1_220)


def histories(seeds: range) -> Verdict:
    verdict, began = Verdict(), time.monotonic()
    for part in campaign(seeds):
        verdict.add(part)
        if part.failures:
            print(f"\n{part.told()}")
        show(verdict, len(seeds), time.monotonic() - began)
    print()
    return verdict


def show(verdict: Verdict, wanted: int, elapsed: float) -> None:
    rate = verdict.done / elapsed
    left = (wanted - verdict.done) / rate / 60
    failed = len(verdict.failures)
    told = f"{verdict.done:,} of {wanted:,} histories, {rate:.1f}/s, {left:.1f} min left"
    print(f"\r{told}, {failed} with violations ", end="", flush=True)


def report(verdict: Verdict) -> None:
    print(f"{verdict.seconds / 86_400:.1f} days of virtual time")
    for what, count in sorted(verdict.tally.items()):
        print(f"  {what:28}{count:12,}")
    print(verdict.told() if verdict.failures else "every guarantee held")


def months(ticks: int = TICKS, first: int = FIRST) -> recurring.Verdict:
    """Of recurring jobs, a few at a time, until enough ticks have come."""
    verdict, began = recurring.Verdict(), time.monotonic()
    while verdict.ticks < ticks:
        seeds = range(first + verdict.done, first + verdict.done + MONTHS)
        for part in recurring.campaign(seeds, draw_busy):
            verdict.add(part)
            if part.failures:
                print(f"\n{part.told()}")
            left = (ticks / verdict.ticks - 1) * (time.monotonic() - began) / 60
            told = f"{verdict.ticks:,} of {ticks:,} ticks of jobs, {max(left, 0):.1f} min left"
            print(f"\r{told}, {len(verdict.failures)} with violations ", end="", flush=True)
    print(f"\n{verdict.days:,.0f} days of virtual time")
    for what, count in sorted(verdict.tally.items()):
        print(f"  {what:28}{count:12,}")
    print(verdict.told() if verdict.failures else "every tick is accounted for")
    return verdict


def sqlite() -> None:
    with TemporaryDirectory() as folder:
        path, clock = Path(folder) / "duetime.db", FakeClock()
        store = SqliteStore(path, clock=clock)
        compare(clock, store, lambda: empty_sqlite(path))


def postgres() -> None:
    try:
        server = open_server()
    except NoServer as reason:
        print(f"WARNING: NOT RUN on PostgreSQL: {reason}")
        return
    name, clock = server.create_database(), FakeClock()
    url = server.database_url(name)
    compare(clock, PostgresStore(url, clock=clock), lambda: empty_postgres(url))
    server.drop_database(name)
    server.close()


def compare(clock: FakeClock, store: Store, empty: Callable[[], None]) -> None:
    """Raises the shortest life in which the store and the specification differ."""
    print(
        f"{type(store).__name__} against the specification, {ROUND * len(ROUNDS)} lives", flush=True
    )

    def emptied() -> Store:
        empty()
        return store

    for number in ROUNDS:
        play_rounds(clock, emptied, [number], LONGER)
        print(f"\r{number - ROUNDS.start + 1} of {len(ROUNDS)} rounds ", end="", flush=True)
    print()
    store.close()


def main(seeds: int = SEEDS, first: int = FIRST) -> int:
    verdict = histories(range(first, first + seeds))
    report(verdict)
    jobs = months()
    sqlite()
    postgres()
    return 1 if verdict.failures or jobs.failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["jobs"]:
        sys.exit(bool(months(*(int(argument) for argument in sys.argv[2:4])).failures))
    sys.exit(main(*(int(argument) for argument in sys.argv[1:3])))
