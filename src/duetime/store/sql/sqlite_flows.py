"""Where SQLite needs several statements for what PostgreSQL does in one."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from duetime.model.claim import Claim, Claimed, ClaimOrder, Lease, Presence, Renewed, Swept
from duetime.model.ending import Again, Finish
from duetime.store.flow import Mode, Rows, Statement, Steps, flow
from duetime.store.sql import rows
from duetime.store.sql.flows import SqlFlows
from duetime.store.sql.table import dump
from duetime.store.sql.worker_flows import KEEP_WORKER, clock, order_params, presence_params


class SqliteFlows(SqlFlows, ABC):
    """It cannot change rows inside a WITH clause, and has no lateral joins."""

    @flow(Mode.claim)
    def claim(self, order: ClaimOrder) -> Steps[Claimed]:
        now = yield from clock()
        claims: list[Claim] = []
        for span in order.spans:
            if len(claims) >= order.limit:
                break
            params = {"lane": span.lane, "since": span.since, "ahead": span.ahead, "now": now}
            params |= order_params(order) | {"limit": order.limit - len(claims)}
            taken = [rows.claim(row) for row in (yield Statement("claim", params))]
            # UPDATE gives its rows in an order of its own.
            claims += sorted(taken, key=lambda one: one.due_at)
        return Claimed(now, claims)

    def _end(
        self, name: str, endings: Sequence[Finish] | Sequence[Again], rescuing: bool
    ) -> Steps[Rows]:
        now = yield from clock()
        params = rows.ending_params(endings) | {"rescuing": rescuing or None, "now": now}
        yield Statement({"finish": "finish_history", "again": "again_runs"}[name], params)
        return (yield Statement(name, params))

    def _renew(self, leases: Sequence[Lease], lease: int) -> Steps[Renewed]:
        now = yield from clock()
        params = {"leases": rows.lease_rows(leases), "lease": lease, "now": now}
        found = cast("Any", (yield Statement("renew", params)))
        kept = {UUID(action_id): stop_by for action_id, stop_by in found}
        # Nobody else can hold a row while we write, so what was not renewed is lost.
        return Renewed(now, kept, frozenset(held.id for held in leases) - kept.keys())

    @flow(resend=True)
    def sweep(self, presence: Presence, ahead: int, limit: int) -> Steps[Swept]:
        now = yield from clock()
        shown = presence_params(presence)
        here = yield Statement("seen" if presence.introduced else "present", shown | {"now": now})
        since = {"known": bool(here), "started_at": here[0][0] if here else 0}
        params = {"ahead": ahead, "limit": limit, "now": now}
        (row,) = yield Statement("sweep", shown | params | since | self._among_children())
        return self._swept(row, presence)

    @flow()
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> Steps[int]:
        params = {"keep": keep, "keep_failed": keep_failed, "limit": limit}
        gone = yield Statement("prune", params)
        if gone:
            yield Statement("prune_runs", {"ids": dump(row[0] for row in gone)})
        yield Statement("prune_workers", {"keep_worker": KEEP_WORKER})
        yield Statement("prune_ticks", params)
        return len(gone)
