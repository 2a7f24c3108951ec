"""What the drivers of peers share. A driver is called as

    BENCH_URL=... python drive_peer.py drain COUNT
    BENCH_URL=... python drive_peer.py lateness COUNT SECONDS

and prints one line of JSON: rates of a second, or a list of seconds by which jobs were late.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta

BATCH = 1_000
# Before the first is due: long enough for those that schedule so many in a second.
AHEAD, A_SECOND = 3.0, 250
PAUSE = 0.01


def url() -> str:
    logging.disable(logging.CRITICAL)
    return os.environ["BENCH_URL"]


def asked() -> tuple[str, int, float]:
    """The measure, how many, and within how many seconds."""
    name, count, *rest = sys.argv[1:]
    return name, int(count), float(rest[0]) if rest else 0.0


def instants(count: int, seconds: float) -> list[datetime]:
    """The same for every peer, counted from a moment soon to come."""
    dice = random.Random(1)  # noqa: S311
    start = datetime.now(UTC) + timedelta(seconds=AHEAD + count / A_SECOND)
    return [start + timedelta(seconds=dice.random() * seconds) for _ in range(count)]


def late(due: float) -> float:
    return time.time() - due


def tell_rates(count: int, scheduled: float, drained: float) -> None:
    tell({"schedule /s": count / scheduled, "drain /s": count / drained})


def tell_lates(lates: list[float]) -> None:
    tell({"late": lates})


def tell(document: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


async def until(empty: Callable[[], Awaitable[bool]]) -> None:
    """Until the peer's own tables show that nothing is left to do."""
    while not await empty():  # noqa: ASYNC110 - they tell nobody
        await asyncio.sleep(PAUSE)
