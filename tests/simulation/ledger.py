"""What handlers really did: every start and every end, doubles included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from duetime.registry.context import Context
from simulation.clocks import instant
from simulation.loop import Process, SimLoop
from simulation.trace import Trace
from simulation.witness import Hold, Witness

# Seconds are cut to microseconds in two places.
ROUNDING = 1


@dataclass(slots=True)
class Start:
    """One start of a handler, and how it ended if it did."""

    number: int
    hold: Hold
    at: int
    context: Context
    end: str | None = None
    ended_at: int | None = None
    result: object = None


class Ledger:
    """Written by handlers, and judged at once by what the store knew at that moment."""

    def __init__(self, loop: SimLoop, witness: Witness, trace: Trace) -> None:
        self._loop = loop
        self._witness = witness
        self._trace = trace
        self.starts: list[Start] = []
        self.by_token: dict[UUID, Start] = {}
        self._running: dict[int, Start] = {}

    def earlier(self, action_id: UUID) -> int:
        return sum(s.hold.action == action_id for s in self.starts)

    def running(self, process: Process) -> list[Start]:
        return [s for s in self._running.values() if s.hold.process is process]

    def start(
        self, process: Process, token: UUID, ctx: Context, made_at: float, disturbed_at: float
    ) -> Start:
        """`made_at` is when the worker decided to start it, `disturbed_at` when its process
        last stood still."""
        hold, made = self._witness.holds[token], instant(made_at)
        start = Start(len(self.starts), hold, made, ctx)
        self._trace.add(process.name, "starts", self._name(start), ctx.attempt)
        self._trace.count("starts")
        if token in self.by_token:
            self._wrong("one claim was started twice", start)
        if hold.process is not process:
            self._wrong("started by a process that did not claim it", start)
        self._judge_time(start)
        self._judge_company(start, instant(disturbed_at))
        self.starts.append(start)
        self.by_token[token] = self._running[start.number] = start
        return start

    def judge_beliefs(self, beliefs: Sequence[tuple[UUID, float]]) -> None:
        """No worker takes a lease to last longer than the store does."""
        for token, until in beliefs:
            hold = self._witness.holds[token]
            if instant(until) > hold.lease_until + ROUNDING:
                name = self._trace.token(token)
                self._trace.violation("a worker believes in a lease for too long", name)

    def end(self, start: Start, how: str, result: object = None) -> None:
        start.end, start.result = how, result
        start.ended_at = instant(self._loop.time())
        self._running.pop(start.number, None)
        self._trace.add(start.hold.process.name, "ends", self._name(start), how)

    def died(self, process: Process) -> None:
        for start in self.running(process):
            self.end(start, "killed")

    def _judge_time(self, start: Start) -> None:
        hold = start.hold
        if start.at + ROUNDING < hold.due_at:
            early = (hold.due_at - start.at) / 1_000_000
            self._wrong(f"G5 started {early:.3f} s early", start)
        if start.at >= hold.lease_until:
            self._wrong("started though its lease had run out", start)
        if hold.ended_at is not None and hold.ended_at <= start.at:
            self._wrong(f"started after its claim had ended ({hold.outcome})", start)

    def _judge_company(self, start: Start, disturbed: int) -> None:
        hold = start.hold
        if not hold.suspect:
            return
        self._trace.count("suspects started")
        if any(other.hold.suspect for other in self.running(hold.process)):
            self._wrong("G6 two suspects ran in one process", start)
        delivered = hold.delivered_at or 0
        if start.at > delivered > disturbed:
            self._wrong("G6 a suspect had to wait in its worker", start)

    def _name(self, start: Start) -> str:
        return f"{self._trace.action(start.hold.action)}/{self._trace.token(start.hold.token)}"

    def _wrong(self, rule: str, start: Start) -> None:
        self._trace.violation(rule, self._name(start), start.hold.process.name)
