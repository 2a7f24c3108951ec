"""One machine with a rule for every verb: any store against the specification.

After every step both stores must tell the same, and the laws must hold on the checked one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
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
from store.laws import Laws
from store.pair import Holding, Pair, Refused, Side, by_id

START = FakeClock().now()
ALL = 10_000
FAR = 10**15
EVERYTHING = Filter(limit=ALL)

NORMAL = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
# For long runs: play(clock, empty_store, settings.get_profile("soak")).
settings.register_profile("soak", NORMAL, max_examples=2_000, stateful_step_count=80)


def play(clock: FakeClock, empty_store: Callable[[], Store], how: settings = NORMAL) -> None:
    """`empty_store` gives a store that follows the clock, empty at the start of each life."""

    class Machine(StoreMachine):
        def __init__(self) -> None:
            super().__init__(clock, empty_store())

    run_state_machine_as_test(Machine, settings=how)


class StoreMachine(RuleBasedStateMachine):
    """Two stores, one clock, and what was sent so far."""

    sent = Bundle("sent")
    holdings = Bundle("holdings")
    endings = Bundle("endings")

    def __init__(self, clock: FakeClock, checked: Store) -> None:
        super().__init__()
        self.clock = clock
        self.clock.set(START)
        self.pair = Pair(MemoryStore(clock=clock), checked)
        self.laws = Laws()
        self.before: dict[UUID, Any] = {}
        self.count = 0

    @property
    def now(self) -> int:
        return to_micros(self.clock.now())

    def some(self, *states: State) -> bool:
        """Is there an action in one of these states? Idle steps find nothing."""
        return any(record["state"] in states for record in self.before.values())

    @rule(by=st.integers(1, 8))
    def time_passes(self, by: int) -> None:
        self.clock.advance(microseconds=by)

    # -- the client's verbs ----------------------------------------------------------

    @initialize(target=sent, wishes=st.lists(draws.wishes, min_size=3, max_size=6))
    def begin(self, wishes: list[draws.Wish]) -> MultipleResults[NewAction]:
        return self.add(wishes, [], "return")

    @rule(
        target=sent,
        wishes=st.lists(draws.wishes, min_size=1, max_size=4),
        again=st.lists(sent, max_size=1),
        mode=draws.modes,
    )
    def add(
        self, wishes: list[draws.Wish], again: list[NewAction], mode: IfExists
    ) -> MultipleResults[NewAction]:
        """New ones, and perhaps one that was sent before."""
        new = [wish.new(self._new_id(), self.now) for wish in wishes]
        answer = self.pair.ask(lambda side: side.store.add([*new, *again], mode))
        if not isinstance(answer, Refused):
            for added in answer:
                self.laws.added(added["record"]["id"])
        return multiple(*new)

    def _new_id(self) -> UUID:
        """Neither ascending nor descending, but the same in every replay."""
        self.count += 1
        return UUID(int=(self.count * 0x9E3779B97F4A7C15 % 2**64) << 64 | self.count)

    @rule(one=sent, scope=draws.scopes)
    def get(self, one: NewAction, scope: Scope) -> None:
        self.pair.ask(lambda side: side.store.get(one.id, scope))
        self.pair.ask(lambda side: side.store.runs(one.id, scope))

    @rule(data=st.data(), size=st.integers(1, 4))
    def find(self, data: st.DataObject, size: int) -> None:
        wanted = replace(data.draw(draws.filters(self.now)), limit=size)
        while page := self.pair.ask(lambda side, w=wanted: side.store.find(w)):  # type: ignore[misc]
            wanted = replace(wanted, before=page[-1]["id"])

    @rule(one=sent, scope=draws.scopes, by=draws.actors, running=st.booleans())
    def cancel(self, one: NewAction, scope: Scope, by: str, running: bool) -> None:
        self.pair.ask(lambda side: side.store.cancel(one.id, scope, by, running=running))

    @rule(one=sent, scope=draws.scopes, by=draws.actors, due_in=draws.maybe_offsets, d=draws.micros)
    def reschedule(self, one: NewAction, scope: Scope, by: str, due_in: int | None, d: int) -> None:
        due_at, delay = (None, d) if due_in is None else (self.now + due_in, None)
        self.pair.ask(
            lambda side: side.store.reschedule(one.id, scope, by, due_at=due_at, delay=delay)
        )

    @rule(one=sent, scope=draws.scopes, by=draws.actors)
    def retry(self, one: NewAction, scope: Scope, by: str) -> None:
        self.pair.ask(lambda side: side.store.retry(one.id, scope, by))

    @precondition(lambda self: self.some(State.scheduled))
    @rule(data=st.data(), by=draws.actors)
    def cancel_many(self, data: st.DataObject, by: str) -> None:
        wanted = data.draw(draws.filters(self.now))
        self.pair.ask(lambda side: side.store.cancel_many(wanted, by), by_id)

    @precondition(lambda self: self.some(State.failed))
    @rule(data=st.data(), by=draws.actors)
    def retry_many(self, data: st.DataObject, by: str) -> None:
        wanted = data.draw(draws.filters(self.now))
        self.pair.ask(lambda side: side.store.retry_many(wanted, by), by_id)

    # -- the worker's verbs ----------------------------------------------------------

    @precondition(lambda self: self.some(State.scheduled))
    @rule(
        target=holdings,
        data=st.data(),
        worker=st.sampled_from(("w1", "w2")),
        limit=st.sampled_from((0, 1, 2, 3, ALL)),
        lease=st.integers(1, 9),
    )
    def claim(
        self, data: st.DataObject, worker: str, limit: int, lease: int
    ) -> MultipleResults[Holding]:
        order = ClaimOrder(worker, data.draw(draws.spans(self.now)), ALL, lease)
        order = replace(order, limit=self._without_ties(order, limit))
        answer = self.pair.ask(lambda side: side.store.claim(order), _claims_alike)
        self.laws.claimed(order, self.now, answer["claims"])
        return multiple(*(Holding(claim["id"], claim["token"]) for claim in answer["claims"]))

    def _without_ties(self, order: ClaimOrder, limit: int) -> int:
        """Who comes first among actions due at once in one lane is each store's choice."""
        oracle = self.pair.oracle
        claimed = oracle.peek(oracle.store.claim(order))
        return _whole_ties([(claim.lane, claim.due_at) for claim in claimed.claims], limit)

    @rule(
        target=endings,
        data=st.data(),
        held=st.lists(holdings, min_size=1, max_size=3),
        rescuing=st.sampled_from((False, False, True)),
    )
    def complete(
        self, data: st.DataObject, held: list[Holding], rescuing: bool
    ) -> MultipleResults[tuple[Holding, Ending]]:
        """Holders, present and past, end their runs."""
        kinds = draws.finishes(self.now) | draws.agains(self.now)
        endings: list[tuple[Holding, Ending]] = [(one, data.draw(kinds)) for one in held]
        self._end(endings, rescuing)
        return multiple(*endings)

    @rule(endings=st.lists(endings, min_size=1, max_size=3))
    def complete_again(self, endings: list[tuple[Holding, Ending]]) -> None:
        """The reply was lost."""
        self._end(endings, rescuing=False)

    @rule(target=endings)
    @precondition(lambda self: self.some(State.running))
    def rescue(self) -> MultipleResults[tuple[Holding, Ending]]:
        oracle = self.pair.oracle
        swept = oracle.store.perform_blocking(oracle.store.sweep(_worker(), FAR, ALL))
        endings = [(oracle.holding(one.id, one.token), decide_loss(one)) for one in swept.expired]
        self._end(endings, rescuing=True)
        return multiple(*endings)

    def _end(self, sent: Sequence[tuple[Holding, Ending]], rescuing: bool) -> None:
        accepted = self.pair.ask(
            lambda side: side.store.complete(
                [side.ending(held, ending) for held, ending in sent], rescuing=rescuing
            )
        )
        expired_by = self.now if rescuing else None
        self.laws.ended(sent, self.before, self._snapshot(), accepted, expired_by)

    @rule(held=st.lists(holdings, max_size=4), lease=st.integers(1, 9))
    def renew(self, held: list[Holding], lease: int) -> None:
        self.pair.ask(lambda side: side.store.renew([side.lease(one) for one in held], lease))

    @rule(held=holdings, progress=st.sampled_from(("[1]", "[2]")))
    def progress(self, held: Holding, progress: str) -> None:
        self.pair.ask(lambda side: side.store.progress(side.lease(held), progress))

    @rule(ahead=st.sampled_from((0, 3, FAR)), limit=st.sampled_from((1, 2, ALL)))
    @precondition(lambda self: self.some(State.running))
    def sweep_and_leave(self, ahead: int, limit: int) -> None:
        """Which expired leases are told when there are more is each store's choice."""

        def alike(swept: Any) -> object:
            expired = by_id(swept["expired"])
            return swept["now"], _heads(swept), expired if limit == ALL else len(expired)

        self.pair.ask(lambda side: side.store.sweep(_worker(), ahead, limit), alike)
        self.pair.ask(lambda side: side.store.leave(_worker().id))

    @precondition(lambda self: self.some(State.scheduled))
    @rule(lane=st.sampled_from(draws.PARKING), limit=st.integers(0, 3))
    def unpark(self, lane: str, limit: int) -> None:
        parked = ClaimOrder("nobody", [Span(lane, draws.EPOCH, FAR)], ALL, 1)
        whole = self._without_ties(parked, limit)
        self.pair.ask(lambda side: side.store.unpark(lane, whole))

    @precondition(lambda self: self.some(*FINISHED))
    @rule(keep=draws.micros, keep_failed=draws.micros, limit=st.integers(0, 3))
    def prune(self, keep: int, keep_failed: int, limit: int) -> None:
        whole = _whole_ties(self._ends_before(self.now - keep, self.now - keep_failed), limit)
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
        found = list(self._snapshot().values())
        self.laws.check(found)
        expected = self._within_reach(self.pair.oracle)
        within_reach = self._within_reach(self.pair.checked)
        assert _places(within_reach) == _places(expected)
        self.laws.check_due(found, self.now, within_reach)

    def _within_reach(self, side: Side) -> Claimed:
        """What a claim over every lane that the sweep names would take."""
        swept = side.store.perform_blocking(side.store.sweep(_worker(), 0, 1))
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


def _whole_ties(keys: Sequence[object], limit: int) -> int:
    """A limit that does not cut through equals."""
    while 0 < limit < len(keys) and keys[limit - 1] == keys[limit]:
        limit += 1
    return limit


def _claims_alike(claimed: Any) -> object:
    """Equals in any order."""
    lanes = list(dict.fromkeys(claim["lane"] for claim in claimed["claims"]))
    ordered = [(claim["lane"], claim["due_at"]) for claim in claimed["claims"]]
    return claimed["now"], lanes, ordered, by_id(claimed["claims"])


def _heads(swept: Any) -> object:
    return sorted((head["lane"], head["next_due"]) for head in swept["lanes"])


def _places(claimed: Claimed) -> dict[UUID, tuple[str, int]]:
    return {claim.id: (claim.lane, claim.due_at) for claim in claimed.claims}


def _worker() -> Presence:
    return Presence("w1", "shop", "here", 1, ["mail"], [], 10)
