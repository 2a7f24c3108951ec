"""What the verbs of actions count, after the commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from duetime.model.actions.action import Added, Record
from duetime.model.actions.new_actions import InsertedBatch
from duetime.model.jobs.change import AppliedJobChange
from duetime.model.state import State
from duetime.telemetry.meters import Meters


class ActionMeters:
    """Counts what became of actions, by kind, tenant and queue."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters

    def added(self, added: Sequence[Added], settled: Sequence[Record] = ()) -> None:
        if not self._meters.measuring:
            return
        if isinstance(added, InsertedBatch):
            self._places(added.count_by_place())
        else:
            self.scheduled(action.record for action in added if action.created)
        self.cancelled(settled)

    def scheduled(self, records: Iterable[Record]) -> None:
        self._places(Counter((record.kind, record.tenant, record.queue) for record in records))

    def _places(self, counted: Mapping[tuple[str, str | None, str], int]) -> None:
        for (kind, tenant, queue), count in counted.items():
            self._meters.scheduled(kind, tenant, queue, count)

    def occurred(self, changes: Iterable[AppliedJobChange]) -> None:
        """Count the occurrences of jobs that were scheduled, and those that were cancelled."""
        for change in changes:
            self._meters.occurred(change.occurrences)
            self.cancelled(change.cancelled)

    def cancelled(self, records: Sequence[Record]) -> None:
        for record in records:
            if record.state is State.cancelled:
                self._meters.record_finished(record, State.cancelled)

    def rescheduled(self, records: Iterable[Record]) -> None:
        for record in records:
            self._meters.rescheduled(record)

    def retried(self, records: Iterable[Record]) -> None:
        for record in records:
            self._meters.retried(record)
