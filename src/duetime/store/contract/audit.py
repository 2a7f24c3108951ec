"""The part of the store contract about audit entries that no other verb writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.store.flow import Flow


class AuditContract(ABC):
    """Audit entries of acts whose verb writes none itself."""

    @abstractmethod
    def audit_schedules(self, created: Sequence[Record], act: Act) -> Flow[None]:
        """Write an entry for each action that was just added, as `act`, but by the actor who
        scheduled it. An entry has the id of its action, so that a second sending writes none."""
