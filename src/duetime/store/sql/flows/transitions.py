"""What a store keeps about row transitions, for all SQL stores."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Any, cast

from duetime.model.act import Act
from duetime.model.ids import NewId
from duetime.model.kept_report import StoredReport
from duetime.store.contract.transitions import TransitionContract
from duetime.store.flow import Mode, Statement, Steps, flow
from duetime.store.sql.flows.audit import audit_row, insert_audit
from duetime.store.sql.flows.claims import clock


class TransitionFlows(TransitionContract, ABC):
    """Flows of reports, and of audit entries about transitions."""

    _ids: NewId

    @flow(resend=True)
    def keep_report(self, app: str, worker: str, report: str) -> Steps[None]:
        params = {"app": app, "worker": worker, "report": report}
        yield Statement("report_keep", params | {"now": (yield from clock())})

    @flow(Mode.read)
    def kept_report(self, app: str) -> Steps[StoredReport | None]:
        found = yield Statement("report", {"app": app})
        return StoredReport(*cast("Any", found[0])) if found else None

    @flow()
    def audit_transition(
        self,
        verb: str,
        act: Act,
        transition: str,
        before: Mapping[str, object],
        after: Mapping[str, object],
    ) -> Steps[None]:
        now = yield from clock()
        entry = audit_row(self._ids(), None, transition, before, after)
        yield insert_audit(verb, act, now, [entry], subject="transition")
