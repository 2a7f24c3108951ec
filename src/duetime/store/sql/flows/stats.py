"""The health figures, for every SQL store."""

from __future__ import annotations

import json
from abc import ABC
from typing import Any, cast

from duetime.model.actions.claim import Presence
from duetime.model.health.stats import Counted, LaneCount
from duetime.model.jobs.stats import JobStats, job_stats
from duetime.model.state import State
from duetime.model.tenant import Scope
from duetime.store.base import Store
from duetime.store.flow import Mode, Statement, Steps, flow
from duetime.store.sql.flows.job_records import parted

# So many jobs are read at a time: reading one takes some ten microseconds, and a loop may wait.
PAGE = 1000


class StatsFlows(Store, ABC):
    """Reads only: nobody waits for them, least of all a claim."""

    @flow(Mode.read)
    def stats(self, tenant: Scope, *, alive: int, limit: int) -> Steps[Counted]:
        params: dict[str, object] = {
            "tenant": tenant if isinstance(tenant, str) else None,
            "untenanted": tenant is None or None,
        }
        lanes = cast("Any", (yield Statement("stats_lanes", params)))
        finished = cast("Any", (yield Statement("stats_finished", params | {"limit": limit})))
        workers = yield from _workers(alive)
        now = finished[0][0]
        return Counted(
            now=now,
            lanes=[LaneCount(*row) for row in lanes],
            finished={State(state): number for _, state, number in finished},
            workers=workers,
            jobs=(yield from _jobs(params, now)),
        )

    @flow(Mode.read)
    def workers(self, alive: int) -> Steps[list[tuple[Presence, int]]]:
        return (yield from _workers(alive))


def _workers(alive: int) -> Steps[list[tuple[Presence, int]]]:
    return [_seen(row) for row in (yield Statement("stats_workers", {"alive": alive}))]


def _jobs(params: dict[str, object], now: int) -> Steps[JobStats]:
    """All are read, page by page: whether one can be read is not known before."""
    total, last = JobStats(), ""
    while True:
        page = params | {"beyond_name": last, "job_name": None, "kept": True, "limit": PAGE}
        found = yield Statement("jobs_page", page)
        jobs, unreadable = parted(found)
        total += job_stats(jobs.values(), unreadable, now)
        if len(found) < PAGE:
            return total
        last = cast("str", found[-1][2])


def _seen(row: Any) -> tuple[Presence, int]:
    id_, app, host, pid, kinds, jobs, queues, concurrency, seen_at = row
    return Presence(
        id=id_,
        app=app,
        host=host,
        pid=pid,
        kinds=json.loads(kinds),
        queues=json.loads(queues),
        concurrency=concurrency,
        jobs=json.loads(jobs or "[]"),
    ), seen_at
