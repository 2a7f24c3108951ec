"""Campaign: a stranger without any right floods the channel of wakes, under load."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import psycopg

from duetime.model.lane import lane_of
from duetime.store.sql.statements.table_names import TableNames
from faults.campaign import StoreSetup, finish_campaign, pause, running_campaign, wait_until
from faults.ledger import connect
from faults.oracle import Expectations, Verdict
from faults.progress import Progress
from faults.recovery import RARE_SWEEPS, check_listening, check_recovered
from hostile_wakes import LIES, REFUSED, message, mutated

WORKERS = 3
STRANGER, PASSWORD = "duetime_stranger", "stranger"
# The lane of the actions of these campaigns, with instants that are wrong.
REAL_LANE = lane_of("default", 1, None)
REAL_LIES = [message([REAL_LANE, instant]) for instant in (-(10**15), 1, 10**17)]
PER_SECOND = 200
# After this many messages, recovery is checked.
CHECK_INTERVAL = 2_000


def forged_wakes(setup: StoreSetup, count: int, progress: Progress, seed: int = 1) -> Verdict:
    rng = random.Random(seed)
    setup = replace(setup, settings={**setup.settings, **RARE_SWEEPS})
    channel = TableNames().channel
    seen = Verdict()
    with running_campaign(setup) as campaign, stranger(setup) as connection:
        procs = [campaign.processes.start() for _ in range(WORKERS)]
        assert wait_until(lambda: all(campaign.has_started(proc) for proc in procs), 30)
        for done in range(1, count + 1):
            connection.execute("SELECT pg_notify(%s, %s)", (channel, _forge(rng)))
            pause(rng.expovariate(PER_SECOND))
            progress.show(done, count)
            if done % CHECK_INTERVAL == 0 or done == count:
                check_recovered(campaign, procs, seen)
        campaign.client.stop()
        # While the flood goes on, actions of one process start at once in another.
        with flood(connection, channel, rng):
            check_listening(campaign, WORKERS, seen)
        verdict = finish_campaign(campaign, Expectations())
        wrong = sum("refused a message" not in proc.log.read_text() for proc in procs)
    if wrong:
        verdict.wrong.append(f"{wrong} workers did not say that they refused messages")
    verdict.include(seen)
    verdict.figures["faults"] = count
    return verdict


def _forge(rng: random.Random) -> str:
    return rng.choice([*REFUSED.values(), *LIES.values(), *REAL_LIES, mutated(rng), mutated(rng)])


@contextmanager
def stranger(setup: StoreSetup) -> Iterator[psycopg.Connection]:
    """Yield a connection of a role that may connect, and nothing else."""
    with closing(connect(setup.direct)) as admin:
        admin.execute(f"DROP ROLE IF EXISTS {STRANGER}")
        admin.execute(f"CREATE ROLE {STRANGER} LOGIN PASSWORD '{PASSWORD}'")
    parts = urlsplit(setup.direct)
    url = f"postgresql://{STRANGER}:{PASSWORD}@{parts.hostname}:{parts.port}{parts.path}"
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@contextmanager
def flood(connection: psycopg.Connection, channel: str, rng: random.Random) -> Iterator[None]:
    """Send forged messages from a thread until the context ends."""
    enough = threading.Event()

    def send() -> None:
        while not enough.wait(1 / PER_SECOND):
            connection.execute("SELECT pg_notify(%s, %s)", (channel, _forge(rng)))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
