"""Checks starts against the pauses of queues, with a model of pauses of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from duetime.model.actions.claim import SweepResult
from duetime.model.actions.completion import Completion
from duetime.model.lane import parse_lane
from duetime.model.state import Outcome
from simulation.clocks import instant
from simulation.faulty_store import Call
from simulation.real_store import RealStore
from simulation.scenario import Faults, Scenario
from simulation.trace import Trace
from simulation.transaction_checker import ObservedClaim
from simulation.virtual_loop import Process

# How long a pause takes to reach every worker while nothing fails: a wake and a look.
REACH_MICROS = 200_000
FOR_EVER = 2**62

# When a queue was paused, and until when.
Span = tuple[int, int]


class PauseChecker:
    """Knows which queues were paused when, by the calls alone, and what each process has read.

    Nothing starts in a paused queue if its worker has read that it is paused, and nothing else
    since; and, while nothing fails, nothing starts a moment after a pause.
    """

    def __init__(self, real_store: RealStore, scenario: Scenario, trace: Trace) -> None:
        self._real_store = real_store
        self._healthy = scenario.faults == Faults()
        self._trace = trace
        self._spans: dict[str, list[Span]] = defaultdict(list)
        self._read: dict[Process, tuple[float, frozenset[str]]] = {}
        # The longest start delay after the end of a pause, in seconds.
        self.latest = 0.0

    # -- what happened ---------------------------------------------------------------

    def executed(self, call: Call[Any]) -> None:
        """The store has performed a call."""
        if call.verb == "pause_queue":
            queue, until = call.args
            self.ended(queue)
            self._spans[queue].append((self._now, FOR_EVER if until is None else until))
            self._trace.count("queues paused")
        elif call.verb == "resume_queue":
            self.ended(call.args[0])
            self._trace.count("queues resumed")
        elif call.verb == "complete":
            self._count_released(call.args[0])

    def ended(self, queue: str) -> None:
        """The pause of a queue ended now, unless it had ended by itself."""
        if spans := self._spans[queue]:
            begin, end = spans[-1]
            spans[-1] = (begin, min(end, self._now))

    def read(self, process: Process, value: object, at: float) -> None:
        """A process has received an answer of the store, and acts on it from now on."""
        if isinstance(value, SweepResult):
            self._read[process] = (at, frozenset(value.paused))

    def _count_released(self, completions: Sequence[Completion]) -> None:
        for completion in completions:
            record = self._real_store.record(completion.id)
            released = completion.outcome is Outcome.released and completion.started_at is None
            if released and record is not None and self._was_paused(record.queue, self._now):
                self._trace.count("released from paused queues")

    @property
    def _now(self) -> int:
        return self._real_store.now

    # -- checks ----------------------------------------------------------------------

    def check_start(self, process: Process, claim: ObservedClaim, created_at: float) -> None:
        """Check the start of a handler, whose task the worker created at `created_at`."""
        created, name = instant(created_at), self._trace.action(claim.action)
        queue = parse_lane(claim.lane).queue
        since, read = self._read.get(process, (0.0, frozenset()))
        if self._is_paused(claim, created) and queue in read and since < created_at:
            self._trace.violation("started in a queue known to be paused", name, process.name)
        begun = self._healthy and self._is_paused(claim, created - REACH_MICROS)
        if begun and self._is_paused(claim, created):
            self._trace.violation("started long after its queue was paused", name)
        self._note_delay(claim, queue, created)

    def held(self, claim: ObservedClaim, started_at: int) -> bool:
        """Return whether the queue was paused when the action was due, or later."""
        spans = self._spans[parse_lane(claim.lane).queue]
        return any(begin <= started_at and claim.due_at < end for begin, end in spans)

    def _is_paused(self, claim: ObservedClaim, at: int) -> bool:
        return self._was_paused(parse_lane(claim.lane).queue, at)

    def _was_paused(self, queue: str, at: int) -> bool:
        return any(begin <= at < end for begin, end in self._spans[queue])

    def _note_delay(self, claim: ObservedClaim, queue: str, created: int) -> None:
        """Note how long after the last pause an action started that the pause had held."""
        ends = [end for _, end in self._spans[queue] if end <= created]
        record = self._real_store.record(claim.action)
        if not ends or record is None or record.modified_at is not None:
            return
        if max(claim.due_at, record.created_at) < ends[-1]:
            self._trace.count("starts after a pause")
            self.latest = max(self.latest, (created - ends[-1]) / 1_000_000)
