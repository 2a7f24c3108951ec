"""The part of the store contract that ends expired actions which no worker has claimed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.store.flow import Flow


@dataclass(frozen=True, slots=True)
class ExpiredActions:
    """The actions that were cancelled, and whether any was not scheduled any more."""

    cancelled: Sequence[Record]
    changed: bool


class ExpiryContract(ABC):
    """Frees what an expired action holds, before a worker cancels it."""

    @abstractmethod
    def cancel_expired(self, action_ids: Collection[UUID]) -> Flow[ExpiredActions]:
        """Cancel those of these actions that are scheduled and have expired, whatever their tenant,
        as the worker would that claims one too late: with the reason, by the system, without a run
        or an audit entry. The children of the cancelled ones are the caller's to settle."""
