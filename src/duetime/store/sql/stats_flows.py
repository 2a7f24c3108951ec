"""The health figures, for every SQL store."""

from __future__ import annotations

import json
from abc import ABC
from typing import Any, cast

from duetime.model.claim import Presence
from duetime.model.state import State
from duetime.model.stats import Counted, LaneCount
from duetime.model.tenant import Scope
from duetime.store.base import Store
from duetime.store.flow import Mode, Statement, Steps, flow


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
        workers = cast("Any", (yield Statement("stats_workers", {"alive": alive})))
        return Counted(
            now=finished[0][0],
            lanes=[LaneCount(*row) for row in lanes],
            finished={State(state): number for _, state, number in finished},
            workers=[_seen(row) for row in workers],
        )


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
