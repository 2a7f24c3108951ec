"""The flow that ends expired actions which no worker has claimed, for all SQL stores."""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection
from uuid import UUID

from duetime.model.actions.expiry import can_never_start, to_expired
from duetime.model.tenant import SYSTEM
from duetime.store.base import Store
from duetime.store.contract.expiry import ExpiredActions
from duetime.store.flow import Statement, Steps, flow
from duetime.store.sql.flows import records
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.statements.bulk_rows import json_param


class ExpiryFlows(Store, ABC):
    """The flow of `cancel_expired`."""

    @flow(resend=True)
    def cancel_expired(self, action_ids: Collection[UUID]) -> Steps[ExpiredActions]:
        ids = json_param(map(str, action_ids))
        found = [
            records.record(row) for row in (yield Statement("lock_scheduled_ids", {"ids": ids}))
        ]
        now = yield from clock()
        cancelled = [to_expired(record, now) for record in found if can_never_start(record, now)]
        for record in cancelled:
            own_id = json_param([str(record.id)])
            params = {"ids": own_id, "by": SYSTEM, "now": now, "error": record.error}
            yield Statement("cancel_history", params)
            yield Statement("delete_scheduled", {"ids": own_id})
        return ExpiredActions(cancelled, changed=len(found) < len(action_ids))
