"""One machine with a rule for every verb: any store against the specification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    precondition,
    rule,
)

from duetime.model.actions.claim import ClaimOrder, Presence, Span
from duetime.model.actions.completion import Ending, decide_loss
from duetime.model.actions.new_actions import IfExists
from duetime.model.filter import Filter
from duetime.model.state import FINISHED, State
from duetime.model.tenant import ANY, Scope
from store import draws
from store.alike import (
    by_id,
    claims_alike,
    ends_before,
    figures,
    heads,
    instants,
    whole_ties,
)
from store.compared import ALL, FAR, Compared
from store.laws import is_waiting
from store.pair import Holding, Refused

T = TypeVar("T")
Step = TypeVar("Step", bound=Callable[..., Any])

EVERY_LANE = [Span(lane, draws.EPOCH, 0) for lane in draws.LANES]
WORKER = Presence("w1", "shop", "here", 1, ["mail"], [], 10)


def needs(*states: State) -> Callable[[Step], Step]:
    """Steps that would find nothing are left out: they cost time and show little."""
    return precondition(
        lambda machine: any(record["state"] in states for record in machine.before.values())
    )


class StoreMachine(Compared):
    """A rule for every verb."""

    @rule(pick=draws.picks, late=st.sampled_from((0, 0, 1, 4)))
    @precondition(lambda self: self._coming() or any(r["finished_at"] for r in self._records))
    def time_passes(self, pick: int, late: int) -> None:
        """To the very instant at which something falls due or a lease runs out, or a bit past."""
        coming = self._coming()
        to = _pick(coming, pick) if coming else self.now + 1
        self.clock.advance(microseconds=to - self.now + late)

    def _coming(self) -> list[int]:
        return [instant for instant in instants(self._records) if instant > self.now]

    # -- the client's verbs ----------------------------------------------------------

    @initialize(
        wishes=st.lists(draws.wishes, min_size=4, max_size=8),
        limit=st.integers(0, 4),
        lease=draws.leases,
    )
    def begin(self, wishes: list[draws.Wish], limit: int, lease: int) -> None:
        """In the midst of work, so that each rule has something to do."""
        self.add(wishes, [], "return")
        self.before = self._snapshot()
        self._claim_whole(ClaimOrder("w1", EVERY_LANE, ALL, lease), limit)

    @rule(
        wishes=st.lists(draws.wishes, min_size=1, max_size=4),
        picks=st.lists(draws.picks, max_size=1),
        mode=draws.modes,
    )
    def add(self, wishes: list[draws.Wish], picks: list[int], mode: IfExists) -> None:
        """New ones, and perhaps one that was sent before."""
        if mode == "replace":
            wishes = [wishes[0].rival(self._records), *wishes[1:]]
        old = [_pick(self.sent, pick) for pick in picks]
        known = len(self.sent)
        new = [
            wish.new(draws.nth_id(known + i), self.now, self._records)
            for i, wish in enumerate(wishes)
        ]
        answer = self.pair.ask(lambda side: side.store.add([*new, *old], mode))
        if not isinstance(answer, Refused):
            for added in answer:
                self.laws.added(added["record"]["id"])
        self.sent += new

    @rule(pick=draws.picks, scope=draws.scopes, likeness=draws.likenesses, size=st.integers(1, 4))
    @precondition(lambda self: self.before and self.before != self.known)
    def read(self, pick: int, scope: Scope, likeness: draws.Likeness, size: int) -> None:
        self.known = self.before
        self.pair.ask(lambda side: side.store.get(self._id(pick), scope))
        self.pair.ask(lambda side: side.store.runs(self._id(pick), scope))
        self.pair.ask(lambda side: side.store.stats(scope, alive=FAR, limit=ALL), figures)
        wanted = replace(self._filter(pick, likeness), limit=size)
        while page := self._find(wanted):
            wanted = replace(wanted, before=page[-1]["id"])

    def _find(self, wanted: Filter) -> Any:
        return self.pair.ask(lambda side: side.store.find(wanted))

    @rule(pick=draws.picks, scope=draws.scopes, by=draws.actors, running=st.booleans())
    def cancel(self, pick: int, scope: Scope, by: str, running: bool) -> None:
        one = self._id(pick, State.running if running else State.scheduled)
        self._cancel(one, scope, by, running=running)

    def _cancel(self, one: UUID, scope: Scope, by: str, *, running: bool) -> None:
        self.pair.ask(lambda side: side.store.cancel(one, scope, by, running=running))
        self._compare_stops([held for held in self.held if held.id == one])

    @rule(
        pick=draws.picks,
        scope=draws.scopes,
        by=draws.actors,
        due_in=draws.maybe_offsets,
        pause=draws.micros,
    )
    def reschedule(self, pick: int, scope: Scope, by: str, due_in: int | None, pause: int) -> None:
        one = self._id(pick, State.scheduled)
        due_at, delay = (None, pause) if due_in is None else (self.now + due_in, None)
        self.pair.ask(
            lambda side: side.store.reschedule(one, scope, by, due_at=due_at, delay=delay)
        )

    @rule(pick=draws.picks, scope=draws.scopes, by=draws.actors)
    @needs(State.failed)
    def retry(self, pick: int, scope: Scope, by: str) -> None:
        one = self._id(pick, State.failed)
        self.pair.ask(lambda side: side.store.retry(one, scope, by))

    @rule(pick=draws.picks, likeness=draws.likenesses, by=draws.actors)
    @needs(State.scheduled)
    def cancel_many(self, pick: int, likeness: draws.Likeness, by: str) -> None:
        wanted = self._filter(pick, likeness, State.scheduled)
        self.pair.ask(lambda side: side.store.cancel_many(wanted, by), by_id)

    @rule(pick=draws.picks, likeness=draws.likenesses, by=draws.actors)
    @needs(State.failed)
    def retry_many(self, pick: int, likeness: draws.Likeness, by: str) -> None:
        wanted = self._filter(pick, likeness, State.failed)
        self.pair.ask(lambda side: side.store.retry_many(wanted, by), by_id)

    def _filter(self, pick: int, likeness: draws.Likeness, *states: State) -> Filter:
        """One that finds something of these states."""
        fitting = [r for r in self.before.values() if r["state"] in (states or State)]
        return likeness.filter(_pick(fitting, pick))

    def _id(self, pick: int, *legal: State) -> UUID:
        """Any that was ever sent, but mostly one for which the move is legal."""
        fitting = [one for one, record in self.before.items() if record["state"] in legal]
        return _pick(fitting, pick) if fitting and pick % 4 < 3 else _pick(self.sent, pick).id

    # -- the worker's verbs ----------------------------------------------------------

    @rule(
        data=st.data(),
        worker=st.sampled_from(("w1", "w2")),
        limit=draws.limits,
        lease=draws.leases,
    )
    @needs(State.scheduled)
    def claim(self, data: st.DataObject, worker: str, limit: int, lease: int) -> None:
        order = ClaimOrder(worker, data.draw(draws.spans(self.now)), ALL, lease)
        self._claim_whole(order, limit)

    def _compare_stops(self, held: Sequence[Holding]) -> None:
        """Who asked these holders to stop: nothing but a renewal tells."""
        latest = {one.id: one for one in held}.values()
        self.pair.peek(lambda side: side.store.renew([side.lease(one) for one in latest], 1))

    def _claim_whole(self, order: ClaimOrder, limit: int) -> None:
        """Who comes first among actions due at once in one lane is each store's choice."""
        oracle = self.pair.oracle
        claimed = oracle.peek(oracle.store.claim(order))
        whole = whole_ties([(claim.lane, claim.due_at) for claim in claimed.claims], limit)
        self._claim(replace(order, limit=whole))

    def _claim(self, order: ClaimOrder) -> list[Holding]:
        answer = self.pair.ask(lambda side: side.store.claim(order), claims_alike)
        self.laws.claimed(order, self.now, answer["claims"])
        held = [Holding(claim["id"], claim["token"]) for claim in answer["claims"]]
        self.held += held
        self._compare_stops(held)
        return held

    @rule(
        data=st.data(),
        picks=st.lists(draws.picks, min_size=1, max_size=3),
        rescuing=st.booleans(),
    )
    @precondition(lambda self: self.held)
    def complete(self, data: st.DataObject, picks: list[int], rescuing: bool) -> None:
        """Holders, present and past, end their runs."""
        self._end(data, [self._holder(pick) for pick in picks], rescuing)

    def _holder(self, pick: int) -> Holding:
        """Any that ever was, but mostly one of an action that runs: the present or a past one."""
        present = [held for held in self.held if self._runs_for(held)]
        others = [held for held in self.held if not self._runs_for(held)]
        running = {held.id for held in present}
        past = [held for held in others if held.id in running]
        fitting = (present, present, past, self.held)[pick % 4]
        return _pick(fitting or self.held, pick // 4)

    def _runs_for(self, held: Holding) -> bool:
        return held.id in self.before and self.before[held.id]["token"] == held.name

    @rule(data=st.data(), late=st.integers(0, 8), askers=st.lists(draws.actors, max_size=2))
    @needs(State.scheduled)
    def work(self, data: st.DataObject, late: int, askers: list[str]) -> None:
        """Claim all that is due, perhaps be asked to stop, and end it: what takes several rules
        is else too rare."""
        held = self._claim(ClaimOrder("w1", EVERY_LANE, ALL, 5))
        self.before = self._snapshot()
        for by in askers if held else ():
            self._cancel(held[0].id, ANY, by, running=True)
        self.clock.advance(microseconds=late)
        self._end(data, held, rescuing=False)

    def _end(self, data: st.DataObject, held: list[Holding], rescuing: bool) -> None:
        kinds = draws.finishes(self.now) | draws.agains(self.now)
        endings: list[tuple[Holding, Ending]] = [(one, data.draw(kinds)) for one in held]
        self._send(endings, rescuing)
        self.ended += endings

    @rule(picks=st.lists(draws.picks, min_size=1, max_size=3), rescuing=st.booleans())
    @precondition(lambda self: self.ended)
    def complete_again(self, picks: list[int], rescuing: bool) -> None:
        """The reply was lost."""
        self._send([_pick(self.ended, pick) for pick in picks], rescuing)

    @rule(
        ahead=st.sampled_from((0, 3, FAR)),
        limit=st.sampled_from((1, 2, ALL)),
        rescuing=st.booleans(),
        waiting=draws.mostly,
    )
    @needs(State.running)
    def sweep(self, ahead: int, limit: int, rescuing: bool, waiting: bool) -> None:
        """Which expired leases are told when there are more is each store's choice."""
        ends = [r["lease_until"] for r in self._records if r["state"] is State.running]
        if waiting and min(ends) > self.now:
            self.clock.advance(microseconds=min(ends) - self.now)

        def alike(swept: Any) -> object:
            expired = by_id(swept["expired"])
            told = expired if limit == ALL else len(expired)
            return heads(swept), told, set(swept["parents"])

        self.pair.ask(lambda side: side.store.sweep(WORKER, ahead, limit), alike)
        if rescuing:
            self._rescue()
        else:
            self.pair.ask(lambda side: side.store.leave(WORKER.id))

    def _rescue(self) -> None:
        oracle = self.pair.oracle
        swept = oracle.store.perform_blocking(oracle.store.sweep(WORKER, FAR, ALL))
        lost = [(oracle.holding(one.id, one.token), decide_loss(one)) for one in swept.expired]
        self._send(lost, rescuing=True)
        self.ended += lost

    def _send(self, sent: Sequence[tuple[Holding, Ending]], rescuing: bool) -> None:
        running = {one for one, record in self.before.items() if record["state"] is State.running}
        present = {held.id for held, _ in sent if self._runs_for(held)} & running

        def alike(completed: Any) -> object:
            """Of what had ended earlier a store may tell more parents than there are."""
            return completed["ended"], completed["parents"] & present

        accepted = self.pair.ask(
            lambda side: side.store.complete(
                [side.ending(held, ending) for held, ending in sent], rescuing=rescuing
            ),
            alike,
        )["ended"]
        expired_by = self.now if rescuing else None
        self.laws.ended(sent, self.before, self._snapshot(), accepted, expired_by)

    @rule(picks=st.lists(draws.picks, min_size=1, max_size=4), limit=st.sampled_from((1, 2, ALL)))
    @precondition(lambda self: any(map(is_waiting, self._records)))
    def settle(self, picks: list[int], limit: int) -> None:
        """The children of any, but mostly of those for which some wait."""
        waited_for = [record["after"] for record in self._records if is_waiting(record)]
        parents = [_pick(waited_for, pick) if pick % 4 else self._id(pick) for pick in picks]
        before = self._snapshot()
        self.pair.ask(lambda side: side.store.settle(parents, limit))
        if limit == ALL:
            self.laws.settled(before, self._snapshot(), parents)

    @rule(
        picks=st.lists(draws.picks, max_size=3, unique=True),
        lease=draws.renewals,
        progress=st.sampled_from((None, "[1]", "[2]")),
    )
    @precondition(lambda self: self.held)
    def beat(self, picks: list[int], lease: int, progress: str | None) -> None:
        """One lease per action, as a worker sends them: answers go by action."""
        held = {one.id: one for one in map(self._holder, picks)}.values()
        self.pair.ask(lambda side: side.store.renew([side.lease(one) for one in held], lease))
        if progress is not None:
            for one in held:
                self._progress(one, progress)

    def _progress(self, held: Holding, progress: str) -> None:
        self.pair.ask(lambda side: side.store.progress(side.lease(held), progress))

    @rule(keep=draws.ages, keep_failed=draws.ages, limit=draws.limits, late=st.integers(0, 3))
    @needs(*FINISHED)
    def prune(self, keep: int, keep_failed: int, limit: int, late: int) -> None:
        self.clock.advance(microseconds=late)
        whole = whole_ties(
            ends_before(self._records, self.now - keep, self.now - keep_failed), limit
        )
        self.pair.ask(
            lambda side: side.store.prune(keep=keep, keep_failed=keep_failed, limit=whole)
        )
        after = self._snapshot()
        self.laws.pruned(self.before, after)
        gone = self.before.keys() - after.keys()
        self.before = after
        # Nothing may be known of their runs either.
        self._send([one for one in self.ended if one[0].id in gone], rescuing=False)


def _pick(items: Sequence[T], pick: int) -> T:
    return items[pick % len(items)]
