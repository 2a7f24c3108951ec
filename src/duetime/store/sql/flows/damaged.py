"""Damaged actions, for all SQL stores: finding which one a claim cannot take, and ending it."""

from __future__ import annotations

from abc import ABC
from typing import cast
from uuid import UUID

from duetime.model.actions.claim import LaneSpan
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
        if not (yield Statement("fail_damaged", {"id": str(action_id), "reason": reason})):
            return False
        yield Statement("delete_scheduled", {"ids": json_param([action_id])})
        return True

    @flow(Mode.single)
    def withdraw_damaged(self, action_id: UUID, reason: str) -> Steps[bool]:
        params = {"id": str(action_id), "lane": DAMAGED_LANE, "reason": reason}
        return bool((yield Statement("withdraw_damaged", params)))
