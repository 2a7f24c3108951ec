"""Where SQLite needs several statements for what PostgreSQL does in one."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, cast
from uuid import UUID

from pydantic_core import from_json

from duetime.model.actions.claim import Claim, Claimed, ClaimOrder, Lease, Presence, Renewed, Swept
from duetime.model.actions.completion import Again, Completed, Finish
from duetime.model.actions.inserted import Births
from duetime.model.actions.new_actions import NewActions
from duetime.store.flow import Mode, Rows, Statement, Steps, flow
from duetime.store.sql.flows import records as rows
from duetime.store.sql.flows.add import insert_first
from duetime.store.sql.flows.claims import (
    KEEP_WORKER,
    clock,
    order_params,
    presence_params,
    token_prefix,
)
from duetime.store.sql.flows.sql_store import SqlFlows
from duetime.store.sql.statements.bulk_rows import dump

# Columns of `due.sql`.
PLACE, PAYLOAD = 0, 4
DUE = itemgetter(8)


class SqliteFlows(SqlFlows, ABC):
    """It cannot change rows inside a WITH clause, and has no lateral joins."""

    @flow(Mode.claim)
    def claim(self, order: ClaimOrder) -> Steps[Claimed]:
        tokens = token_prefix()
        params = order_params(order) | {"tokens": _dashed(tokens)}
        claims: list[Claim] = []
        now: int | None = None
        for span in order.spans:
            if len(claims) >= order.limit:
                break
            where = {"lane": span.lane, "since": span.since, "ahead": span.ahead}
            left = {"limit": order.limit - len(claims)}
            now, due = yield from _due(params | where | left)
            if due:
                yield Statement("claim", params | {"places": dump(row[PLACE] for row in due)})
                claims += rows.numbered_claims(tokens, due)
        return Claimed((yield from clock()) if now is None else now, claims)

    def _insert_fresh(self, new: NewActions) -> Steps[Births]:
        return insert_first(new)

    def _finish(self, finishes: Sequence[Finish], rescuing: bool) -> Steps[Completed]:
        params = rows.ending_params(finishes) | {"rescuing": rescuing or None}
        yield Statement("finish_history", params)
        ((count, waiting),) = cast("Any", (yield Statement("finish_told", params)))
        if count == len(finishes):
            yield Statement("finish", params)
            ended = {one.id for one in finishes}
        else:
            gone = cast("Any", (yield Statement("finish", params | {"some": True})))
            ended = {UUID(action_id) for (action_id,) in gone}
        if not waiting:
            return Completed(ended, set())
        found = cast("Any", (yield Statement("waited_for", {"ids": dump(ended)})))
        return Completed(ended, {UUID(parent) for (parent,) in found})

    def _again(self, agains: Sequence[Again], rescuing: bool) -> Steps[Rows]:
        params = rows.ending_params(agains) | {"rescuing": rescuing or None}
        yield Statement("again_runs", params)
        return (yield Statement("again", params))

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


def _due(params: Mapping[str, object]) -> Steps[tuple[int, list[list[Any]]]]:
    """The store's clock, and rows of `due.sql` by due time."""
    ((now, found),) = cast("Any", (yield Statement("due", params)))
    due = sorted(from_json(found), key=DUE)
    long = [row[PLACE] for row in due if row[PAYLOAD] is None]
    if long:
        payloads = dict(cast("Any", (yield Statement("payloads", {"places": dump(long)}))))
        for row in due:
            row[PAYLOAD] = payloads.get(row[PLACE], row[PAYLOAD])
    return now, due


def _dashed(digits: str) -> str:
    """The beginning of a UUID, as SQLite keeps it."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:]}-"
