"""One machine with a rule for every verb: any store against the specification.

After every step both stores must tell the same, and the laws must hold on the checked one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from duetime.model.action import NewAction
from duetime.model.claim import Claimed, ClaimOrder, Presence, Span
from duetime.model.clock import to_micros
from duetime.model.ending import Ending, decide_loss
from duetime.model.filter import Filter
from duetime.model.key import IfExists
from duetime.model.state import FINISHED, State
from duetime.model.tenant import ANY, Scope
from duetime.store.base import Store
from duetime.store.memory import MemoryStore
from duetime.testing import FakeClock
from store import draws
from store.alike import by_id, claims_alike, heads, places, whole_ties
from store.laws import Laws
from store.pair import Holding, Pair, Refused, Side

T = TypeVar("T")
Step = TypeVar("Step", bound=Callable[..., Any])

START = FakeClock().now()
ALL = 10_000
FAR = 10**15
EVERYTHING = Filter(limit=ALL)
WORKER = Presence("w1", "shop", "here", 1, ["mail"], [], 10)

# The same lives every time: what is new is found by the soak, not by somebody else's change.
NORMAL = settings(
    max_examples=50,
    derandomize=True,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
# For long runs: play(clock, empty_store, settings.get_profile("soak")).
settings.register_profile(
    "soak", NORMAL, max_examples=2_000, stateful_step_count=80, derandomize=False
)


def play(clock: FakeClock, empty_store: Callable[[], Store], how: settings = NORMAL) -> None:
    """`empty_store` gives a store that follows the clock, empty at the start of each life."""

    class Machine(StoreMachine):
        def __init__(self) -> None:
            super().__init__(clock, empty_store())

    run_state_machine_as_test(Machine, settings=how)


def needs(*states: State) -> Callable[[Step], Step]:
    """Steps that would find nothing are left out: they cost time and show little."""
    return precondition(
        lambda machine: any(record["state"] in states for record in machine.before.values())
    )


class StoreMachine(RuleBasedStateMachine):
    """Two stores, one clock, and all that was sent so far."""

    def __init__(self, clock: FakeClock, checked: Store) -> None:
        super().__init__()
        self.clock = clock
        self.clock.set(START)
        self.pair = Pair(MemoryStore(clock=clock), checked)
        self.laws = Laws()
        self.before: dict[UUID, Any] = {}
        self.sent: list[NewAction] = []
        self.held: list[Holding] = []
        self.ended: list[tuple[Holding, Ending]] = []

    @property
    def now(self) -> int:
        return to_micros(self.clock.now())

    @rule(by=st.integers(1, 8))
    def time_passes(self, by: int) -> None:
        self.clock.advance(microseconds=by)

    # -- the client's verbs ----------------------------------------------------------

    @initialize(wishes=st.lists(draws.wishes, min_size=4, max_size=8))
    def begin(self, wishes: list[draws.Wish]) -> None:
        self.add(wishes, [], "return")

    @rule(
        wishes=st.lists(draws.wishes, min_size=1, max_size=4),
        picks=st.lists(draws.picks, max_size=1),
        mode=draws.modes,
    )
    def add(self, wishes: list[draws.Wish], picks: list[int], mode: IfExists) -> None:
        """New ones, and perhaps one that was sent before."""
        old = [_pick(self.sent, pick) for pick in picks]
        known = len(self.sent)
        new = [wish.new(draws.nth_id(known + i), self.now) for i, wish in enumerate(wishes)]
        answer = self.pair.ask(lambda side: side.store.add([*new, *old], mode))
        if not isinstance(answer, Refused):
            for added in answer:
                self.laws.added(added["record"]["id"])
        self.sent += new

    @rule(pick=draws.picks, scope=draws.scopes)
    def get(self, pick: int, scope: Scope) -> None:
        self.pair.ask(lambda side: side.store.get(self._id(pick), scope))
        self.pair.ask(lambda side: side.store.runs(self._id(pick), scope))

    @rule(data=st.data(), size=st.integers(1, 4))
    def find(self, data: st.DataObject, size: int) -> None:
        wanted = replace(data.draw(draws.filters(self.now)), limit=size)
        while page := self._find(wanted):
            wanted = replace(wanted, before=page[-1]["id"])

    def _find(self, wanted: Filter) -> Any:
        return self.pair.ask(lambda side: side.store.find(wanted))

    @rule(pick=draws.picks, scope=draws.scopes, by=draws.actors, running=st.booleans())
    def cancel(self, pick: int, scope: Scope, by: str, running: bool) -> None:
        one = self._id(pick, State.scheduled, State.running)
        self.pair.ask(lambda side: side.store.cancel(one, scope, by, running=running))

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

    @rule(data=st.data(), by=draws.actors)
    @needs(State.scheduled)
    def cancel_many(self, data: st.DataObject, by: str) -> None:
        wanted = data.draw(draws.filters(self.now))
        self.pair.ask(lambda side: side.store.cancel_many(wanted, by), by_id)

    @rule(data=st.data(), by=draws.actors)
    @needs(State.failed)
    def retry_many(self, data: st.DataObject, by: str) -> None:
        wanted = data.draw(draws.filters(self.now))
        self.pair.ask(lambda side: side.store.retry_many(wanted, by), by_id)

    def _id(self, pick: int, *legal: State) -> UUID:
        """Any that was ever sent, but mostly one for which the move is legal."""
        fitting = [one for one, record in self.before.items() if record["state"] in legal]
        return _pick(fitting, pick) if fitting and pick % 4 < 3 else _pick(self.sent, pick).id

    # -- the worker's verbs ----------------------------------------------------------

    @rule(
        data=st.data(),
        worker=st.sampled_from(("w1", "w2")),
        limit=st.sampled_from((0, 1, 2, 3, ALL)),
        lease=st.integers(1, 9),
    )
    @needs(State.scheduled)
    def claim(self, data: st.DataObject, worker: str, limit: int, lease: int) -> None:
        order = ClaimOrder(worker, data.draw(draws.spans(self.now)), ALL, lease)
        self._claim(replace(order, limit=self._without_ties(order, limit)))

    def _claim(self, order: ClaimOrder) -> list[Holding]:
        answer = self.pair.ask(lambda side: side.store.claim(order), claims_alike)
        self.laws.claimed(order, self.now, answer["claims"])
        held = [Holding(claim["id"], claim["token"]) for claim in answer["claims"]]
        self.held += held
        return held

    def _without_ties(self, order: ClaimOrder, limit: int) -> int:
        """Who comes first among actions due at once in one lane is each store's choice."""
        oracle = self.pair.oracle
        claimed = oracle.peek(oracle.store.claim(order))
        return whole_ties([(claim.lane, claim.due_at) for claim in claimed.claims], limit)

    @rule(
        data=st.data(),
        picks=st.lists(draws.picks, min_size=1, max_size=3),
        rescuing=st.sampled_from((False, False, True)),
    )
    @precondition(lambda self: self.held)
    def complete(self, data: st.DataObject, picks: list[int], rescuing: bool) -> None:
        """Holders, present and past, end their runs."""
        self._end(data, [self._holder(pick) for pick in picks], rescuing)

    def _holder(self, pick: int) -> Holding:
        """Any that ever was, but mostly one of an action that runs: the present or a past one."""
        running = {one for one, record in self.before.items() if record["token"] is not None}
        fitting = [held for held in self.held if held.id in running]
        return _pick(fitting if fitting and pick % 4 < 3 else self.held, pick)

    @rule(data=st.data(), late=st.integers(0, 8))
    @needs(State.scheduled)
    def work(self, data: st.DataObject, late: int) -> None:
        """Claim all that is due and end it: what takes two rules is else too rare."""
        spans = [Span(lane, draws.EPOCH, 0) for lane in draws.LANES]
        held = self._claim(ClaimOrder("w1", spans, ALL, 5))
        self.before = self._snapshot()
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

    @rule()
    @needs(State.running)
    def rescue(self) -> None:
        self._sweep(FAR, ALL)
        oracle = self.pair.oracle
        swept = oracle.store.perform_blocking(oracle.store.sweep(WORKER, FAR, ALL))
        lost = [(oracle.holding(one.id, one.token), decide_loss(one)) for one in swept.expired]
        self._send(lost, rescuing=True)
        self.ended += lost

    def _send(self, sent: Sequence[tuple[Holding, Ending]], rescuing: bool) -> None:
        accepted = self.pair.ask(
            lambda side: side.store.complete(
                [side.ending(held, ending) for held, ending in sent], rescuing=rescuing
            )
        )
        expired_by = self.now if rescuing else None
        self.laws.ended(sent, self.before, self._snapshot(), accepted, expired_by)

    @rule(picks=st.lists(draws.picks, max_size=4, unique=True), lease=st.integers(1, 9))
    @precondition(lambda self: self.held)
    def renew(self, picks: list[int], lease: int) -> None:
        """One lease per action, as a worker sends them: answers go by action."""
        held = {one.id: one for one in map(self._holder, picks)}.values()
        self.pair.ask(lambda side: side.store.renew([side.lease(one) for one in held], lease))

    @rule(pick=draws.picks, progress=st.sampled_from(("[1]", "[2]")))
    @precondition(lambda self: self.held)
    def progress(self, pick: int, progress: str) -> None:
        held = self._holder(pick)
        self.pair.ask(lambda side: side.store.progress(side.lease(held), progress))

    @rule(ahead=st.sampled_from((0, 3, FAR)), limit=st.sampled_from((1, 2, ALL)))
    @needs(State.running)
    def sweep_and_leave(self, ahead: int, limit: int) -> None:
        self._sweep(ahead, limit)
        self.pair.ask(lambda side: side.store.leave(WORKER.id))

    def _sweep(self, ahead: int, limit: int) -> None:
        """Which expired leases are told when there are more is each store's choice."""

        def alike(swept: Any) -> object:
            expired = by_id(swept["expired"])
            return heads(swept), expired if limit == ALL else len(expired)

        self.pair.ask(lambda side: side.store.sweep(WORKER, ahead, limit), alike)

    @rule(keep=draws.ages, keep_failed=draws.ages, limit=st.integers(0, 3))
    @needs(*FINISHED)
    def prune(self, keep: int, keep_failed: int, limit: int) -> None:
        whole = whole_ties(self._ends_before(self.now - keep, self.now - keep_failed), limit)
        self.pair.ask(
            lambda side: side.store.prune(keep=keep, keep_failed=keep_failed, limit=whole)
        )
        self.laws.pruned(self.before, self._snapshot())

    def _ends_before(self, instant: int, failed_instant: int) -> list[int]:
        limits = {State.failed: failed_instant}
        finished = [record for record in self.before.values() if record["state"].finished]
        ends = ((r["finished_at"], limits.get(r["state"], instant)) for r in finished)
        return sorted(end for end, limit in ends if end < limit)

    # -- after every step ------------------------------------------------------------

    @invariant()
    def both_tell_the_same(self) -> None:
        found = self.pair.ask(lambda side: side.store.find(EVERYTHING))
        records = {record["id"]: record for record in found}
        for action_id, record in records.items():
            if self.before.get(action_id) != record:
                self._compare_details(action_id)
        self.before = records

    @invariant()
    def the_laws_hold(self) -> None:
        self.laws.check(list(self.before.values()))
        self.pair.ask(lambda side: side.store.look(), heads)
        reach = places(self._within_reach(self.pair.checked))
        assert reach == places(self._within_reach(self.pair.oracle))
        self.laws.check_due(list(self.before.values()), self.now, reach.keys())

    def _within_reach(self, side: Side) -> Claimed:
        """What a claim over every lane that the sweep names would take."""
        swept = side.store.perform_blocking(side.store.look())
        spans = [Span(head.lane, draws.EPOCH, FAR) for head in swept.lanes]
        claimed: Claimed = side.peek(side.store.claim(ClaimOrder("nobody", spans, ALL, 1)))
        return claimed

    def _compare_details(self, action_id: UUID) -> None:
        self.pair.ask(lambda side: side.store.runs(action_id, ANY))
        self.pair.ask(lambda side: side.store.audit(str(action_id), ALL))

    def _snapshot(self) -> dict[UUID, Any]:
        side = self.pair.checked
        found: Any = side.ask(side.store.find(EVERYTHING))
        return {record["id"]: record for record in found}

    def teardown(self) -> None:
        for action_id in self.before:
            self._compare_details(action_id)


def _pick(items: Sequence[T], pick: int) -> T:
    return items[pick % len(items)]
