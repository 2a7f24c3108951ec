"""Watches every transaction of the truth and keeps its own account of what may happen.

It knows the rules of the design, not the code of the store: which state follows which verb,
whose token decides, what an outcome does to attempts and losses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from duetime.errors import DuetimeError
from duetime.model.actions.action import Record
from duetime.model.actions.claim import Claimed, Renewed
from duetime.model.actions.completion import Completed, Ending, Finish
from duetime.model.state import Outcome, State
from simulation.chains import Chains
from simulation.faulty import Call
from simulation.life import Change, Life
from simulation.loop import Process
from simulation.trace import Trace
from simulation.truth import Truth

SUSPECT = 2
FATAL = 5
FREE = frozenset({Outcome.snoozed, Outcome.released, Outcome.lost})

Records = Mapping[UUID, Record]


@dataclass(slots=True)
class Hold:
    """One claim of one action: the life of a token."""

    action: UUID
    token: UUID
    process: Process
    lane: str
    due_at: int
    claimed_at: int
    lease_until: int
    losses: int
    life: int
    delivered_at: int | None = None
    outcome: Outcome | None = None
    result: str | None = None
    ended_at: int | None = None
    stop_asked_at: int | None = None
    killer: tuple[UUID, int] | None = None

    @property
    def suspect(self) -> bool:
        return self.losses >= SUSPECT


class Witness:
    """Judges each call by what the truth was before it and is after it."""

    def __init__(self, truth: Truth, trace: Trace) -> None:
        self._truth = truth
        self.excuses: Callable[[Hold], bool] = lambda hold: False
        self._trace = trace
        self.holds: dict[UUID, Hold] = {}
        self.lives: dict[UUID, Life] = {}
        self._chains = Chains(truth, trace, self.lives)
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

    def saw(self, process: Process, call: Call[Any], before: Records, value: object) -> None:
        after = self._truth.snapshot()
        changes = {i: (before.get(i), r) for i, r in after.items() if before.get(i) is not r}
        self._trace.add(process.name, call.verb, *self._told(changes, value))
        if len(before.keys() & after.keys()) < len(before):
            self._wrong("G1 an action vanished", call)
        if isinstance(value, DuetimeError):
            if changes:
                self._wrong("an error changed something", call)
            return
        if isinstance(value, tuple):
            # The verb and, in the same transaction, the settling of children.
            value = value[0]
        changes = self._chains.settle(process, call.verb, changes)
        rule = self._rules.get(call.verb)
        if rule is not None:
            rule(process, call, changes, value)
        elif changes:
            self._wrong("a read changed something", call)
        for action_id in after:
            if before.get(action_id) is not after[action_id]:
                self._count(action_id, after[action_id])

    def delivered(self, value: object) -> None:
        """A reply reached its process."""
        if isinstance(value, Claimed):
            for claim in value.claims:
                self.holds[claim.token].delivered_at = self._truth.now

    def held_by(self, process: Process) -> list[Hold]:
        live = (h for h in self.holds.values() if h.process is process and h.outcome is None)
        return list(live)

    # -- the client's verbs ----------------------------------------------------------

    def _added(
        self, process: Process, call: Call[Any], changes: dict[UUID, Change], v: Any
    ) -> None:
        for action_id, (before, after) in changes.items():
            if before is None:
                self.lives[action_id] = Life()
            else:
                self._need(call, before, State.scheduled)
                old = self.lives[action_id]
                self.lives[action_id] = Life(number=old.number + 1, finishes=old.finishes)
            if after.after is None or after.waits:
                self._need(call, after, State.scheduled)
            else:
                self._chains.judge(after)
                if after.state is State.cancelled:
                    self.lives[action_id].finishes += 1
                    self._chains.ended(process, after)

    def _cancelled(
        self, process: Process, call: Call[Any], changes: dict[UUID, Change], v: Any
    ) -> None:
        for action_id, (before, after) in changes.items():
            self._need(call, before, State.scheduled)
            self._need(call, after, State.cancelled)
            self.lives[action_id].finishes += 1
            self._chains.ended(process, after)
            self._trace.count("cancelled")
        if call.verb == "cancel" and not changes and isinstance(v, Record) and v.token:
            self.holds[v.token].stop_asked_at = self._truth.now
            self._trace.count("asked to stop")

    def _rescheduled(
        self, _: Process, call: Call[Any], changes: dict[UUID, Change], v: Any
    ) -> None:
        for before, after in changes.values():
            self._need(call, before, State.scheduled)
            self._need(call, after, State.scheduled)
            if before is not None and before.waits != after.waits:
                self._wrong("a child that was moved no longer waits", self._trace.action(after.id))
            self._trace.count("rescheduled")

    def _retried(self, _: Process, call: Call[Any], changes: dict[UUID, Change], v: Any) -> None:
        for action_id, (before, after) in changes.items():
            self._need(call, before, State.failed)
            self._need(call, after, State.scheduled)
            life = self.lives[action_id]
            life.base, life.losses, life.number = life.attempt, 0, life.number + 1
            self._trace.count("retried by hand")

    # -- the worker's verbs ----------------------------------------------------------

    def _claimed(
        self, process: Process, call: Call[Any], changes: dict[UUID, Change], claimed: Claimed
    ) -> None:
        order, now = call.args[0], self._truth.now
        horizon = now + max(span.ahead for span in order.spans)
        if {c.id for c in claimed.claims} != changes.keys() or len(changes) > order.limit:
            self._wrong("a claim told something else than it took", call)
        for claim in claimed.claims:
            before, after = changes[claim.id]
            self._need(call, before, State.scheduled)
            self._need(call, after, State.running)
            if before is None or before.token or before.due_at is None or before.due_at > horizon:
                self._wrong("claimed though not free or not due", self._trace.action(claim.id))
            self._chains.claimed(after)
            if claim.token in self.holds or after.token != claim.token:
                self._wrong("a token is not fresh", self._trace.action(claim.id))
            life = self.lives[claim.id]
            life.attempt += 1
            hold = Hold(
                claim.id,
                claim.token,
                process,
                claim.lane,
                claim.due_at,
                now,
                now + order.lease,
                life.losses,
                life.number,
            )
            self.holds[claim.token] = hold
            self._trace.count("claims")
            if hold.suspect and len(changes) > 1:
                self._wrong("G6 a suspect was claimed in company", self._trace.action(claim.id))

    def _completed(
        self,
        process: Process,
        call: Call[Any],
        changes: dict[UUID, Change],
        completed: Completed,
    ) -> None:
        endings: Sequence[Ending] = call.args[0]
        accepted = completed.ended
        rescuing = call.verb == "rescue"
        right = {e.id: e for e in endings if self._may_end(e, rescuing)}
        for action_id in changes.keys() - right.keys():
            self._wrong("G2 a stale write was accepted", call, self._trace.action(action_id))
        for action_id in right.keys() - changes.keys():
            self._wrong("G2 the holder's write was refused", call, self._trace.action(action_id))
        for ending in endings:
            self._answered(call, ending, ending.id in accepted, right.get(ending.id) is ending)
        for action_id, ending in right.items():
            if action_id in changes:
                self._apply(process, ending, *changes[action_id])

    def _may_end(self, ending: Ending, rescuing: bool) -> bool:
        hold = self.holds[ending.token]
        return hold.outcome is None and (not rescuing or hold.lease_until <= self._truth.now)

    def _answered(self, call: Call[Any], ending: Ending, told: bool, applies: bool) -> None:
        """Told that it took effect: now, or at an earlier sending of the same ending."""
        took = applies or self.holds[ending.token].outcome == ending.outcome
        if not took:
            self._trace.count("stale writes refused")
        elif not applies:
            self._trace.count("sent again")
        if took != told and not (took and call.verb == "rescue"):
            rule = "denied though it took effect" if took else "told it took effect, it did not"
            self._wrong(f"G8 an ending was {rule}", call, self._trace.action(ending.id))

    def _apply(
        self, process: Process, ending: Ending, before: Record | None, after: Record
    ) -> None:
        hold, life = self.holds[ending.token], self.lives[ending.id]
        hold.outcome, hold.ended_at = ending.outcome, self._truth.now
        hold.result = ending.result
        if ending.outcome is Outcome.lost and not self.excuses(hold):
            self._wrong("lost without a cause", self._trace.action(ending.id))
        life.losses += ending.outcome is Outcome.lost
        self._trace.count(f"runs {ending.outcome}")
        if isinstance(ending, Finish):
            life.finishes += 1
            self._chains.ended(process, after)
            self._finished(ending, after, life)
        else:
            life.attempt -= ending.outcome in FREE
            self._freed(ending, before, after, life)

    def _finished(self, ending: Finish, after: Record, life: Life) -> None:
        wanted = (ending.state, ending.outcome, ending.result, ending.token)
        if (after.state, after.outcome, after.result, after.token) != wanted:
            self._wrong("G2 the record tells another ending", self._trace.action(after.id))
        if ending.outcome is Outcome.lost and life.losses < FATAL:
            self._wrong("G6 failed as lost too early", self._trace.action(after.id))

    def _freed(self, ending: Ending, before: Record | None, after: Record, life: Life) -> None:
        name = self._trace.action(after.id)
        if after.state is not State.scheduled or after.token or after.lease_until:
            self._wrong("G2 a run ended and its token stayed", name)
        lost = ending.outcome is Outcome.lost
        if lost and life.losses >= FATAL:
            self._wrong("G6 lost five times and not failed", name)
        if lost and life.losses >= SUSPECT and not self._truth.lane(after.id).suspect:
            self._wrong("G6 a suspect is not in its own lane", name)
        early = before is None or (after.due_at or 0) < (before.due_at or 0)
        if early:
            self._wrong("G5 a run that ended moved its action ahead", name)

    def _renewed(
        self, process: Process, call: Call[Any], changes: dict[UUID, Change], renewed: Renewed
    ) -> None:
        live = {x.id for x in call.args[0] if self.holds[x.token].outcome is None}
        if live != changes.keys() or live != renewed.kept.keys():
            self._wrong("G2 not exactly what is held was renewed", call)
        for before, after in changes.values():
            if before is None or before.token is None or before.token != after.token:
                self._wrong("G2 a renewal changed a token", call)
            elif before.token in self.holds:
                self.holds[before.token].lease_until = after.lease_until or 0
        self._trace.count("renewals", len(live))

    def _progressed(self, _: Process, call: Call[Any], changes: dict[UUID, Change], v: Any) -> None:
        if self.holds[call.args[0].token].outcome is not None:
            self._wrong("G2 a stale holder noted progress", call)

    # -- judging ---------------------------------------------------------------------

    def _need(self, call: Call[Any], record: Record | None, state: State) -> None:
        if record is None or record.state is not state:
            self._wrong("an illegal move", call, record and record.state, "not", state)

    def _count(self, action_id: UUID, record: Record) -> None:
        """Attempts and losses: by outcomes alone, whoever crashed beside it."""
        life = self.lives[action_id]
        found = (record.attempt, record.base_attempt, record.losses)
        if found != (life.attempt, life.base, life.losses):
            wanted = (life.attempt, life.base, life.losses)
            name = self._trace.action(action_id)
            self._wrong("attempt, base and losses are", found, "not", wanted, name)

    def _wrong(self, rule: str, *words: object) -> None:
        shown = [w.verb if isinstance(w, Call) else w for w in words]
        self._trace.violation(rule, *shown)

    def _told(self, changes: dict[UUID, Change], value: object) -> list[str]:
        trace = self._trace
        told = [
            f"{trace.action(i)}:{r.state.value}/{trace.token(r.token)}/{r.attempt}/{r.losses}"
            for i, (_, r) in changes.items()
        ]
        return [*told, type(value).__name__] if isinstance(value, DuetimeError) else told
