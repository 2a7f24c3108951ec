"""Why a lease may have been lost. A loss without one of these reasons is a finding."""

from __future__ import annotations

from collections.abc import Callable

from simulation.clocks import instant
from simulation.ledger import Ledger, Start
from simulation.loop import Process
from simulation.node import Node
from simulation.scenario import Scenario
from simulation.script import TIMEOUT
from simulation.trace import Trace
from simulation.truth import Truth
from simulation.witness import Hold

SECOND = 1_000_000


class Excuses:
    """Looks for what kept a worker from renewing or from recording."""

    def __init__(
        self,
        scenario: Scenario,
        truth: Truth,
        ledger: Ledger,
        trace: Trace,
        node: Callable[[Process], Node],
    ) -> None:
        self._truth = truth
        self._ledger = ledger
        self._trace = trace
        self._node = node
        self._lease = int(scenario.settings.lease * SECOND)
        self._patience = int(scenario.patience * SECOND)
        self._overtime = int((TIMEOUT + scenario.settings.grace) * SECOND)

    def covers(self, hold: Hold) -> bool:
        node, start = self._node(hold.process), self._ledger.by_token.get(hold.token)
        if start is not None:
            self._trace.count("started runs lost")
        return (
            not node.alive
            or self._came_late(hold, node)
            or self._overran(hold, start)
            or self._was_disturbed(hold, node)
        )

    def _came_late(self, hold: Hold, node: Node) -> bool:
        """Its worker learned of the claim too late to renew it in time."""
        if hold.delivered_at is None or hold.delivered_at - hold.claimed_at > self._lease // 6:
            return True
        renewed = hold.lease_until - hold.claimed_at > self._lease
        return not renewed and instant(node.disturbed_at) >= hold.delivered_at

    def _overran(self, hold: Hold, start: Start | None) -> bool:
        """Past its timeout and the grace a running handler is not renewed any more."""
        record = self._truth.record(hold.action)
        if record is None or start is None or record.kind != "timed":
            return False
        return (start.ended_at or self._truth.now) - start.at > self._overtime

    def _was_disturbed(self, hold: Hold, node: Node) -> bool:
        """Its heartbeat was, or its loop, before it knew that it holds this."""
        held = node.token_of(hold.action) == hold.token
        since = hold.lease_until - self._lease - self._patience
        return instant(node.troubled_at(beating=held)) >= since
