"""What a MemoryStore keeps about row transitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from duetime.model.act import Act
from duetime.model.kept_report import StoredReport
from duetime.store.contract.transitions import TransitionContract
from duetime.store.flow import immediate
from duetime.store.memory.tables import Tables


class MemoryTransitions(TransitionContract, ABC):
    """Reports, and audit entries about transitions."""

    _tables: Tables

    @abstractmethod
    def _now(self) -> int: ...

    @abstractmethod
    def _audit(
        self,
        verb: str,
        act: Act,
        subject: tuple[str, str],
        tenant: str | None,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> None: ...

    @immediate
    def keep_report(self, app: str, worker: str, report: str) -> None:
        self._tables.set_report(StoredReport(app, self._now(), worker, report))

    @immediate
    def kept_report(self, app: str) -> StoredReport | None:
        return self._tables.reports.get(app)

    @immediate
    def audit_transition(
        self,
        verb: str,
        act: Act,
        transition: str,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> None:
        self._audit(verb, act, ("transition", transition), None, before, after)
