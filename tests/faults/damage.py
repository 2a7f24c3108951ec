"""Campaign: somebody writes over columns of rows while workers run; only those rows suffer, and a
queue stays paused."""

from __future__ import annotations

import random
from itertools import cycle, islice

from damaged_rows import (
    FAILS,
    QUEUES,
    RUNS,
    SHOWN_AS_UNREADABLE,
    SQLITE_FAILS,
    SQLITE_QUEUES,
    SQLITE_RUNS,
    UNREACHABLE,
    damage,
    execute,
)
from duetime import ANY
from duetime.model.actions.action import Action
from faults.campaign import (
    Campaign,
    StoreSetup,
    finish_campaign,
    pause,
    running_campaign,
    wait_until,
)
from faults.ledger import is_sqlite
from faults.oracle import Expectations, Verdict
from faults.progress import Progress
from faults.work_order import Work

WORKERS = 2
# Damaged actions have a tenant of their own: the oracle judges all others.
TENANT = "damaged"
# Paused from the beginning to the end, whatever becomes of its row.
PAUSED_QUEUE = "closed"
EVERYWHERE = [*FAILS, *RUNS, *SHOWN_AS_UNREADABLE, *UNREACHABLE]
SETTLE_SECONDS = 30


def damage_rows(setup: StoreSetup, count: int, progress: Progress, seed: int = 1) -> Verdict:
    rng = random.Random(seed)
    kinds = EVERYWHERE + (SQLITE_FAILS + SQLITE_RUNS if is_sqlite(setup.url) else [])
    rng.shuffle(kinds)
    with running_campaign(setup) as campaign:
        campaign.observer.sync.queues.pause(PAUSED_QUEUE)
        procs = [campaign.processes.start() for _ in range(WORKERS)]
        assert wait_until(lambda: all(campaign.has_started(proc) for proc in procs), 30)
        for done, assignments in enumerate(islice(cycle(kinds), count)):
            _damage_one(campaign, done, assignments)
            _damage_pause(campaign, rng)
            progress.show(done + 1, count)
            pause(rng.uniform(0.05, 0.2))
        fresh = campaign.processes.start()
        started = wait_until(lambda: campaign.has_started(fresh), SETTLE_SECONDS)
        ended = wait_until(lambda: not _unended(campaign), SETTLE_SECONDS)
        verdict = finish_campaign(campaign, Expectations())
        verdict.wrong += [] if started else ["no worker starts beside damaged rows"]
        verdict.wrong += (
            [] if ended else [f"{_unended(campaign)} damaged rows are left as they are"]
        )
        _check_visible(campaign, count, verdict)
        _check_paused(campaign, verdict)
    verdict.figures["faults"] = count
    return verdict


def _damage_one(campaign: Campaign, number: int, assignments: str) -> None:
    work = Work(900_000 + number, 0.0)
    action = campaign.observer.sync.schedule(work, delay=3600, tenant=TENANT)
    # The row that got the damaged id before may not be repaired yet.
    unique = assignments.replace("'zz'", f"'zz{number}'").replace("x'00'", f"x'00{number:08x}'")
    damage(campaign.setup.direct, unique, f"WHERE id = '{action.id}'")


def _damage_pause(campaign: Campaign, rng: random.Random) -> None:
    url = campaign.setup.direct
    chosen = rng.choice(QUEUES + (SQLITE_QUEUES if is_sqlite(url) else []))
    execute(url, f"UPDATE duetime_queues SET {chosen}")


def _unended(campaign: Campaign) -> int:
    """Return how many damaged rows are neither finished nor counted as unreachable."""
    stats = campaign.observer.sync.stats(tenant=ANY)
    others = campaign.observer.sync.stats(tenant=None)
    ours = [each.scheduled + each.running + each.waiting + each.parked for each in (stats, others)]
    return ours[0] - ours[1] - stats.unreachable


def _check_visible(campaign: Campaign, count: int, verdict: Verdict) -> None:
    """Every damaged row can still be read, and a failed one says why."""
    found = [action for action in _every_action(campaign) if action.tenant is not None]
    if len(found) != count:
        verdict.wrong.append(f"{count} rows were damaged, {len(found)} are found")
    for action in found:
        verdict.figures[f"damaged, {action.state}"] += 1
        if action.state == "failed" and not action.error:
            verdict.wrong.append(f"{action.id} failed without a reason")


def _check_paused(campaign: Campaign, verdict: Verdict) -> None:
    queues = campaign.observer.sync.queues.list()
    paused = [queue.name for queue in queues if queue.paused_at is not None]
    if paused != [PAUSED_QUEUE]:
        verdict.wrong.append(f"paused queues are {paused}")


def _every_action(campaign: Campaign) -> list[Action]:
    found: list[Action] = []
    cursor: str | None = None
    while True:
        page = campaign.observer.sync.find(tenant=ANY, limit=200, cursor=cursor)
        found += page
        cursor = page.next_cursor
        if cursor is None:
            return found
