"""The verbs of damaged rows of a MemoryStore, in which no row is ever damaged by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from itertools import islice
from uuid import UUID

from duetime.model.actions.claim import Fence, LaneSpan
from duetime.model.lane import DAMAGED_LANE
from duetime.store.base import Store
from duetime.store.flow import immediate
from duetime.store.memory import changes
from duetime.store.memory.tables import Tables


class MemoryDamaged(Store, ABC):
    """Finds and ends damaged actions, as tests of the worker ask for it."""

    _tables: Tables

    @abstractmethod
    def _now(self) -> int: ...

    @immediate
    def claimable_ids(self, span: LaneSpan, limit: int) -> list[UUID]:
        return list(islice(self._tables.lanes.due(span, self._now()), limit))

    @immediate
    def fail_damaged(self, action_id: UUID, reason: str, *, without_data: bool = False) -> bool:
        row = self._tables.claimable(action_id)
        if row is not None:
            failed = changes.to_failed(row.record, reason, self._now())
            dropped = replace(failed, payload="null", progress=None)
            self._tables.finish(dropped if without_data else failed)
        return row is not None

    @immediate
    def withdraw_damaged(self, action_id: UUID, reason: str) -> bool:
        row = self._tables.claimable(action_id)
        if row is not None:
            withdrawn = replace(row.record, error=reason)
            self._tables.put(replace(row, record=withdrawn, lane=DAMAGED_LANE))
        return row is not None

    @immediate
    def is_readable(self, action_id: UUID) -> bool:
        return True

    @immediate
    def drop_data(self, fence: Fence) -> bool:
        row = self._tables.fenced(fence)
        if row is not None:
            dropped = replace(row.record, payload="null", progress=None, error=None)
            self._tables.put(replace(row, record=dropped))
        return row is not None

    @immediate
    def lost_jobs(self, app: str) -> frozenset[str]:
        return frozenset()

    @immediate
    def damaged_workers(self, app: str, alive: int) -> list[str]:
        return []
