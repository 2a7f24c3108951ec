"""Checks the guarantees at the end of a simulated history."""

from __future__ import annotations

import json
from collections import Counter
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from simulation.client import Client
from simulation.handlers import RETRIES
from simulation.ledger import Ledger
from simulation.pause_checker import PauseChecker
from simulation.real_store import RealStore
from simulation.trace import Trace
from simulation.transaction_checker import ObservedClaim, TransactionChecker

OUTCOMES_BY_END: dict[str, set[Outcome]] = {
    "ok": {Outcome.succeeded},
    "raise": {Outcome.retried, Outcome.failed},
    "snooze": {Outcome.snoozed},
    "fail": {Outcome.failed},
    "cancel": {Outcome.cancelled},
    "release": {Outcome.retried, Outcome.failed},
    "stopped: cancelled": {Outcome.cancelled},
    "stopped: lost": {Outcome.released},
    "stopped: shutdown": {Outcome.released},
    "stopped: timeout": {Outcome.retried, Outcome.failed},
    "interrupted": {Outcome.retried, Outcome.failed, Outcome.released},
}
MAX_NEIGHBOUR_LOSSES = 2


class FinalChecker:
    """Compares what clients were promised, what the store holds and what handlers did."""

    def __init__(
        self,
        real_store: RealStore,
        transaction_checker: TransactionChecker,
        ledger: Ledger,
        pause_checker: PauseChecker,
        client: Client,
        trace: Trace,
    ) -> None:
        self._real_store = real_store
        self._checker = transaction_checker
        self._ledger = ledger
        self._pause_checker = pause_checker
        self._client = client
        self._trace = trace
        self._claims: dict[UUID, list[ObservedClaim]] = {}
        for claim in transaction_checker.claims.values():
            self._claims.setdefault(claim.action, []).append(claim)

    def check(self, emitted: Counter[UUID]) -> None:
        for action_id in self._client.promised:
            if self._real_store.record(action_id) is None:
                self._violation("G1 promised and gone", action_id)
        for action_id in self._client.cancelled:
            record = self._real_store.record(action_id)
            if record is None or record.state is not State.cancelled:
                self._violation("cancelled for the client, but not in the store", action_id)
        records = self._real_store.snapshot()
        for action_id, record in records.items():
            self._check_action(action_id, record, emitted[action_id])
        requested = [(record.kind, record.payload) for record in records.values() if not record.key]
        if len(set(requested)) < len(requested):
            self._trace.violation("G8 scheduled twice after a lost reply")
        self._check_neighbours()

    def latest(self) -> float:
        """Return the longest start delay, in seconds, of an action that no client edited: since it
        was due, or since the pause of its queue had ended."""
        delays = [self._pause_checker.latest]
        for action_id, claims in self._claims.items():
            record = self._real_store.record(action_id)
            start = self._ledger.by_token.get(claims[0].token)
            if record is None or record.modified_at is not None or start is None:
                continue
            if not self._pause_checker.held(claims[0], start.at):
                delays.append((start.at - max(claims[0].due_at, record.created_at)) / 1_000_000)
        return max(delays)

    def _check_action(self, action_id: UUID, record: Record, emitted: int) -> None:
        if not record.state.finished:
            self._violation("G1 never finished", action_id, record.state)
        if emitted > self._checker.counters[action_id].finishes:
            self._violation("an event was sent and nothing had changed", action_id)
        if record.attempt - record.base_attempt > RETRIES[record.kind].attempts:
            self._violation("more attempts than its retry budget", action_id)
        claims = self._claims.get(action_id, [])
        started = [claim for claim in claims if not claim.expired]
        self._check_runs(action_id, started)
        for claim in started:
            self._check_claim(claim)
        if len(started) < len(claims):
            self._check_expired(record, claims)
        elif record.token is not None and record.outcome is not Outcome.lost:
            self._check_result(record)

    def _check_runs(self, action_id: UUID, claims: list[ObservedClaim]) -> None:
        """Check that each of these claims has a run on record: a repeated start has a reason."""
        store = self._real_store
        runs = store.perform_blocking(store.runs(action_id, ANY, limit=10_000))
        if [r.id for r in runs] != [h.token for h in claims]:
            self._violation("recorded runs differ from the claims", action_id)
        elif [r.outcome for r in runs] != [h.outcome for h in claims]:
            self._violation("recorded outcomes differ from those of the claims", action_id)

    def _check_expired(self, record: Record, claims: list[ObservedClaim]) -> None:
        """Check that an expired action ended so, and that its last claim started nothing."""
        if record.state is not State.cancelled or not claims[-1].expired:
            self._violation("went on after it had expired", record.id, record.state)
        if claims[-1].token in self._ledger.by_token:
            self._violation("recorded as expired, but started", record.id)

    def _check_claim(self, claim: ObservedClaim) -> None:
        """Check that the recorded outcome is what the handler of this claim did."""
        start = self._ledger.by_token.get(claim.token)
        if claim.outcome is None or claim.outcome is Outcome.lost:
            return
        if start is None:
            if claim.outcome is not Outcome.released:
                self._violation(f"recorded as {claim.outcome} without a run", claim.action)
        elif claim.outcome not in OUTCOMES_BY_END.get(start.end or "", set()):
            self._violation(f"recorded as {claim.outcome}, did {start.end}", claim.action)

    def _check_result(self, record: Record) -> None:
        start = self._ledger.by_token.get(record.token) if record.token else None
        result = None if record.result is None else json.loads(record.result)
        if start is None:
            self._violation("finished by a run that never started", record.id)
        elif record.state is State.succeeded and result != start.result:
            self._violation("G2 the result of another run was recorded", record.id)

    def _check_neighbours(self) -> None:
        """Check that an action that kills its worker costs each neighbour at most two losses."""
        losses: Counter[tuple[UUID, int, UUID, int]] = Counter()
        for claim in self._checker.claims.values():
            if claim.outcome is Outcome.lost and claim.killer and claim.killer[0] != claim.action:
                losses[(*claim.killer, claim.action, claim.budget_number)] += 1
        for (killer, _, action_id, _), count in losses.items():
            if count > MAX_NEIGHBOUR_LOSSES:
                beside = self._trace.action(killer)
                self._violation(f"G6 lost {count} times beside {beside}", action_id)

    def _violation(self, rule: str, action_id: UUID, *words: object) -> None:
        self._trace.violation(rule, self._trace.action(action_id), *words)
