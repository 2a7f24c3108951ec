"""Judges what becomes of children, by the rules of the design alone."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.state import State
from simulation.life import Change, Life
from simulation.loop import Process
from simulation.trace import Trace
from simulation.truth import Truth

MET = {
    "succeeded": {State.succeeded},
    "failed": {State.failed},
    "finished": {State.succeeded, State.failed, State.cancelled},
}
# Verbs that may settle children: on their own, or in the transaction that made it necessary.
SETTLING = {"settle", "add", "cancel", "cancel_many"}


class Chains:
    """Remembers how actions ended, and who ended them."""

    def __init__(self, truth: Truth, trace: Trace, lives: Mapping[UUID, Life]) -> None:
        self._truth = truth
        self._trace = trace
        self._lives = lives
        self._ends: dict[UUID, set[State]] = {}
        self._enders: dict[UUID, Process] = {}

    def ended(self, process: Process, record: Record) -> None:
        self._ends.setdefault(record.id, set()).add(record.state)
        self._enders[record.id] = process

    def settle(
        self, process: Process, verb: str, changes: dict[UUID, Change]
    ) -> dict[UUID, Change]:
        """Judge the children that were settled; the changes that are none of these."""
        others = {one: change for one, change in changes.items() if not _is_settled(*change)}
        # Parents first: one that was cancelled may have cancelled the next.
        for action_id in changes.keys() - others.keys():
            self.ended(process, changes[action_id][1])
        for action_id in sorted(changes.keys() - others.keys()):
            after = changes[action_id][1]
            if verb not in SETTLING:
                self._wrong(f"a child was settled by {verb}", after)
            self._note_settler(process, verb, after)
            self._lives[action_id].finishes += after.state is State.cancelled
            self.judge(after)
        return others

    def judge(self, child: Record) -> None:
        """Its parent has ended, and it became what that end means."""
        parent = self._truth.record(child.after) if child.after else None
        if parent is None or not parent.state.finished:
            self._wrong("a child was settled before its parent ended", child)
            return
        met = parent.state in MET[child.after_on or ""]
        if (child.state is State.scheduled) != met:
            self._wrong(f"a child is {child.state} though its parent is {parent.state}", child)
        earliest = max(parent.finished_at or 0, child.after_at or 0)
        if met and (child.due_at or 0) < earliest + (child.after_delay or 0):
            self._wrong("G5 a child is due before its time", child)
        if child.state is State.cancelled and str(child.after) not in (child.error or ""):
            self._wrong("a child was cancelled without the reason", child)
        self._trace.count("children due" if met else "children cancelled")

    def claimed(self, child: Record) -> None:
        """Whatever happened to its parent since, it once ended as this child needs it."""
        if child.after is None:
            return
        if not self._ends.get(child.after, set()) & MET[child.after_on or ""]:
            self._wrong("a child was claimed and its parent never ended as asked", child)

    def _note_settler(self, process: Process, verb: str, child: Record) -> None:
        ender = self._enders.get(child.after) if child.after else None
        if verb == "settle" and ender is not process:
            self._trace.count("children settled by another worker")

    def _wrong(self, rule: str, child: Record) -> None:
        self._trace.violation(rule, self._trace.action(child.id))


def _is_settled(before: Record | None, after: Record) -> bool:
    """Whether nothing happened to a waiting child but its settlement."""
    if before is None or not before.waits or after.waits:
        return False
    if after.state is State.cancelled:
        return after.error is not None
    return after.state is State.scheduled and after.modified_at == before.modified_at
