"""Checks how chained actions (children) are settled, by the documented rules alone."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.state import State
from simulation.expected_counters import Change, ExpectedCounters
from simulation.real_store import RealStore
from simulation.trace import Trace
from simulation.virtual_loop import Process

FULFILLING_STATES = {
    "succeeded": {State.succeeded},
    "failed": {State.failed},
    "finished": {State.succeeded, State.failed, State.cancelled},
}
# Verbs that may settle children: by themselves, or within the transaction that finished a parent.
SETTLING_VERBS = {"settle", "add", "cancel", "cancel_many"}


class ChainChecker:
    """Remembers in which states actions finished, and which process finished them."""

    def __init__(
        self, real_store: RealStore, trace: Trace, counters: Mapping[UUID, ExpectedCounters]
    ) -> None:
        self._real_store = real_store
        self._trace = trace
        self._counters = counters
        self._final_states: dict[UUID, set[State]] = {}
        self._finished_by: dict[UUID, Process] = {}

    def note_finished(self, process: Process, record: Record) -> None:
        self._final_states.setdefault(record.id, set()).add(record.state)
        self._finished_by[record.id] = process

    def check_settlement(
        self, process: Process, verb: str, changes: dict[UUID, Change]
    ) -> dict[UUID, Change]:
        """Check the children that were settled; return the changes that are no settlements."""
        others = {
            action_id: change for action_id, change in changes.items() if not _is_settled(*change)
        }
        # Parents first: a cancelled child may itself be the parent of another.
        for action_id in changes.keys() - others.keys():
            self.note_finished(process, changes[action_id][1])
        for action_id in sorted(changes.keys() - others.keys()):
            after = changes[action_id][1]
            if verb not in SETTLING_VERBS:
                self._violation(f"a child was settled by {verb}", after)
            self._note_settler(process, verb, after)
            self._counters[action_id].finishes += after.state is State.cancelled
            self.check_child(after)
        return others

    def check_child(self, child: Record) -> None:
        """Check that the parent has finished, and that the child got the state this implies."""
        parent = self._real_store.record(child.after) if child.after else None
        if parent is None or not parent.state.finished:
            self._violation("a child was settled before its parent finished", child)
            return
        fulfilled = parent.state in FULFILLING_STATES[child.after_on or ""]
        if (child.state is State.scheduled) != fulfilled:
            self._violation(f"a child is {child.state} though its parent is {parent.state}", child)
        earliest = max(parent.finished_at or 0, child.after_at or 0)
        if fulfilled and (child.due_at or 0) < earliest + (child.after_delay or 0):
            self._violation("G5 a child is due before its time", child)
        if child.state is State.cancelled and str(child.after) not in (child.error or ""):
            self._violation("a child was cancelled without the reason", child)
        self._trace.count("children due" if fulfilled else "children cancelled")

    def claimed(self, child: Record) -> None:
        """Check that the parent finished in a state that allows this child to run.

        A parent may have been retried since.
        """
        if child.after is None:
            return
        if not self._final_states.get(child.after, set()) & FULFILLING_STATES[child.after_on or ""]:
            self._violation("a child was claimed before its parent allowed it", child)

    def _note_settler(self, process: Process, verb: str, child: Record) -> None:
        finisher = self._finished_by.get(child.after) if child.after else None
        if verb == "settle" and finisher is not process:
            self._trace.count("children settled by another worker")

    def _violation(self, rule: str, child: Record) -> None:
        self._trace.violation(rule, self._trace.action(child.id))


def _is_settled(before: Record | None, after: Record) -> bool:
    """Whether the only change of a waiting child is its settlement."""
    if before is None or not before.waits or after.waits:
        return False
    if after.state is State.cancelled:
        # An expired child is cancelled with another reason, to free its key.
        return after.error is not None and not after.error.startswith("expired at ")
    return after.state is State.scheduled and after.modified_at == before.modified_at
