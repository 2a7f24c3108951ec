"""The trial of row transitions whose rows another process writes. That process is this file run as
a script: `python rows_wake.py URL STORE COUNT SECONDS`."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from rows import P99, TIMEOUT_SECONDS, Base, Post
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from trial import Goal, Spot, Take, Trial

from duetime.app import Duetime
from duetime.bench.figures import RoundFigures, lateness_figures
from duetime.events.types import TransitionApplied

THIS_FILE = str(Path(__file__).resolve())
# Gaps between commits vary by multiples of it, so that they never fall into step with a poll.
GOLDEN = 0.618


def waking(place: Callable[[Spot], str]) -> Take:
    """Measure from a row's time, set just before the commit of the process that writes it, to after
    the commit of the worker that applies it. The rows are in the database of the store."""

    async def take(spot: Spot) -> RoundFigures:
        store = place(spot)
        url = store.replace("postgresql:", "postgresql+psycopg:", 1)
        return lateness_figures(await late(url, store, spot.count(200), spot.seconds(20)))

    return take


async def late(url: str, store: str, count: int, seconds: float) -> list[float]:
    found: list[float] = []
    done = asyncio.Event()

    def applied(event: TransitionApplied) -> None:
        found.append(time.time() - event.due_at.timestamp())
        if len(found) == count:
            done.set()

    engine = create_engine(url)
    Base.metadata.create_all(engine)
    async with Duetime(store) as app:
        app.transitions.register(Base, engine)
        app.on(TransitionApplied, applied)
        async with app.worker(), asyncio.timeout(TIMEOUT_SECONDS + seconds):
            arguments = [THIS_FILE, url, store, str(count), str(seconds)]
            writer = await asyncio.create_subprocess_exec(sys.executable, *arguments)
            assert await writer.wait() == 0
            await done.wait()
    engine.dispose()
    return found


def write(url: str, store: str, count: int, seconds: float) -> None:
    engine = create_engine(url)
    app = Duetime(store)
    app.transitions.register(Base, engine)
    for number in range(1, count + 1):
        with Session(engine) as session:
            now = datetime.now(UTC)
            session.add(Post(id=number, title="new", status="draft", publish_at=now))
            session.commit()
        time.sleep(2 * seconds / count * (number * GOLDEN % 1))
    app.sync.close()
    engine.dispose()


WAKE = Trial(
    "rows-wake",
    "200 rows written by another process, due at once: how late they are changed",
    {
        "PostgreSQL": waking(lambda spot: spot.url),
        "SQLite": waking(lambda spot: spot.file),
    },
    [
        Goal("PostgreSQL p99 100 ms", ("PostgreSQL", P99), 100.0, most=True),
        Goal("SQLite p99 100 ms", ("SQLite", P99), 100.0, most=True),
    ],
)
TRIALS = [WAKE]


if __name__ == "__main__":
    url, store, count, seconds = sys.argv[1:]
    write(url, store, int(count), float(seconds))
