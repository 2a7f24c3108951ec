"""What the verbs of actions count, after the commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from duetime.model.actions.action import Added, Record
from duetime.model.actions.new_actions import InsertedBatch
from duetime.model.state import State
from duetime.telemetry.meters import Meters


class ActionMeters:
    """Counts what became of actions, by kind and tenant."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters

    def added(self, added: Sequence[Added], settled: Sequence[Record] = ()) -> None:
        if isinstance(added, InsertedBatch):
            self._kinds(added.count_by_kind_and_tenant())
        else:
            self.scheduled(action.record for action in added if action.created)
        self.cancelled(settled)

    def scheduled(self, records: Iterable[Record]) -> None:
        self._kinds(Counter((record.kind, record.tenant) for record in records))

    def _kinds(self, counted: Mapping[tuple[str, str | None], int]) -> None:
        for (kind, tenant), count in counted.items():
            self._meters.scheduled(kind, tenant, count)

    def cancelled(self, records: Sequence[Record]) -> None:
        for record in records:
            if record.state is State.cancelled:
                self._meters.finished(record.kind, record.tenant, State.cancelled)

    def rescheduled(self, records: Iterable[Record]) -> None:
        for record in records:
            self._meters.rescheduled(record.kind, record.tenant)
