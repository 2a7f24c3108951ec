"""After the faults are over: is anything left behind that a healthy worker should take?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from uuid import UUID

from duetime.model.action import Record
from duetime.model.state import State
from simulation.ledger import Ledger
from simulation.node import Node
from simulation.scenario import Scenario
from simulation.trace import Trace
from simulation.truth import Truth
from simulation.witness import Witness

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
            self._look_for_overtaken(recovered)

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
        lane = self._truth.lane(record.id)
        due = record.due_at is not None and record.due_at <= now
        known = [n for n in idle if n.knows_all or lane.parked is None]
        free = [n for n in known if due and n.has_room(record.queue, lane.suspect)]
        return "G1 due and left behind", free

    def _look_for_overtaken(self, recovered: bool) -> None:
        """However busy the workers are, a lane goes by due time."""
        newest: dict[str, int] = {}
        for hold in list(self._witness.holds.values())[self._claims :]:
            newest[hold.lane] = max(hold.due_at, newest.get(hold.lane, hold.due_at))
        self._claims = len(self._witness.holds)
        before, self._free = self._free, {}
        now = self._truth.now
        for record in self._truth.unfinished():
            if record.token or not recovered or record.due_at is None or record.due_at > now:
                continue
            waited = self._free[record.id] = before.get(record.id, 0.0) + TICK
            ahead = newest.get(self._truth.lane(record.id).text, 0)
            if waited > self._bound and ahead > record.due_at + 1_000_000:
                self._trace.violation("G1 overtaken in its lane", self._trace.action(record.id))
