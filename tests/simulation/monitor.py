"""After the faults are over: is anything left behind that a healthy worker should take?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.lane import Lane, parse_lane
from duetime.model.state import State
from simulation.ledger import Ledger
from simulation.node import Node
from simulation.scenario import Scenario
from simulation.trace import Trace
from simulation.truth import Truth
from simulation.witness import Hold, Witness

SECOND = 1_000_000
TICK = 0.5
SLACK = 2.0
BACKOFF = 6.0


class Monitor:
    """Looks twice a second, and counts for how long a worker had no excuse."""

    def __init__(
        self,
        scenario: Scenario,
        truth: Truth,
        witness: Witness,
        ledger: Ledger,
        trace: Trace,
        nodes: Callable[[], Sequence[Node]],
    ) -> None:
        self._truth = truth
        self._witness = witness
        self._ledger = ledger
        self._trace = trace
        self._nodes = nodes
        self._bound = scenario.period + SLACK
        self._recovery = scenario.patience + scenario.settings.lease + BACKOFF
        self._ripe: dict[tuple[str, UUID, int], float] = {}
        self._starts = 0
        self._free: dict[UUID, float] = {}
        self._claims = 0

    async def run(self, now: Callable[[], float]) -> None:
        calm_at = now()
        while True:
            await asyncio.sleep(TICK)
            recovered = now() >= calm_at + self._recovery
            steady = [n for n in self._nodes() if n.works and recovered]
            self._look(steady)
            self._look_at_claims(recovered)

    def _look(self, nodes: Sequence[Node]) -> None:
        busy = {s.hold.process for s in self._ledger.starts[self._starts :]}
        self._starts = len(self._ledger.starts)
        idle = [node for node in nodes if node.process not in busy]
        before, self._ripe = self._ripe, {}
        for record in self._truth.unfinished():
            rule, able = self._expected(record, nodes, idle)
            for node in able:
                key = (rule, record.id, node.number)
                self._ripe[key] = before.get(key, 0.0) + TICK
                if self._bound < self._ripe[key] <= self._bound + TICK:
                    self._trace.violation(rule, self._trace.action(record.id), node.process.name)

    def _expected(
        self, record: Record, nodes: Sequence[Node], idle: Sequence[Node]
    ) -> tuple[str, list[Node]]:
        """Who should do what with this action now."""
        now = self._truth.now
        if record.state is State.running:
            expired = record.lease_until is not None and record.lease_until <= now
            return "G6 not rescued in time", [n for n in nodes if expired]
        if record.waits:
            parent = self._truth.record(record.after) if record.after else None
            over = parent is None or parent.state.finished
            return "G1 left waiting though its parent has ended", [n for n in nodes if over]
        lane = self._truth.lane(record.id)
        due = record.due_at is not None and record.due_at <= now
        known = [n for n in idle if n.knows_all or lane.parked is None]
        free = [n for n in known if due and n.has_room(record.queue, lane.suspect)]
        return "G1 due and left behind", free

    def _look_at_claims(self, recovered: bool) -> None:
        """However busy the workers are, nothing that is due waits for ever."""
        fresh = list(self._witness.holds.values())[self._claims :]
        self._claims = len(self._witness.holds)
        # One that was claimed since, and given back, was not overtaken by what came with it.
        claimed = {hold.action for hold in fresh}
        before = {each: waited for each, waited in self._free.items() if each not in claimed}
        self._free = {}
        now = self._truth.now
        for record in self._truth.unfinished():
            if record.token or not recovered or record.due_at is None or record.due_at > now:
                continue
            waited = self._free[record.id] = before.get(record.id, 0.0) + TICK
            if waited > self._bound:
                self._check_order(record, fresh)

    def _check_order(self, record: Record, fresh: Sequence[Hold]) -> None:
        """A lane goes by due time, and one that is run alone gets the next free slot."""
        lane, due_at = self._truth.lane(record.id), record.due_at or 0
        if any(h.lane == lane.text and h.due_at > due_at + SECOND for h in fresh):
            self._trace.violation("G1 overtaken in its lane", self._trace.action(record.id))
        if lane.suspect and any(self._passed_over(record, lane, hold) for hold in fresh):
            self._trace.violation("G1 passed over", self._trace.action(record.id))

    def _passed_over(self, record: Record, lane: Lane, hold: Hold) -> bool:
        """Whether this claim's worker had a slot for it, and gave it to another."""
        nodes = [n for n in self._nodes() if n.process is hold.process and n.works]
        if not any(n.knows_all or lane.parked is None for n in nodes):
            return False
        if not any(n.shares_slots(record.queue, parse_lane(hold.lane).queue) for n in nodes):
            return False
        return not hold.suspect and not self._was_occupied(hold)

    def _was_occupied(self, hold: Hold) -> bool:
        """Whether the worker held another one to be run alone when it made this claim."""
        alone = [h for h in self._witness.holds.values() if h.suspect and h.process is hold.process]
        slack = int(SLACK * SECOND)
        return any(
            h.claimed_at <= hold.claimed_at
            and (h.ended_at is None or h.ended_at + slack >= hold.claimed_at)
            for h in alone
        )
