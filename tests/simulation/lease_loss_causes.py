"""The legitimate causes of a lost lease; a loss without such a cause is a violation."""

from __future__ import annotations

from collections.abc import Callable

from simulation.clocks import instant
from simulation.handler_script import TIMEOUT_SECONDS
from simulation.ledger import Ledger, Start
from simulation.node import Node
from simulation.real_store import RealStore
from simulation.scenario import Scenario
from simulation.trace import Trace
from simulation.transaction_checker import ObservedClaim
from simulation.virtual_loop import Process

SECOND = 1_000_000


class LeaseLossCauses:
    """Decides whether something kept a worker from renewing a lease or storing a completion."""

    def __init__(
        self,
        scenario: Scenario,
        real_store: RealStore,
        ledger: Ledger,
        trace: Trace,
        node: Callable[[Process], Node],
    ) -> None:
        self._real_store = real_store
        self._ledger = ledger
        self._trace = trace
        self._node = node
        self._lease = int(scenario.settings.lease * SECOND)
        self._call_timeout = int(scenario.call_timeout * SECOND)
        self._overtime = int((TIMEOUT_SECONDS + scenario.settings.grace) * SECOND)

    def explain(self, claim: ObservedClaim) -> bool:
        node, start = self._node(claim.process), self._ledger.by_token.get(claim.token)
        if start is not None:
            self._trace.count("started runs lost")
        return (
            not node.alive
            or self._came_late(claim, node)
            or self._overran(claim, start)
            or self._was_disturbed(claim, node)
        )

    def _came_late(self, claim: ObservedClaim, node: Node) -> bool:
        """Whether the worker received the claim too late to renew it in time."""
        if claim.delivered_at is None or claim.delivered_at - claim.claimed_at > self._lease // 6:
            return True
        renewed = claim.lease_until - claim.claimed_at > self._lease
        return not renewed and instant(node.disturbed_at) >= claim.delivered_at

    def _overran(self, claim: ObservedClaim, start: Start | None) -> bool:
        """Whether the handler ran past timeout and grace, after which leases expire."""
        record = self._real_store.record(claim.action)
        if record is None or start is None or record.kind != "timed":
            return False
        return (start.finished_at or self._real_store.now) - start.at > self._overtime

    def _was_disturbed(self, claim: ObservedClaim, node: Node) -> bool:
        """Whether the heartbeat had trouble, or the loop before the worker knew the claim."""
        in_flight = node.token_of(claim.action) == claim.token
        since = claim.lease_until - self._lease - self._call_timeout
        return instant(node.last_trouble_at(beating=in_flight)) >= since
