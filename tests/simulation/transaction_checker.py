"""Checks every transaction of the real store against an independent model of the rules.

The model knows the documented design, not the code of the store: which state follows which verb,
which token may write, and how an outcome changes attempts and losses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from duetime.errors import DuetimeError
from duetime.model.actions.action import Record
from duetime.model.actions.claim import Claimed, RenewResult
from duetime.model.actions.completion import Completion, CompletionResult, Finish
from duetime.model.state import Outcome, State
from simulation.chain_checker import ChainChecker
from simulation.expected_counters import Change, ExpectedCounters
from simulation.faulty_store import Call
from simulation.real_store import RealStore
from simulation.trace import Trace
from simulation.virtual_loop import Process

SUSPECT_LOSSES = 2
FATAL_LOSSES = 5
REFUNDED_OUTCOMES = frozenset({Outcome.snoozed, Outcome.released, Outcome.lost})

Records = Mapping[UUID, Record]


@dataclass(slots=True)
class ObservedClaim:
    """One claim of one action, from the claim to its completion."""

    action: UUID
    token: UUID
    process: Process
    lane: str
    due_at: int
    claimed_at: int
    lease_until: int
    losses: int
    budget_number: int
    delivered_at: int | None = None
    outcome: Outcome | None = None
    result: str | None = None
    finished_at: int | None = None
    stop_requested_at: int | None = None
    killer: tuple[UUID, int] | None = None
    forgotten: bool = False
    expires_at: int | None = None
    expired: bool = False

    @property
    def suspect(self) -> bool:
        return self.losses >= SUSPECT_LOSSES


def is_expired(record: Record) -> bool:
    """Return whether an action was cancelled as expired, not settled because its parent ended."""
    return record.state is State.cancelled and str(record.error).startswith("expired at ")


class TransactionChecker:
    """Compares the records before and after each call with what the call may change."""

    def __init__(self, real_store: RealStore, trace: Trace) -> None:
        self._real_store = real_store
        self.is_loss_explained: Callable[[ObservedClaim], bool] = lambda claim: False
        self._trace = trace
        self.claims: dict[UUID, ObservedClaim] = {}
        self.counters: dict[UUID, ExpectedCounters] = {}
        self._chain_checker = ChainChecker(real_store, trace, self.counters)
        self._rules: dict[str, Callable[[Process, Call[Any], dict[UUID, Change], Any], None]] = {
            "add": self._added,
            "cancel": self._cancelled,
            "cancel_many": self._cancelled,
            "reschedule": self._rescheduled,
            "retry": self._retried,
            "retry_many": self._retried,
            "claim": self._claimed,
            "complete": self._completed,
            "rescue": self._completed,
            "renew": self._renewed,
            "progress": self._progressed,
        }

    def check_transaction(
        self, process: Process, call: Call[Any], before: Records, value: object
    ) -> None:
        after = self._real_store.snapshot()
        changes = {i: (before.get(i), r) for i, r in after.items() if before.get(i) is not r}
        self._trace.add(process.name, call.verb, *self._summary(changes, value))
        if len(before.keys() & after.keys()) < len(before):
            self._violation("G1 an action vanished", call)
        if isinstance(value, DuetimeError):
            if changes:
                self._violation("a call that raised changed something", call)
            return
        if isinstance(value, tuple):
            # Result of the verb, and of settling children in the same transaction.
            value = value[0]
        changes = self._chain_checker.check_settlement(process, call.verb, changes)
        rule = self._rules.get(call.verb)
        if rule is not None:
            rule(process, call, changes, value)
        elif changes:
            self._violation("a read changed something", call)
        for action_id in after:
            if before.get(action_id) is not after[action_id]:
                self._check_counters(action_id, after[action_id])

    def delivered(self, value: object) -> None:
        """Note that a reply reached its process."""
        if isinstance(value, Claimed):
            for claim in value.claims:
                self.claims[claim.token].delivered_at = self._real_store.now

    def forget(self, tokens: Sequence[UUID]) -> None:
        """Note that a crash of the server has undone these claims."""
        for token in tokens:
            claim = self.claims[token]
            claim.forgotten, claim.outcome = True, Outcome.lost
            self.counters[claim.action].attempt -= 1
            self._trace.count("claims forgotten")

    def unfinished_claims_of(self, process: Process) -> list[ObservedClaim]:
        live_claims = (
            h for h in self.claims.values() if h.process is process and h.outcome is None
        )
        return list(live_claims)

    # -- the client's verbs ----------------------------------------------------------

    def _added(
        self, process: Process, call: Call[Any], changes: dict[UUID, Change], v: Any
    ) -> None:
        for action_id, (before, after) in changes.items():
            if before is not None and is_expired(after):
                self._cancelled_for_its_key(process, call, before, after)
                continue
            if before is None:
                self.counters[action_id] = ExpectedCounters()
            else:
                self._require_state(call, before, State.scheduled)
                old = self.counters[action_id]
                self.counters[action_id] = ExpectedCounters(
                    budget_number=old.budget_number + 1, finishes=old.finishes
                )
            if after.after is None or after.waits:
                self._require_state(call, after, State.scheduled)
            else:
                self._chain_checker.check_child(after)
                if after.state is State.cancelled:
                    self.counters[action_id].finishes += 1
                    self._chain_checker.note_finished(process, after)

    def _cancelled_for_its_key(
        self, process: Process, call: Call[Any], before: Record, after: Record
    ) -> None:
        """An expired action that held the key of a new one."""
        self._require_state(call, before, State.scheduled)
        if before.expires_at is None or before.expires_at >= self._real_store.now:
            self._violation("cancelled for its key before it expired", call)
        self.counters[after.id].finishes += 1
        self._chain_checker.note_finished(process, after)
        self._trace.count("expired before a claim")

    def _cancelled(
        self, process: Process, call: Call[Any], changes: dict[UUID, Change], v: Any
    ) -> None:
        for action_id, (before, after) in changes.items():
            self._require_state(call, before, State.scheduled)
            self._require_state(call, after, State.cancelled)
            self.counters[action_id].finishes += 1
            self._chain_checker.note_finished(process, after)
            self._trace.count("cancelled")
        if call.verb == "cancel" and not changes and isinstance(v, Record) and v.token:
            self.claims[v.token].stop_requested_at = self._real_store.now
            self._trace.count("asked to stop")

    def _rescheduled(
        self, _: Process, call: Call[Any], changes: dict[UUID, Change], v: Any
    ) -> None:
        for before, after in changes.values():
            self._require_state(call, before, State.scheduled)
            self._require_state(call, after, State.scheduled)
            if before is not None and before.waits != after.waits:
                self._violation("a rescheduled child no longer waits", self._trace.action(after.id))
            self._trace.count("rescheduled")

    def _retried(self, _: Process, call: Call[Any], changes: dict[UUID, Change], v: Any) -> None:
        for action_id, (before, after) in changes.items():
            self._require_state(call, before, State.failed)
            self._require_state(call, after, State.scheduled)
            counters = self.counters[action_id]
            counters.base, counters.losses, counters.budget_number = (
                counters.attempt,
                0,
                counters.budget_number + 1,
            )
            self._trace.count("retried by hand")

    # -- the worker's verbs ----------------------------------------------------------

    def _claimed(
        self, process: Process, call: Call[Any], changes: dict[UUID, Change], claimed: Claimed
    ) -> None:
        order, now = call.args[0], self._real_store.now
        horizon = now + max(span.ahead for span in order.spans)
        if {c.id for c in claimed.claims} != changes.keys() or len(changes) > order.limit:
            self._violation("a claim returned other actions than it changed", call)
        for claim in claimed.claims:
            before, after = changes[claim.id]
            self._require_state(call, before, State.scheduled)
            self._require_state(call, after, State.running)
            if before is None or before.token or before.due_at is None or before.due_at > horizon:
                self._violation("claimed though not free or not due", self._trace.action(claim.id))
            self._chain_checker.claimed(after)
            if claim.token in self.claims or after.token != claim.token:
                self._violation("a token is not fresh", self._trace.action(claim.id))
            counters = self.counters[claim.id]
            counters.attempt += 1
            observed = ObservedClaim(
                claim.id,
                claim.token,
                process,
                claim.lane,
                claim.due_at,
                now,
                now + order.lease,
                counters.losses,
                counters.budget_number,
                expires_at=claim.expires_at,
            )
            self.claims[claim.token] = observed
            self._trace.count("claims")
            if observed.suspect and len(changes) > 1:
                name = self._trace.action(claim.id)
                self._violation("G6 a suspect was claimed together with others", name)

    def _completed(
        self,
        process: Process,
        call: Call[Any],
        changes: dict[UUID, Change],
        completed: CompletionResult,
    ) -> None:
        completions: Sequence[Completion] = call.args[0]
        accepted = completed.applied
        rescuing = call.verb == "rescue"
        valid = {e.id: e for e in completions if self._may_complete(e, rescuing)}
        for action_id in changes.keys() - valid.keys():
            self._violation("G2 a stale write was accepted", call, self._trace.action(action_id))
        for action_id in valid.keys() - changes.keys():
            self._violation(
                "G2 the holder's write was refused", call, self._trace.action(action_id)
            )
        for completion in completions:
            self._check_reply(
                call, completion, completion.id in accepted, valid.get(completion.id) is completion
            )
        for action_id, completion in valid.items():
            if action_id in changes:
                self._apply(process, completion, *changes[action_id])

    def _may_complete(self, completion: Completion, rescuing: bool) -> bool:
        claim = self.claims[completion.token]
        return claim.outcome is None and (not rescuing or claim.lease_until <= self._real_store.now)

    def _check_reply(
        self, call: Call[Any], completion: Completion, reported: bool, applies: bool
    ) -> None:
        """Check the reply: applied now, or when the same completion was sent before."""
        applied = applies or self.claims[completion.token].outcome == completion.outcome
        if not applied:
            self._trace.count("stale writes refused")
        elif not applies:
            self._trace.count("sent again")
        if applied != reported and not (applied and call.verb == "rescue"):
            rule = (
                "reported as refused, but applied"
                if applied
                else "reported as applied, but refused"
            )
            self._violation(f"G8 a completion was {rule}", call, self._trace.action(completion.id))

    def _apply(
        self, process: Process, completion: Completion, before: Record | None, after: Record
    ) -> None:
        claim, counters = self.claims[completion.token], self.counters[completion.id]
        claim.outcome, claim.finished_at = completion.outcome, self._real_store.now
        claim.result = completion.result
        if completion.outcome is Outcome.lost and not self.is_loss_explained(claim):
            self._violation("a lease was lost without a cause", self._trace.action(completion.id))
        counters.losses += completion.outcome is Outcome.lost
        self._trace.count(f"runs {completion.outcome}")
        if isinstance(completion, Finish):
            counters.finishes += 1
            if completion.refund:
                self._expired(claim, after, counters)
            self._chain_checker.note_finished(process, after)
            self._finished(completion, after, counters)
        else:
            counters.attempt -= completion.outcome in REFUNDED_OUTCOMES
            self._check_requeued(completion, before, after, counters)

    def _expired(self, claim: ObservedClaim, after: Record, counters: ExpectedCounters) -> None:
        """Check that an action was cancelled because it had expired, as far as its worker knew: a
        request and its reply take no longer than a lease."""
        claim.expired = True
        counters.attempt -= 1
        lease = claim.lease_until - claim.claimed_at
        name = self._trace.action(after.id)
        if claim.expires_at is None or self._real_store.now + lease < claim.expires_at:
            self._violation("cancelled before it expired", name)
        if after.state is not State.cancelled or after.started_at is not None:
            self._violation("an expired action was not cancelled without a run", name)
        self._trace.count("expired")

    def _finished(self, completion: Finish, after: Record, counters: ExpectedCounters) -> None:
        expected = (completion.state, completion.outcome, completion.result, completion.token)
        if (after.state, after.outcome, after.result, after.token) != expected:
            self._violation(
                "G2 the record differs from the completion", self._trace.action(after.id)
            )
        if completion.outcome is Outcome.lost and counters.losses < FATAL_LOSSES:
            self._violation("G6 failed as lost too early", self._trace.action(after.id))

    def _check_requeued(
        self,
        completion: Completion,
        before: Record | None,
        after: Record,
        counters: ExpectedCounters,
    ) -> None:
        name = self._trace.action(after.id)
        if after.state is not State.scheduled or after.token or after.lease_until:
            self._violation("G2 a requeued action kept its token", name)
        lost = completion.outcome is Outcome.lost
        if lost and counters.losses >= FATAL_LOSSES:
            self._violation("G6 lost five times and not failed", name)
        if (
            lost
            and counters.losses >= SUSPECT_LOSSES
            and not self._real_store.lane(after.id).suspect
        ):
            self._violation("G6 a suspect is not in its own lane", name)
        early = before is None or (after.due_at or 0) < (before.due_at or 0)
        if early:
            self._violation("G5 a completion moved its action to an earlier time", name)

    def _renewed(
        self, process: Process, call: Call[Any], changes: dict[UUID, Change], renewed: RenewResult
    ) -> None:
        live_claims = {x.id for x in call.args[0] if self.claims[x.token].outcome is None}
        if live_claims != changes.keys() or live_claims != renewed.renewed.keys():
            self._violation("G2 the renewed claims differ from the unfinished claims", call)
        for before, after in changes.values():
            if before is None or before.token is None or before.token != after.token:
                self._violation("G2 a renewal changed a token", call)
            elif before.token in self.claims:
                self.claims[before.token].lease_until = after.lease_until or 0
        self._trace.count("renewals", len(live_claims))

    def _progressed(self, _: Process, call: Call[Any], changes: dict[UUID, Change], v: Any) -> None:
        if self.claims[call.args[0].token].outcome is not None:
            self._violation("G2 a stale holder noted progress", call)

    # -- checks ----------------------------------------------------------------------

    def _require_state(self, call: Call[Any], record: Record | None, state: State) -> None:
        if record is None or record.state is not state:
            self._violation("illegal state change", call, record and record.state, "not", state)

    def _check_counters(self, action_id: UUID, record: Record) -> None:
        """Check attempts and losses: they depend on the action's own outcomes alone."""
        counters = self.counters[action_id]
        actual = (record.attempt, record.base_attempt, record.losses)
        if actual != (counters.attempt, counters.base, counters.losses):
            expected = (counters.attempt, counters.base, counters.losses)
            name = self._trace.action(action_id)
            self._violation("attempt, base and losses are", actual, "not", expected, name)

    def _violation(self, rule: str, *words: object) -> None:
        shown = [w.verb if isinstance(w, Call) else w for w in words]
        self._trace.violation(rule, *shown)

    def _summary(self, changes: dict[UUID, Change], value: object) -> list[str]:
        trace = self._trace
        lines = [
            f"{trace.action(i)}:{r.state.value}/{trace.token(r.token)}/{r.attempt}/{r.losses}"
            for i, (_, r) in changes.items()
        ]
        return [*lines, type(value).__name__] if isinstance(value, DuetimeError) else lines
