"""Checks what each verb of an operator did to its job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duetime.errors import DuetimeError
from duetime.model.actions.action import Record
from duetime.model.clock import from_micros
from duetime.model.jobs.change import AppliedJobChange
from duetime.model.jobs.job import Overlap
from duetime.model.state import State
from job_simulation.expected_job import ExpectedJob, TickFate
from job_simulation.operator_call import OperatorCall
from job_simulation.recording_store import UnfinishedByJob

if TYPE_CHECKING:
    from job_simulation.job_checker import JobChecker


class OperatorChecker:
    """Updates the model when the store has performed a call, even if its reply is lost."""

    def __init__(self, checker: JobChecker) -> None:
        self._checker = checker

    def check(
        self,
        call: OperatorCall,
        now: int,
        before: UnfinishedByJob,
        changes: dict[str, AppliedJobChange],
        value: object,
    ) -> None:
        expected = self._checker.expected_jobs.get(call.name)
        allowed = self._is_allowed(call, expected, now)
        if allowed == isinstance(value, DuetimeError):
            self._checker.violation(
                "refused" if allowed else "allowed", call.verb, call.name, value
            )
            return
        if changes.keys() - {call.name}:
            self._checker.violation("an edit changed another job", call.name, *changes)
        if not allowed:
            self._checker.trace.count("operator calls refused")
            return
        self._checker.trace.count(f"operator calls: {call.verb}")
        if expected is None:
            self._first_put(call, now)
        else:
            self._apply(call, expected, now, before, changes)

    def _apply(
        self,
        call: OperatorCall,
        expected: ExpectedJob,
        now: int,
        before: UnfinishedByJob,
        changes: dict[str, AppliedJobChange],
    ) -> None:
        """Change the expected job as the call must have changed the stored one."""
        unfinished = before.get(call.name, [])
        records = self._checker.records(changes.get(call.name))
        match call.verb:
            case "pause":
                self._pause(expected, call, now, before, changes)
            case "resume" if expected.is_paused(now):
                expected.paused, expected.until = False, None
                self._checker.arm(expected, now)
            case "trigger":
                self._trigger(expected, call, unfinished, records)
            case "remove":
                self._checker.catch_up(expected, now, before, changes, overtaken=True)
                expected.removed = True
                self._checker.arm(expected, now)
                self._check_cancelled([record for record in unfinished if record.token is None])
            case "restore" if expected.removed:
                expected.removed = False
                self._checker.arm(expected, now)
            case "put":
                self._put(expected, call, now, before, changes)
            case "backfill":
                self._backfill(expected, call, records)
        if call.verb in ("resume", "restore") and records:
            self._checker.violation("an edit inserted occurrences", call.verb, call.name)

    def _is_allowed(self, call: OperatorCall, expected: ExpectedJob | None, now: int) -> bool:
        if call.verb == "put":
            return True
        if expected is None or (expected.removed and call.verb != "restore"):
            return False
        if call.verb == "pause":
            return call.until is None or call.until > now
        return call.verb != "backfill" or call.end <= now

    def _first_put(self, call: OperatorCall, now: int) -> None:
        assert call.spec is not None
        expected = self._checker.expected_jobs[call.name] = ExpectedJob(call.spec, declared=False)
        self._checker.arm(expected, now)

    def _put(
        self,
        expected: ExpectedJob,
        call: OperatorCall,
        now: int,
        before: UnfinishedByJob,
        changes: dict[str, AppliedJobChange],
    ) -> None:
        assert call.spec is not None
        anew = expected.removed or call.spec.rule != expected.spec.rule
        if expected.removed or call.spec != expected.spec:
            self._checker.catch_up(expected, now, before, changes)
        if expected.removed:
            expected.paused, expected.until, expected.failures = False, None, 0
        expected.removed = False
        if anew:
            self._checker.arm(expected, now, call.spec)
        expected.spec = call.spec

    def _pause(
        self,
        expected: ExpectedJob,
        call: OperatorCall,
        now: int,
        before: UnfinishedByJob,
        changes: dict[str, AppliedJobChange],
    ) -> None:
        again = (expected.paused_by, expected.until) == (call.by, call.until)
        if expected.is_paused(now) and again:
            return
        unfinished = before.get(call.name, [])
        self._checker.catch_up(expected, now, before, changes, overtaken=True)
        expected.paused, expected.paused_by, expected.until = True, call.by, call.until
        self._checker.arm(expected, now)
        waiting = [r for r in unfinished if r.token is None and r.tick is not None]
        self._check_cancelled(waiting)
        self._check_unchanged([record for record in unfinished if record not in waiting])

    def _trigger(
        self,
        expected: ExpectedJob,
        call: OperatorCall,
        unfinished: Sequence[Record],
        records: Sequence[Record],
    ) -> None:
        in_turn = bool(unfinished) and expected.spec.overlap is not Overlap.allow
        if len(records) != 1:
            self._checker.violation(
                "a trigger inserted several actions or none", call.name, len(records)
            )
            return
        record = records[0]
        expected.triggers[record.id] = call.by
        actual = (record.tick, record.triggered_by, record.state, record.waits)
        if actual != (None, call.by, State.scheduled, in_turn):
            self._checker.violation(
                "a trigger inserted another action than expected", call.name, *actual
            )

    def _backfill(
        self, expected: ExpectedJob, call: OperatorCall, records: Sequence[Record]
    ) -> None:
        # Due ticks that no worker has handled yet are left to the workers.
        end = call.end if expected.next_tick is None else min(call.end, expected.next_tick)
        missing = [t for t in expected.ticks_within(call.start, end) if not expected.has_record(t)]
        inserted = sorted(r.tick for r in records if r.tick is not None)
        if inserted != missing:
            odd = [str(from_micros(tick)) for tick in sorted({*inserted} ^ {*missing})]
            self._checker.violation("a backfill inserted other ticks", call.name, *odd[:5])
        if any(r.triggered_by != call.by or r.state.finished for r in records):
            self._checker.violation("a backfill inserted another action than expected", call.name)
        expected.ticks |= dict.fromkeys(missing, TickFate.backfilled)
        self._checker.trace.count(TickFate.backfilled.value, len(missing))

    # -- other occurrences -----------------------------------------------------------

    def _check_cancelled(self, waiting: Sequence[Record]) -> None:
        for record in waiting:
            self._checker.cancelled.add(record.id)
            after = self._checker.store.record(record.id)
            if after is None or after.state is not State.cancelled:
                self._checker.violation("a waiting occurrence was not cancelled", record.job)
            self._checker.trace.count("occurrences cancelled")

    def _check_unchanged(self, others: Sequence[Record]) -> None:
        """Running occurrences are left alone; a waiting trigger may at most become due."""
        for record in others:
            after = self._checker.store.record(record.id)
            became_due = record.waits and after is not None and after.state is State.scheduled
            if after is not record and not became_due:
                self._checker.violation("a running or triggered occurrence was changed", record.job)
