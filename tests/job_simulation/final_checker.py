"""Checks at the end of a history that every tick and trigger is in the store exactly once."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.clock import from_micros
from duetime.model.lane import readable_lane
from duetime.model.state import Outcome, State
from job_simulation.expected_job import ExpectedJob
from job_simulation.job_checker import JobChecker
from job_simulation.recording_store import RecordingStore

SECOND = 1_000_000


class FinalChecker:
    """Compares the model with the store; a healthy cluster needs up to `slack` seconds."""

    def __init__(self, checker: JobChecker, store: RecordingStore, slack: float) -> None:
        self._checker = checker
        self._store = store
        self._late = store.now - int(slack * SECOND)
        self._records = store.snapshot()

    def check(self) -> None:
        recorded: dict[str, Counter[int]] = {
            name: Counter() for name in self._checker.expected_jobs
        }
        for record in self._records.values():
            if record.job is None:
                self._checker.violation("an action without a job", record.id)
            elif record.tick is not None:
                recorded[record.job][record.tick] += 1
            self._check_record(record)
        for name in sorted(self._checker.declared_and_retired()):
            self._checker.violation("a declared job stays retired", name)
        for name, expected in self._checker.expected_jobs.items():
            self._check_account(name, expected, recorded[name])
            self._check_triggers(name, expected)

    def _check_account(self, name: str, expected: ExpectedJob, recorded: Counter[int]) -> None:
        for tick, count in recorded.items():
            if count > 1:
                self._checker.violation(
                    "a tick has several records", name, from_micros(tick), count
                )
            if not expected.has_record(tick):
                self._checker.violation("a record without a tick", name, from_micros(tick))
        for tick in expected.ticks:
            if expected.has_record(tick) and tick not in recorded:
                self._checker.violation("the record of a tick is gone", name, from_micros(tick))
        if expected.next_tick is not None and expected.next_tick < self._late:
            self._checker.violation("a tick never came", name, from_micros(expected.next_tick))

    def _check_triggers(self, name: str, expected: ExpectedJob) -> None:
        for action_id, by in expected.triggers.items():
            record = self._records.get(action_id)
            if record is None or record.triggered_by != by or record.job != name:
                self._checker.violation("a trigger is lost", name, by)

    def _check_record(self, record: Record) -> None:
        if record.state is State.cancelled and record.outcome is not Outcome.skipped:
            if record.id not in self._checker.cancelled:
                self._checker.violation("cancelled without a cause", record.job, record.error)
        elif record.waits:
            if record.after is None or self._is_finished(record.after):
                self._checker.violation("waits for a finished action", record.job)
        elif record.state is State.scheduled and (record.due_at or 0) < self._late:
            lane = readable_lane(self._store.lane_text(record.id) or "")
            if lane is None or lane.parked is None:
                self._checker.violation("due, but no worker runs it", record.job, record.due_at)

    def _is_finished(self, action_id: UUID) -> bool:
        record = self._records.get(action_id)
        return record is None or record.state.finished
