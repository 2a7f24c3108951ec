"""The soak test: python tests/soak.py [seeds [first]]

Simulates many histories of a cluster on all cores, shows the progress, and prints a tally of
faults and results. Then simulates months of recurring jobs, until a number of ticks is reached;
`python tests/soak.py jobs [ticks [first]]` runs these alone. Then compares each SQL store with
the specification, for longer than the tests do.
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
from job_simulation import campaign as job_campaign
from job_simulation.scenario import draw_busy
from servers import NoServer, open_server
from simulation.campaign import Verdict, campaign
from store.clearing import clear_postgres, clear_sqlite
from store.random_rounds import LIVES_PER_ROUND, LONG_LIVES, run_rounds

SEEDS = 100_000
# Beyond the seeds of normal test runs.
FIRST_SEED = 1_000_000
# Months of jobs that are simulated at a time.
MONTHS = 4
TICKS = 500_000
ROUNDS = range(1_000, 1_220)


def histories(seeds: range) -> Verdict:
    verdict, began = Verdict(), time.monotonic()
    for part in campaign(seeds):
        verdict.add(part)
        if part.failures:
            print(f"\n{part.report()}")
        show(verdict, len(seeds), time.monotonic() - began)
    print()
    return verdict


def show(verdict: Verdict, wanted: int, elapsed: float) -> None:
    rate = verdict.done / elapsed
    left = (wanted - verdict.done) / rate / 60
    failed = len(verdict.failures)
    progress = f"{verdict.done:,} of {wanted:,} histories, {rate:.1f}/s, {left:.1f} min left"
    print(f"\r{progress}, {failed} with violations ", end="", flush=True)


def report(verdict: Verdict) -> None:
    print(f"{verdict.seconds / 86_400:.1f} days of virtual time")
    for what, count in sorted(verdict.tally.items()):
        print(f"  {what:28}{count:12,}")
    print(verdict.report() if verdict.failures else "every guarantee held")


def months(ticks: int = TICKS, first: int = FIRST_SEED) -> job_campaign.Verdict:
    """Simulate months of recurring jobs until they had enough ticks."""
    verdict, began = job_campaign.Verdict(), time.monotonic()
    while verdict.ticks < ticks:
        seeds = range(first + verdict.done, first + verdict.done + MONTHS)
        for part in job_campaign.campaign(seeds, draw_busy):
            verdict.add(part)
            if part.failures:
                print(f"\n{part.report()}")
            left = (ticks / verdict.ticks - 1) * (time.monotonic() - began) / 60
            progress = f"{verdict.ticks:,} of {ticks:,} ticks of jobs, {max(left, 0):.1f} min left"
            print(f"\r{progress}, {len(verdict.failures)} with violations ", end="", flush=True)
    print(f"\n{verdict.days:,.0f} days of virtual time")
    for what, count in sorted(verdict.tally.items()):
        print(f"  {what:28}{count:12,}")
    print(verdict.report() if verdict.failures else "every tick is accounted for")
    return verdict


def sqlite() -> None:
    with TemporaryDirectory() as folder:
        path, clock = Path(folder) / "duetime.db", FakeClock()
        store = SqliteStore(path, clock=clock)
        compare(clock, store, lambda: clear_sqlite(path))


def postgres() -> None:
    try:
        server = open_server()
    except NoServer as reason:
        print(f"WARNING: NOT RUN on PostgreSQL: {reason}")
        return
    name, clock = server.create_database(), FakeClock()
    url = server.database_url(name)
    compare(clock, PostgresStore(url, clock=clock), lambda: clear_postgres(url))
    server.drop_database(name)
    server.close()


def compare(clock: FakeClock, store: Store, empty: Callable[[], None]) -> None:
    """Raise the shortest history in which the store and the specification differ."""
    print(
        f"{type(store).__name__} against the specification, "
        f"{LIVES_PER_ROUND * len(ROUNDS)} histories",
        flush=True,
    )

    def cleared_store() -> Store:
        empty()
        return store

    for number in ROUNDS:
        run_rounds(clock, cleared_store, [number], LONG_LIVES)
        print(f"\r{number - ROUNDS.start + 1} of {len(ROUNDS)} rounds ", end="", flush=True)
    print()
    store.close()


def main(seeds: int = SEEDS, first: int = FIRST_SEED) -> int:
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
