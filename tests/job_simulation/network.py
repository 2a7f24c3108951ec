"""The unreliable network of a job simulation; the job checker sees every call."""

from __future__ import annotations

from typing import TypeVar

from duetime.errors import DuetimeError
from job_simulation.job_checker import JobChecker
from job_simulation.recording_store import RecordingStore
from simulation.faulty_store import Call
from simulation.network import Network
from simulation.pause_checker import PauseChecker
from simulation.scenario import Scenario
from simulation.trace import Trace
from simulation.transaction_checker import TransactionChecker
from simulation.virtual_loop import Process, SimLoop

T = TypeVar("T")


class JobNetwork(Network):
    """Calls the job checker instead of the transaction checker, whose snapshots cost too much."""

    def __init__(
        self,
        loop: SimLoop,
        store: RecordingStore,
        checker: JobChecker,
        scenario: Scenario,
        trace: Trace,
    ) -> None:
        pauses = PauseChecker(store, scenario, trace)
        super().__init__(loop, store, TransactionChecker(store, trace), pauses, scenario, trace)
        self._store = store
        self._job_checker = checker

    def execute(self, process: Process, call: Call[T]) -> T | DuetimeError:
        before = self._job_checker.before(call)
        self._store.changes = []
        value: T | DuetimeError
        try:
            value = self._store.perform_blocking(call)
        except DuetimeError as error:
            self._store.changes = []
            value = error
        self._job_checker.check_transaction(process, call, before, value)
        return value

    def delivered(self, value: object) -> None:
        """The job checker does not need to know which replies arrived."""
