"""Counts for health checks and metrics, for all SQL stores."""

from __future__ import annotations

import json
from abc import ABC
from dataclasses import replace
from typing import Any, cast

from duetime.model.actions.claim import SeenWorker, WorkerInfo
from duetime.model.health.stats import LaneCount, StoreCounts
from duetime.model.health.worker import health_of_text, slots_of_text
from duetime.model.jobs.stats import JobStats, job_stats
from duetime.model.pause import QueuePause
from duetime.model.state import State
from duetime.model.tenant import Scope
from duetime.store.base import Store
from duetime.store.flow import Mode, Statement, Steps, flow
from duetime.store.sql.flows.column_reader import UNREADABLE
from duetime.store.sql.flows.lost_data import read_jobs
from duetime.store.sql.flows.records import (
    queue_pause,
    require_integers,
    require_texts,
    split_readable,
)

# Jobs are read in pages: parsing a job takes about ten microseconds, and may block an event loop.
JOBS_PAGE_SIZE = 1000


class StatsFlows(Store, ABC):
    """Flows that only read: they take no locks, so claims never wait for them."""

    @flow(Mode.read)
    def stats(
        self, tenant: Scope, *, alive: int, limit: int, most: int | None = None
    ) -> Steps[StoreCounts]:
        params: dict[str, object] = {
            "tenant": tenant if isinstance(tenant, str) else None,
            "untenanted": tenant is None or None,
        }
        lanes = yield from _lanes(params, most)
        finished = cast("Any", (yield Statement("stats_finished", params | {"limit": limit})))
        now = finished[0][0]
        return StoreCounts(
            now=now,
            lanes=lanes,
            finished={State(state): number for _, state, number in finished},
            workers=(yield from living_workers(alive)),
            jobs=(yield from _jobs(params, now)),
            paused=frozenset([pause.queue for pause in (yield from pauses())]),
        )

    @flow(Mode.read)
    def workers(self, alive: int) -> Steps[list[SeenWorker]]:
        return (yield from living_workers(alive))


def _lanes(params: dict[str, object], most: int | None) -> Steps[list[LaneCount]]:
    if most is None:
        found = cast("Any", (yield Statement("stats_lanes", params)))
        lanes = [LaneCount(*row) for row in found]
    else:
        bounded = params | {"window": most}
        found = cast("Any", (yield Statement("stats_lanes_bounded", bounded)))
        lanes = [replace(LaneCount(*row[:-1]), capped=bool(row[-1])) for row in found]
    require_texts(count.lane for count in lanes)
    return lanes


def living_workers(alive: int) -> Steps[list[SeenWorker]]:
    return [_seen_worker(row) for row in (yield Statement("stats_workers", {"alive": alive}))]


def pauses(queue: str | None = None) -> Steps[list[QueuePause]]:
    """Read the pauses in force: all, or that of one queue."""
    found = yield Statement("queue_pauses", {"queue": queue})
    return [pause for row in found if (pause := queue_pause(row)) is not None]


def _jobs(params: dict[str, object], now: int) -> Steps[JobStats]:
    """Count jobs by parsing all of them: only that shows which are unreadable."""
    total, last = JobStats(), ""
    while True:
        page = params | {
            "beyond_name": last,
            "job_name": None,
            "kept": True,
            "limit": JOBS_PAGE_SIZE,
        }
        found = yield from read_jobs(page)
        jobs, unreadable = split_readable(found)
        total += job_stats(jobs.values(), unreadable, now)
        if len(found) < JOBS_PAGE_SIZE:
            return total
        last = cast("str", found[-1][2])


def _seen_worker(row: Any) -> SeenWorker:
    id_, app, host, pid, kinds, jobs, queues, concurrency, seen_at, *rest = row
    health, started_at, version, slots = rest
    require_texts((id_, app, host, version))
    require_integers((pid, concurrency, seen_at, started_at))
    worker = WorkerInfo(
        id=id_,
        app=app,
        host=host,
        pid=pid,
        kinds=_names(kinds),
        queues=_names(queues),
        concurrency=concurrency,
        jobs=_names(jobs or "[]"),
        health=health_of_text(health),
        version=version,
        pools=slots_of_text(slots),
    )
    return SeenWorker(worker, started_at, seen_at)


def _names(text: str) -> list[str]:
    """Return a list of names. A damaged row must not hide the other workers, nor itself."""
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        return [UNREADABLE]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return [UNREADABLE]
    return names
