"""A ledger of what handlers did: every start and every end, duplicates included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from duetime.registry.context import Context
from simulation.clocks import instant
from simulation.pause_checker import PauseChecker
from simulation.trace import Trace
from simulation.transaction_checker import ObservedClaim, TransactionChecker
from simulation.virtual_loop import Process, SimLoop

# Seconds are truncated to microseconds in two places.
ROUNDING_MICROS = 1


@dataclass(slots=True)
class Start:
    """One start of a handler, and how the handler ended."""

    number: int
    claim: ObservedClaim
    at: int
    context: Context
    end: str | None = None
    finished_at: int | None = None
    result: object = None


class Ledger:
    """Records starts and ends of handlers, and checks each start against the store."""

    def __init__(
        self,
        loop: SimLoop,
        transaction_checker: TransactionChecker,
        pause_checker: PauseChecker,
        trace: Trace,
    ) -> None:
        self._loop = loop
        self._checker = transaction_checker
        self._pause_checker = pause_checker
        self._trace = trace
        self.starts: list[Start] = []
        self.by_token: dict[UUID, Start] = {}
        self._running: dict[int, Start] = {}

    def count_starts(self, action_id: UUID) -> int:
        return sum(s.claim.action == action_id for s in self.starts)

    def running(self, process: Process) -> list[Start]:
        return [s for s in self._running.values() if s.claim.process is process]

    def start(
        self, process: Process, token: UUID, ctx: Context, created_at: float, disturbed_at: float
    ) -> Start:
        """Record a start.

        `created_at` is when the worker created the task, `disturbed_at` when its process last
        stood still.
        """
        claim, created = self._checker.claims[token], instant(created_at)
        start = Start(len(self.starts), claim, created, ctx)
        self._trace.add(process.name, "starts", self._name(start), ctx.attempt)
        self._trace.count("starts")
        if token in self.by_token:
            self._violation("one claim was started twice", start)
        if claim.process is not process:
            self._violation("started by a process that did not claim it", start)
        self._check_time(start)
        self._pause_checker.check_start(process, claim, created_at)
        self._check_suspects(start, instant(disturbed_at))
        self.starts.append(start)
        self.by_token[token] = self._running[start.number] = start
        return start

    def check_assumed_leases(self, assumed_leases: Sequence[tuple[UUID, float]]) -> None:
        """Check that no worker assumes a lease to last longer than the store says."""
        for token, until in assumed_leases:
            claim = self._checker.claims[token]
            if instant(until) > claim.lease_until + ROUNDING_MICROS:
                name = self._trace.token(token)
                self._trace.violation("a worker overestimates its lease", name)

    def end(self, start: Start, how: str, result: object = None) -> None:
        start.end, start.result = how, result
        start.finished_at = instant(self._loop.time())
        self._running.pop(start.number, None)
        self._trace.add(start.claim.process.name, "ends", self._name(start), how)

    def died(self, process: Process) -> None:
        for start in self.running(process):
            self.end(start, "killed")

    def _check_time(self, start: Start) -> None:
        claim = start.claim
        if start.at + ROUNDING_MICROS < claim.due_at:
            early = (claim.due_at - start.at) / 1_000_000
            self._violation(f"G5 started {early:.3f} s early", start)
        if start.at >= claim.lease_until:
            self._violation("started though its lease had expired", start)
        if claim.forgotten:
            self._violation("started though the store had forgotten its claim", start)
        if claim.finished_at is not None and claim.finished_at <= start.at:
            self._violation(f"started after its claim was completed ({claim.outcome})", start)
        # Between its creation and its first step, a task may have waited.
        if claim.expires_at is not None and instant(self._loop.time()) > claim.expires_at:
            self._violation("started after it had expired", start)

    def _check_suspects(self, start: Start, disturbed: int) -> None:
        claim = start.claim
        if not claim.suspect:
            return
        self._trace.count("suspects started")
        if any(other.claim.suspect for other in self.running(claim.process)):
            self._violation("G6 two suspects ran in one process", start)
        delivered = claim.delivered_at or 0
        if start.at > delivered > disturbed:
            self._violation("G6 a suspect had to wait in its worker", start)

    def _name(self, start: Start) -> str:
        return f"{self._trace.action(start.claim.action)}/{self._trace.token(start.claim.token)}"

    def _violation(self, rule: str, start: Start) -> None:
        self._trace.violation(rule, self._name(start), start.claim.process.name)
