"""The part of the store contract that is about row transitions, whose rows are not in the store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from duetime.model.act import Act
from duetime.model.kept_report import StoredReport
from duetime.store.flow import Flow


class TransitionContract(ABC):
    """Keeps the last report of each app, and audits what people do to rows."""

    @abstractmethod
    def keep_report(self, app: str, worker: str, report: str) -> Flow[None]:
        """Store the text of an app's report in place of the one before, at the store's now."""

    @abstractmethod
    def kept_report(self, app: str) -> Flow[StoredReport | None]:
        """Return the last report of an app; None if it has none."""

    @abstractmethod
    def audit_transition(
        self,
        verb: str,
        act: Act,
        transition: str,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> Flow[None]:
        """Write an audit entry whose subject is a transition, named `Model.column`."""
