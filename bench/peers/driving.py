"""Functions shared by the drivers of peers. A driver is called as

    BENCH_URL=... python drive_peer.py drain COUNT
    BENCH_URL=... python drive_peer.py lateness COUNT SECONDS

and prints a line of JSON: rates per second, or a list of seconds by which jobs were late.
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
# Time before the first job is due: long enough to schedule all, at this rate.
HEAD_START_SECONDS = 3.0
SCHEDULED_PER_SECOND = 250
POLL_SECONDS = 0.01


def url() -> str:
    logging.disable(logging.CRITICAL)
    return os.environ["BENCH_URL"]


def arguments() -> tuple[str, int, float]:
    """Return the measure, the number of jobs, and the seconds over which they are spread."""
    name, count, *rest = sys.argv[1:]
    return name, int(count), float(rest[0]) if rest else 0.0


def instants(count: int, seconds: float) -> list[datetime]:
    """Return due times, with the same offsets for every peer, from a moment in the near future."""
    dice = random.Random(1)  # noqa: S311
    start = datetime.now(UTC) + timedelta(seconds=HEAD_START_SECONDS + count / SCHEDULED_PER_SECOND)
    return [start + timedelta(seconds=dice.random() * seconds) for _ in range(count)]


def late(due: float) -> float:
    return time.time() - due


def print_rates(count: int, scheduled: float, drained: float) -> None:
    print_json({"schedule /s": count / scheduled, "drain /s": count / drained})


def print_lates(lates: list[float]) -> None:
    print_json({"late": lates})


def print_json(document: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


async def until(empty: Callable[[], Awaitable[bool]]) -> None:
    """Wait until the peer's own tables show that no job is left."""
    while not await empty():  # noqa: ASYNC110 - peers send no event
        await asyncio.sleep(POLL_SECONDS)
