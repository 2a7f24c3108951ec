"""The contract of repeating: a finished action is scheduled anew, as another action."""

from __future__ import annotations

from abc import ABC, abstractmethod
from uuid import UUID

from duetime.model.act import Act
from duetime.model.actions.action import NewAction, Record
from duetime.model.tenant import Scope
from duetime.store.flow import Flow


class RepeatContract(ABC):
    """The verb of repeating, a part of `duetime.store.base.Store`."""

    @abstractmethod
    def repeat(self, action_id: UUID, tenant: Scope, act: Act, new: NewAction) -> Flow[Record]:
        """Add the new action because a finished one is repeated, audited at the finished one with
        the new id. Returns the new action. Any other state: IllegalState."""
