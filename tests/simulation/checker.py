"""What must be true when a history is over."""

from __future__ import annotations

import json
from collections import Counter
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from simulation.customer import Customer
from simulation.handlers import RETRIES
from simulation.ledger import Ledger
from simulation.trace import Trace
from simulation.truth import Truth
from simulation.witness import Hold, Witness

MEANS: dict[str, set[Outcome]] = {
    "ok": {Outcome.succeeded},
    "raise": {Outcome.retried, Outcome.failed},
    "snooze": {Outcome.snoozed},
    "fail": {Outcome.failed},
    "cancel": {Outcome.cancelled},
    "interrupted": {Outcome.retried, Outcome.failed, Outcome.released},
}
NEIGHBOUR_LOSSES = 2


class Checker:
    """Compares what was promised, what is recorded and what handlers really did."""

    def __init__(
        self, truth: Truth, witness: Witness, ledger: Ledger, customer: Customer, trace: Trace
    ) -> None:
        self._truth = truth
        self._witness = witness
        self._ledger = ledger
        self._customer = customer
        self._trace = trace
        self._holds: dict[UUID, list[Hold]] = {}
        for hold in witness.holds.values():
            self._holds.setdefault(hold.action, []).append(hold)

    def check(self, told: Counter[UUID]) -> None:
        for action_id in self._customer.promised:
            if self._truth.record(action_id) is None:
                self._wrong("G1 promised and gone", action_id)
        for action_id in self._customer.cancelled:
            record = self._truth.record(action_id)
            if record is None or record.state is not State.cancelled:
                self._wrong("cancelled, and yet it is not", action_id)
        records = self._truth.snapshot()
        for action_id, record in records.items():
            self._check_action(action_id, record, told[action_id])
        asked = [(record.kind, record.payload) for record in records.values() if not record.key]
        if len(set(asked)) < len(asked):
            self._trace.violation("G8 scheduled twice after a lost reply")
        self._check_neighbours()

    def latest(self) -> float:
        """The longest, in seconds, that an action nobody touched waited for its first start."""
        late = [0.0]
        for action_id, holds in self._holds.items():
            record = self._truth.record(action_id)
            start = self._ledger.by_token.get(holds[0].token)
            if record is not None and record.modified_at is None and start is not None:
                late.append((start.at - max(holds[0].due_at, record.created_at)) / 1_000_000)
        return max(late)

    def _check_action(self, action_id: UUID, record: Record, told: int) -> None:
        if not record.state.finished:
            self._wrong("G1 never finished", action_id, record.state)
        if told > self._witness.lives[action_id].finishes:
            self._wrong("an event was sent and nothing had changed", action_id)
        if record.attempt - record.base_attempt > RETRIES[record.kind].attempts:
            self._wrong("more attempts than its retry budget", action_id)
        holds = self._holds.get(action_id, [])
        self._check_runs(action_id, holds)
        for hold in holds:
            self._check_hold(hold)
        if record.token is not None and record.outcome is not Outcome.lost:
            self._check_result(record)

    def _check_runs(self, action_id: UUID, holds: list[Hold]) -> None:
        """Every claim is a recorded run: so every repeated start has its reason on record."""
        runs = self._truth.perform_blocking(self._truth.runs(action_id, ANY))
        if [r.id for r in runs] != [h.token for h in holds]:
            self._wrong("its runs are not its claims", action_id)
        elif [r.outcome for r in runs] != [h.outcome for h in holds]:
            self._wrong("its runs tell other outcomes", action_id)

    def _check_hold(self, hold: Hold) -> None:
        """The recorded outcome is what the handler of that very claim did."""
        start = self._ledger.by_token.get(hold.token)
        if hold.outcome is None or hold.outcome is Outcome.lost:
            return
        if start is None:
            if hold.outcome is not Outcome.released:
                self._wrong(f"recorded as {hold.outcome} without a run", hold.action)
        elif hold.outcome not in MEANS.get(start.end or "", set()):
            self._wrong(f"recorded as {hold.outcome}, did {start.end}", hold.action)

    def _check_result(self, record: Record) -> None:
        start = self._ledger.by_token.get(record.token) if record.token else None
        result = None if record.result is None else json.loads(record.result)
        if start is None:
            self._wrong("ended by a run that never started", record.id)
        elif record.state is State.succeeded and result != start.result:
            self._wrong("G2 the result of another run was recorded", record.id)

    def _check_neighbours(self) -> None:
        """What kills its worker costs each neighbour two recorded losses at most."""
        losses: Counter[tuple[UUID, int, UUID, int]] = Counter()
        for hold in self._witness.holds.values():
            if hold.outcome is Outcome.lost and hold.killer and hold.killer[0] != hold.action:
                losses[(*hold.killer, hold.action, hold.life)] += 1
        for (killer, _, action_id, _), count in losses.items():
            if count > NEIGHBOUR_LOSSES:
                beside = self._trace.action(killer)
                self._wrong(f"G6 lost {count} times beside {beside}", action_id)

    def _wrong(self, rule: str, action_id: UUID, *words: object) -> None:
        self._trace.violation(rule, self._trace.action(action_id), *words)
