"""Damaged rows, for all SQL stores: finding which one a verb stumbles over, and ending it."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from duetime.errors import UnreadableRow
from duetime.model.actions.claim import Fence, LaneSpan
from duetime.model.error_group import error_group
from duetime.model.lane import DAMAGED_LANE
from duetime.store.base import Store
from duetime.store.flow import Mode, Statement, Steps, flow
from duetime.store.sql.statements.bulk_rows import json_param


class DamagedFlows(Store, ABC):
    """Flows that read no column that may be damaged."""

    @flow(Mode.read)
    def claimable_ids(self, span: LaneSpan, limit: int) -> Steps[list[UUID]]:
        where = {"lane": span.lane, "since": span.since, "ahead": span.ahead, "limit": limit}
        return [UUID(cast("str", row[0])) for row in (yield Statement("claimable_ids", where))]

    @flow()
    def fail_damaged(
        self, action_id: UUID, reason: str, *, without_data: bool = False
    ) -> Steps[bool]:
        if without_data:
            yield Statement("drop_damaged_data", {"id": str(action_id)})
        failure = {"id": str(action_id), "reason": reason, "error_group": error_group(reason)}
        if not (yield Statement("fail_damaged", failure)):
            return False
        yield Statement("delete_scheduled", {"ids": json_param([action_id])})
        return True

    @flow(Mode.single)
    def withdraw_damaged(self, action_id: UUID, reason: str) -> Steps[bool]:
        params = {"id": str(action_id), "lane": DAMAGED_LANE, "reason": reason}
        return bool((yield Statement("withdraw_damaged", params)))

    @flow(Mode.single)
    def drop_data(self, fence: Fence) -> Steps[bool]:
        params = {"id": str(fence.id), "token": str(fence.token)}
        return bool((yield Statement("drop_running_data", params)))

    @flow(Mode.read)
    def is_readable(self, action_id: UUID) -> Steps[bool]:
        try:
            yield Statement("get", {"id": str(action_id)})
        except UnreadableRow:
            return False
        return True

    @flow(Mode.read)
    def lost_jobs(self, app: str) -> Steps[frozenset[str]]:
        found = yield Statement("job_names", {"app": app})
        return frozenset((yield from _lost_jobs(sorted(cast("str", row[0]) for row in found))))

    @flow(Mode.read)
    def damaged_workers(self, app: str, alive: int) -> Steps[list[str]]:
        where = {"app": app, "alive": alive}
        try:
            return [cast("str", row[0]) for row in (yield Statement("damaged_workers", where))]
        except UnreadableRow:
            found = yield Statement("live_workers", where)
        damaged: list[str] = []
        for (worker,) in cast("Any", found):
            if (yield from _is_damaged(worker, where)):
                damaged.append(worker)
        return damaged


def _is_damaged(worker: str, where: Mapping[str, object]) -> Steps[bool]:
    try:
        return bool((yield Statement("damaged_workers", {**where, "worker": worker})))
    except UnreadableRow:
        return True


def _lost_jobs(names: Sequence[str]) -> Steps[list[str]]:
    """Return which of these jobs cannot be read, by halving."""
    try:
        if names:
            yield Statement("job_records", {"names": json_param(names)})
    except UnreadableRow:
        if len(names) == 1:
            return [*names]
        half = len(names) // 2
        return [*(yield from _lost_jobs(names[:half])), *(yield from _lost_jobs(names[half:]))]
    return []
