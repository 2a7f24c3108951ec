"""What a store keeps about row transitions: the last report of each app, and audit entries."""

from __future__ import annotations

from duetime.model.act import Act
from duetime.model.kept_report import StoredReport
from duetime.testing.conformance.probe import SECOND, Probe
from duetime.testing.conformance.suite import Suite


class Reporting(Suite):
    async def test_the_last_report_of_an_app_is_kept(self, probe: Probe) -> None:
        store = probe.store
        assert await probe.do(store.kept_report("shop")) is None
        await probe.do(store.keep_report("shop", "host-1", '{"updated": 1}'))
        await probe.do(store.keep_report("bank", "host-2", "{}"))
        first = probe.now
        probe.pass_time(SECOND)
        last = '{"errors": ["\u2603 \\u0000"]}'
        await probe.do(store.keep_report("shop", "host-3", last))
        kept = await probe.do(store.kept_report("shop"))
        assert kept == StoredReport("shop", probe.now, "host-3", last)
        assert await probe.do(store.kept_report("bank")) == StoredReport(
            "bank", first, "host-2", "{}"
        )

    async def test_reports_are_cleared(self, probe: Probe) -> None:
        await probe.do(probe.store.keep_report("shop", "host-1", "{}"))
        await probe.do(probe.store.clear())
        assert await probe.do(probe.store.kept_report("shop")) is None

    async def test_an_act_on_rows_is_audited(self, probe: Probe) -> None:
        act = Act("ann", "after the fix", "cli")
        await probe.do(
            probe.store.audit_transition("retry", act, "Order.at", {"parked": 1}, {"parked": 0})
        )
        [entry] = await probe.find_audit(subject_id="Order.at")
        assert (entry.verb, entry.subject, entry.subject_id) == ("retry", "transition", "Order.at")
        assert (entry.by, entry.note, entry.source, entry.tenant) == (act.by, act.note, "cli", None)
        assert (entry.at, entry.before, entry.after) == (probe.now, {"parked": 1}, {"parked": 0})
