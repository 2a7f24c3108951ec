"""Hypothesis state machine with a rule for every verb of a store.

Hypothesis orders rules and their arguments by name: renaming them changes the examples, and with
them the rounds in which `test_sql_mutants` catches a mutant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, get_args
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    precondition,
    rule,
)

from duetime.model.act import Act
from duetime.model.actions.action_key import ActionKey, KeyStates
from duetime.model.actions.claim import ClaimOrder, LaneSpan, WorkerInfo
from duetime.model.actions.completion import Completion, decide_loss
from duetime.model.actions.new_actions import IfExists
from duetime.model.audit import AuditFilter
from duetime.model.filter import NEWEST_FIRST, Filter, Position, Sort
from duetime.model.state import FINISHED, State
from duetime.model.tenant import ANY, Scope
from duetime.store.flow import Flow
from store import strategies
from store.invariants import is_waiting
from store.normalized import (
    by_id,
    finish_times_before,
    heads,
    instants,
    normalized_circumstances,
    normalized_claims,
    normalized_queues,
    normalized_stats,
    whole_ties,
)
from store.operator_rules import OperatorRules
from store.store_comparison import ALL, FAR, needs, pick_from
from store.store_pair import NamedClaim, RaisedError, StoreSide

T = TypeVar("T")

EVERY_LANE = [LaneSpan(lane, strategies.EPOCH, 0) for lane in strategies.LANES]
WORKER = WorkerInfo("w1", "shop", "here", 1, ["mail"], [], 10)


class StoreMachine(OperatorRules):
    """Compares a store with the specification, with a rule for every verb."""

    @rule(pick=strategies.picks, late=st.sampled_from((0, 0, 1, 4)))
    @precondition(lambda self: self._coming() or any(r["finished_at"] for r in self._records))
    def time_passes(self, pick: int, late: int) -> None:
        """Advance to the instant at which an action is due or a lease expires, or a bit further."""
        coming = self._coming()
        to = pick_from(coming, pick) if coming else self.now + 1
        self.clock.advance(microseconds=to - self.now + late)

    def _coming(self) -> list[int]:
        coming = {*instants(self._records), *self.pause_ends}
        return sorted(instant for instant in coming if instant > self.now)

    # -- the client's verbs ----------------------------------------------------------

    @initialize(
        wanted_actions=st.lists(strategies.drafts, min_size=4, max_size=8),
        limit=st.integers(0, 4),
        lease=strategies.leases,
    )
    def begin(self, wanted_actions: list[strategies.ActionDraft], limit: int, lease: int) -> None:
        """Start with scheduled and claimed actions, so that each rule has something to do."""
        self.add(wanted_actions, [], "return")
        self.before = self._snapshot()
        self._claim_whole(ClaimOrder("w1", EVERY_LANE, ALL, lease), limit)

    @rule(
        wanted_actions=st.lists(strategies.drafts, min_size=1, max_size=4),
        picks=st.lists(strategies.picks, max_size=1),
        mode=strategies.modes,
    )
    def add(
        self, wanted_actions: list[strategies.ActionDraft], picks: list[int], mode: IfExists
    ) -> None:
        """Add new actions, and perhaps one that was sent before."""
        if mode == "replace":
            wanted_actions = [wanted_actions[0].rival(self._records), *wanted_actions[1:]]
        old = [pick_from(self.sent, pick) for pick in picks]
        known = len(self.sent)
        new = [
            draft.new(strategies.nth_id(known + i), self.now, self._records)
            for i, draft in enumerate(wanted_actions)
        ]
        answer = self.pair.ask(lambda side: side.store.add([*new, *old], mode))
        if not isinstance(answer, RaisedError):
            for added in answer:
                self.checks.added(added["record"]["id"])
        self.sent += new

    @rule(
        pick=strategies.picks,
        scope=strategies.scopes,
        like_filter=strategies.similar_filters,
        size=st.integers(1, 4),
    )
    @precondition(lambda self: self.before and self.before != self.known)
    def read(
        self, pick: int, scope: Scope, like_filter: strategies.SimilarFilter, size: int
    ) -> None:
        self.known = self.before
        self.pair.ask(lambda side: side.store.get(self._id(pick), scope))
        self.pair.ask(lambda side: side.store.runs(self._id(pick), scope, limit=size))
        self._find_id(self._id(pick), scope)
        self.pair.ask(
            lambda side: side.store.circumstances(self._id(pick), scope, alive=FAR),
            normalized_circumstances,
        )
        self.pair.ask(lambda side: side.store.stats(scope, alive=FAR, limit=ALL), normalized_stats)
        for sort in (NEWEST_FIRST, Sort("due_at", False), Sort("finished_at", True)):
            self._walk(replace(self._filter(pick, like_filter), limit=size, sort=sort))

    def _walk(self, wanted: Filter) -> None:
        while after := self._find(wanted)["next"]:
            wanted = replace(wanted, follows=Position(*after))

    def _find_id(self, action_id: UUID, scope: Scope) -> None:
        record = self.before.get(action_id)
        if record and record["key"]:
            for among in get_args(KeyStates):
                wanted = ActionKey(record["kind"], record["key"], among)
                self.pair.ask(partial(_find_id, wanted, scope))

    def _find(self, wanted: Filter) -> Any:
        return self.pair.ask(lambda side: side.store.find(wanted))

    @rule(
        pick=strategies.picks, scope=strategies.scopes, by=strategies.actors, running=st.booleans()
    )
    def cancel(self, pick: int, scope: Scope, by: str, running: bool) -> None:
        action_id = self._id(pick, State.running if running else State.scheduled)
        self._cancel(action_id, scope, by, running=running)

    def _cancel(self, action_id: UUID, scope: Scope, by: str, *, running: bool) -> None:
        self.pair.ask(lambda side: side.store.cancel(action_id, scope, Act(by), running=running))
        self._compare_stops([claim for claim in self.all_claims if claim.id == action_id])

    @rule(
        pick=strategies.picks,
        scope=strategies.scopes,
        by=strategies.actors,
        due_in=strategies.maybe_offsets,
        pause=strategies.micros,
    )
    def reschedule(self, pick: int, scope: Scope, by: str, due_in: int | None, pause: int) -> None:
        action_id = self._id(pick, State.scheduled)
        due_at, delay = (None, pause) if due_in is None else (self.now + due_in, None)
        self.pair.ask(
            lambda side: side.store.reschedule(
                action_id, scope, Act(by), due_at=due_at, delay=delay
            )
        )

    @rule(pick=strategies.picks, scope=strategies.scopes, by=strategies.actors)
    @needs(State.failed)
    def retry(self, pick: int, scope: Scope, by: str) -> None:
        action_id = self._id(pick, State.failed)
        self.pair.ask(lambda side: side.store.retry(action_id, scope, Act(by)))

    @rule(
        queue=strategies.queues,
        by=strategies.actors,
        lasting=strategies.maybe_offsets,
        resuming=st.booleans(),
    )
    def pause(self, queue: str, by: str, lasting: int | None, resuming: bool) -> None:
        """Pause a queue, perhaps until an instant that may have passed; or resume it."""
        if resuming:
            self.pair.ask(lambda side: side.store.resume_queue(queue, Act(by)))
        else:
            until = None if lasting is None else self.now + lasting
            self.pair.ask(lambda side: side.store.pause_queue(queue, Act(by), until=until))
            self.pause_ends |= set() if until is None else {until}
        self.pair.ask(lambda side: side.store.queues(FAR), normalized_queues)
        self.pair.ask(lambda side: side.store.audit(AuditFilter(subject_id=queue, limit=ALL)))

    @rule(pick=strategies.picks, like_filter=strategies.similar_filters, by=strategies.actors)
    @needs(State.scheduled)
    def cancel_many(self, pick: int, like_filter: strategies.SimilarFilter, by: str) -> None:
        wanted = self._filter(pick, like_filter, State.scheduled)
        self.pair.ask(lambda side: side.store.cancel_many(wanted, Act(by)), by_id)

    @rule(pick=strategies.picks, like_filter=strategies.similar_filters, by=strategies.actors)
    @needs(State.failed)
    def retry_many(self, pick: int, like_filter: strategies.SimilarFilter, by: str) -> None:
        wanted = self._filter(pick, like_filter, State.failed)
        self.pair.ask(lambda side: side.store.retry_many(wanted, Act(by)), by_id)

    # -- the worker's verbs ----------------------------------------------------------

    @rule(
        data=st.data(),
        worker=st.sampled_from(("w1", "w2")),
        limit=strategies.limits,
        lease=strategies.leases,
    )
    @needs(State.scheduled)
    def claim(self, data: st.DataObject, worker: str, limit: int, lease: int) -> None:
        order = ClaimOrder(worker, data.draw(strategies.spans(self.now)), ALL, lease)
        self._claim_whole(order, limit)

    def _compare_stops(self, named_claims: Sequence[NamedClaim]) -> None:
        """Compare stop requests of these claims, which only a renewal reports."""
        latest = {claim.id: claim for claim in named_claims}.values()
        self.pair.peek(lambda side: side.store.renew([side.lease(claim) for claim in latest], 1))

    def _claim_whole(self, order: ClaimOrder, limit: int) -> None:
        """Claim without splitting actions of a lane that are due at the same time.

        Each store may choose their order.
        """
        oracle = self.pair.oracle
        claimed = oracle.peek(oracle.store.claim(order))
        whole = whole_ties([(claim.lane, claim.due_at) for claim in claimed.claims], limit)
        self._claim(replace(order, limit=whole))

    def _claim(self, order: ClaimOrder) -> list[NamedClaim]:
        answer = self.pair.ask(lambda side: side.store.claim(order), normalized_claims)
        self.checks.claimed(order, self.now, answer["claims"])
        named_claims = [NamedClaim(claim["id"], claim["token"]) for claim in answer["claims"]]
        self.all_claims += named_claims
        self._compare_stops(named_claims)
        return named_claims

    @rule(
        data=st.data(),
        picks=st.lists(strategies.picks, min_size=1, max_size=3),
        rescuing=st.booleans(),
    )
    @precondition(lambda self: self.all_claims)
    def complete(self, data: st.DataObject, picks: list[int], rescuing: bool) -> None:
        """Complete current and past claims."""
        self._end(data, [self._holder(pick) for pick in picks], rescuing)

    def _holder(self, pick: int) -> NamedClaim:
        """Return any claim, mostly a current or past claim of a running action."""
        present = [claim for claim in self.all_claims if self._runs_for(claim)]
        others = [claim for claim in self.all_claims if not self._runs_for(claim)]
        running = {claim.id for claim in present}
        past = [claim for claim in others if claim.id in running]
        fitting = (present, present, past, self.all_claims)[pick % 4]
        return pick_from(fitting or self.all_claims, pick // 4)

    def _runs_for(self, named_claim: NamedClaim) -> bool:
        return (
            named_claim.id in self.before
            and self.before[named_claim.id]["token"] == named_claim.name
        )

    @rule(data=st.data(), late=st.integers(0, 8), askers=st.lists(strategies.actors, max_size=2))
    @needs(State.scheduled)
    def work(self, data: st.DataObject, late: int, askers: list[str]) -> None:
        """Claim all due actions, perhaps request a stop, and complete them.

        A sequence of several rules would be too rare otherwise.
        """
        named_claims = self._claim(ClaimOrder("w1", EVERY_LANE, ALL, 5))
        self.before = self._snapshot()
        for by in askers if named_claims else ():
            self._cancel(named_claims[0].id, ANY, by, running=True)
        self.clock.advance(microseconds=late)
        self._end(data, named_claims, rescuing=False)

    def _end(self, data: st.DataObject, named_claims: list[NamedClaim], rescuing: bool) -> None:
        kinds = strategies.finishes(self.now) | strategies.reschedules(self.now)
        completions: list[tuple[NamedClaim, Completion]] = [
            (claim, data.draw(kinds)) for claim in named_claims
        ]
        self._send(completions, rescuing)
        self.completions_sent += completions

    @rule(picks=st.lists(strategies.picks, min_size=1, max_size=3), rescuing=st.booleans())
    @precondition(lambda self: self.completions_sent)
    def complete_again(self, picks: list[int], rescuing: bool) -> None:
        """Send completions again, as after a lost reply."""
        self._send([pick_from(self.completions_sent, pick) for pick in picks], rescuing)

    @rule(
        ahead=st.sampled_from((0, 3, FAR)),
        limit=st.sampled_from((1, 2, ALL)),
        rescuing=st.booleans(),
        waiting=strategies.mostly,
    )
    @needs(State.running)
    def sweep(self, ahead: int, limit: int, rescuing: bool, waiting: bool) -> None:
        """Sweep; beyond the limit each store may choose which expired leases it reports."""
        ends = [r["lease_until"] for r in self._records if r["state"] is State.running]
        if waiting and min(ends) > self.now:
            self.clock.advance(microseconds=min(ends) - self.now)

        def normalize(swept: Any) -> object:
            expired = by_id(swept["expired"])
            expired_or_count = expired if limit == ALL else len(expired)
            return heads(swept), expired_or_count, set(swept["parents"])

        self.pair.ask(lambda side: side.store.sweep(WORKER, ahead, limit), normalize)
        if rescuing:
            self._rescue()
        else:
            self.pair.ask(lambda side: side.store.unregister(WORKER.id))

    def _rescue(self) -> None:
        oracle = self.pair.oracle
        swept = oracle.store.perform_blocking(oracle.store.sweep(WORKER, FAR, ALL))
        lost = [(oracle.named_claim(run.id, run.token), decide_loss(run)) for run in swept.expired]
        self._send(lost, rescuing=True)
        self.completions_sent += lost

    def _send(self, sent: Sequence[tuple[NamedClaim, Completion]], rescuing: bool) -> None:
        running = {i for i, record in self.before.items() if record["state"] is State.running}
        present = {claim.id for claim, _ in sent if self._runs_for(claim)} & running

        def normalize(completed: Any) -> object:
            """For completions applied earlier a store may report more parents than necessary."""
            return completed["applied"], completed["parents"] & present

        accepted = self.pair.ask(
            lambda side: side.store.complete(
                [side.completion_of(claim, completion) for claim, completion in sent],
                rescuing=rescuing,
            ),
            normalize,
        )["applied"]
        expired_by = self.now if rescuing else None
        self.checks.completed(sent, self.before, self._snapshot(), accepted, expired_by)

    @rule(
        picks=st.lists(strategies.picks, min_size=1, max_size=4), limit=st.sampled_from((1, 2, ALL))
    )
    @precondition(lambda self: any(map(is_waiting, self._records)))
    def settle(self, picks: list[int], limit: int) -> None:
        """Settle the children of any actions, mostly of those with waiting children."""
        waited_for = [record["after"] for record in self._records if is_waiting(record)]
        parents = [pick_from(waited_for, pick) if pick % 4 else self._id(pick) for pick in picks]
        before = self._snapshot()
        self.pair.ask(lambda side: side.store.settle(parents, limit))
        if limit == ALL:
            self.checks.settled(before, self._snapshot(), parents)

    @rule(
        picks=st.lists(strategies.picks, max_size=3, unique=True),
        lease=strategies.renewals,
        progress=st.sampled_from((None, "[1]", "[2]")),
    )
    @precondition(lambda self: self.all_claims)
    def beat(self, picks: list[int], lease: int, progress: str | None) -> None:
        """Renew at most one claim per action, as a worker does: replies are by action id."""
        named_claims = {claim.id: claim for claim in map(self._holder, picks)}.values()
        self.pair.ask(
            lambda side: side.store.renew([side.lease(claim) for claim in named_claims], lease)
        )
        if progress is not None:
            for claim in named_claims:
                self._progress(claim, progress)

    def _progress(self, named_claim: NamedClaim, progress: str) -> None:
        self.pair.ask(lambda side: side.store.progress(side.lease(named_claim), progress))

    @rule(
        keep=strategies.ages,
        keep_failed=strategies.ages,
        limit=strategies.limits,
        late=st.integers(0, 3),
    )
    @needs(*FINISHED)
    def prune(self, keep: int, keep_failed: int, limit: int, late: int) -> None:
        self.clock.advance(microseconds=late)
        whole = whole_ties(
            finish_times_before(self._records, self.now - keep, self.now - keep_failed), limit
        )
        self.pair.ask(
            lambda side: side.store.prune(keep=keep, keep_failed=keep_failed, limit=whole)
        )
        after = self._snapshot()
        self.checks.pruned(self.before, after)
        gone = self.before.keys() - after.keys()
        self.before = after
        # Their completions must be unknown, too.
        self._send([sent for sent in self.completions_sent if sent[0].id in gone], rescuing=False)


def _find_id(wanted: ActionKey, scope: Scope, side: StoreSide) -> Flow[UUID]:
    return side.store.find_id(wanted, scope)
