"""Checks, once the faults are over, that healthy workers leave nothing undone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.lane import Lane, parse_lane
from duetime.model.state import State
from simulation.ledger import Ledger
from simulation.node import Node
from simulation.real_store import RealStore
from simulation.scenario import Scenario
from simulation.trace import Trace
from simulation.transaction_checker import ObservedClaim, TransactionChecker

SECOND = 1_000_000
CHECK_INTERVAL_SECONDS = 0.5
SLACK_SECONDS = 2.0
BACKOFF_SECONDS = 6.0


class LivenessMonitor:
    """Checks twice a second, and counts how long each worker left an action undone."""

    def __init__(
        self,
        scenario: Scenario,
        real_store: RealStore,
        transaction_checker: TransactionChecker,
        ledger: Ledger,
        trace: Trace,
        nodes: Callable[[], Sequence[Node]],
    ) -> None:
        self._real_store = real_store
        self._checker = transaction_checker
        self._ledger = ledger
        self._trace = trace
        self._nodes = nodes
        self._bound = scenario.period + SLACK_SECONDS
        self._recovery = scenario.call_timeout + scenario.settings.lease + BACKOFF_SECONDS
        self._waited_seconds: dict[tuple[str, UUID, int], float] = {}
        self._starts_seen = 0
        self._unclaimed_seconds: dict[UUID, float] = {}
        self._claims_seen = 0

    async def run(self, now: Callable[[], float]) -> None:
        calm_at = now()
        while True:
            await asyncio.sleep(CHECK_INTERVAL_SECONDS)
            recovered = now() >= calm_at + self._recovery
            healthy = [n for n in self._nodes() if n.works and recovered]
            self._check_actions(healthy)
            self._check_claim_order(recovered)

    def _check_actions(self, nodes: Sequence[Node]) -> None:
        busy = {s.claim.process for s in self._ledger.starts[self._starts_seen :]}
        self._starts_seen = len(self._ledger.starts)
        idle = [node for node in nodes if node.process not in busy]
        before, self._waited_seconds = self._waited_seconds, {}
        for record in self._real_store.unfinished():
            rule, able = self._expected(record, nodes, idle)
            for node in able:
                key = (rule, record.id, node.number)
                self._waited_seconds[key] = before.get(key, 0.0) + CHECK_INTERVAL_SECONDS
                if self._bound < self._waited_seconds[key] <= self._bound + CHECK_INTERVAL_SECONDS:
                    self._trace.violation(rule, self._trace.action(record.id), node.process.name)

    def _expected(
        self, record: Record, nodes: Sequence[Node], idle: Sequence[Node]
    ) -> tuple[str, list[Node]]:
        """Return what should be done with this action now, and the nodes able to do it."""
        now = self._real_store.now
        if record.state is State.running:
            expired = record.lease_until is not None and record.lease_until <= now
            return "G6 not rescued in time", [n for n in nodes if expired]
        if record.waits:
            parent = self._real_store.record(record.after) if record.after else None
            over = parent is None or parent.state.finished
            return "G1 left waiting though its parent has finished", [n for n in nodes if over]
        lane = self._real_store.lane(record.id)
        due = record.due_at is not None and record.due_at <= now
        due = due and not self._real_store.is_paused(record.queue)
        known = [n for n in idle if n.knows_all or lane.parked is None]
        free = [n for n in known if due and n.has_room(record.queue, lane.suspect)]
        return "G1 due and left behind", free

    def _check_claim_order(self, recovered: bool) -> None:
        """Check that, however busy the workers are, no due action waits for ever."""
        fresh = list(self._checker.claims.values())[self._claims_seen :]
        self._claims_seen = len(self._checker.claims)
        # An action that was claimed and released meanwhile was not overtaken by that claim.
        claimed = {claim.action for claim in fresh}
        before = {
            action_id: waited
            for action_id, waited in self._unclaimed_seconds.items()
            if action_id not in claimed
        }
        self._unclaimed_seconds = {}
        now = self._real_store.now
        for record in self._real_store.unfinished():
            if record.token or not recovered or record.due_at is None or record.due_at > now:
                continue
            if self._real_store.is_paused(record.queue):
                continue
            waited = self._unclaimed_seconds[record.id] = (
                before.get(record.id, 0.0) + CHECK_INTERVAL_SECONDS
            )
            if waited > self._bound:
                self._check_order(record, fresh)

    def _check_order(self, record: Record, fresh: Sequence[ObservedClaim]) -> None:
        """Check that a lane is claimed by due time, and that a suspect gets the next free slot."""
        lane, due_at = self._real_store.lane(record.id), record.due_at or 0
        if any(h.lane == lane.text and h.due_at > due_at + SECOND for h in fresh):
            self._trace.violation("G1 overtaken in its lane", self._trace.action(record.id))
        if lane.suspect and any(self._passed_over(record, lane, claim) for claim in fresh):
            self._trace.violation("G1 passed over", self._trace.action(record.id))

    def _passed_over(self, record: Record, lane: Lane, claim: ObservedClaim) -> bool:
        """Whether the worker of this claim had a slot for the suspect and used it otherwise."""
        nodes = [n for n in self._nodes() if n.process is claim.process and n.works]
        if not any(n.knows_all or lane.parked is None for n in nodes):
            return False
        if not any(n.shares_slots(record.queue, parse_lane(claim.lane).queue) for n in nodes):
            return False
        return not claim.suspect and not self._was_occupied(claim)

    def _was_occupied(self, claim: ObservedClaim) -> bool:
        """Whether the worker ran another suspect when it made this claim."""
        suspects = [
            h for h in self._checker.claims.values() if h.suspect and h.process is claim.process
        ]
        slack = int(SLACK_SECONDS * SECOND)
        return any(
            h.claimed_at <= claim.claimed_at
            and (h.finished_at is None or h.finished_at + slack >= claim.claimed_at)
            for h in suspects
        )
