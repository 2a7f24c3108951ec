"""The verb of a MemoryStore that ends expired actions which no worker has claimed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from uuid import UUID

from duetime.model.actions.expiry import can_never_start, to_expired
from duetime.store.base import Store
from duetime.store.contract.expiry import ExpiredActions
from duetime.store.flow import immediate
from duetime.store.memory.tables import Tables


class MemoryExpiry(Store, ABC):
    """Cancels what has expired."""

    _tables: Tables

    @abstractmethod
    def _now(self) -> int: ...

    @immediate
    def cancel_expired(self, action_ids: Collection[UUID]) -> ExpiredActions:
        now = self._now()
        rows = (self._tables.unfinished.get(action_id) for action_id in sorted(action_ids))
        found = [row.record for row in rows if row is not None and not row.record.token]
        cancelled = [to_expired(record, now) for record in found if can_never_start(record, now)]
        for record in cancelled:
            self._tables.finish(record)
        return ExpiredActions(cancelled, changed=len(found) < len(action_ids))
