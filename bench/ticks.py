"""Many jobs that are due in the same second: `python bench/run.py --only jobs`."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

from duetime import Context, Duetime, Instants

# Workers that come up and seed so many jobs need so many seconds for each ten thousand.
SEEDING = 20


async def ticks(url: str, count: int, workers: int) -> str:
    """`count` jobs due at one instant: how long until the last of their ticks has started? Each
    must start once, however many workers there are."""
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=10 + SEEDING * workers)
    seen: Counter[str | None] = Counter()
    late: list[float] = []
    done = asyncio.Event()

    def make() -> Duetime:
        app = Duetime(url)
        for number in range(count):
            app.job(Instants([due]), name=f"bench-tick-{number}")(report)
        return app

    async def report(ctx: Context) -> None:
        late.append(time.time() - due.timestamp())
        seen[ctx.job] += 1
        if len(seen) == count:
            done.set()

    apps = [make() for _ in range(workers)]
    began = time.perf_counter()
    running = [app.worker() for app in apps]
    for worker in running:
        await worker.__aenter__()
    seeded = time.perf_counter() - began
    await done.wait()
    for worker in running:
        await worker.__aexit__(None, None, None)
    for app in apps:
        await app.aclose()
    twice = sum(number > 1 for number in seen.values())
    crew = f"{workers} worker{'s' * (workers > 1)}"
    return (
        f"{count:,} jobs due at once, {crew}: seeded in {seeded:.1f} s"
        f"    last start {max(late):.2f} s late    {twice} twice"
    )
