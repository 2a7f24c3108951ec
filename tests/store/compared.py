"""Any store beside the specification: what must hold after every step of a life."""

from __future__ import annotations

import sys
from typing import Any
from uuid import UUID

from hypothesis.stateful import RuleBasedStateMachine, invariant

from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import ClaimOrder, Span
from duetime.model.actions.completion import Ending
from duetime.model.clock import to_micros
from duetime.model.filter import Filter
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.memory.store import MemoryStore
from duetime.testing import FakeClock
from store import draws
from store.alike import heads, places
from store.laws import Laws
from store.pair import Holding, Pair

START = FakeClock().now()
ALL = 10_000
FAR = 10**15
EVERYTHING = Filter(limit=ALL)


class Compared(RuleBasedStateMachine):
    """Two stores, one clock, and all that was sent so far."""

    def __init__(self, clock: FakeClock, checked: Store) -> None:
        super().__init__()
        self.clock = clock
        self.clock.set(START)
        self.pair = Pair(MemoryStore(clock=clock), checked)
        self.laws = Laws()
        self.before: dict[UUID, Any] = {}
        self.reached: dict[UUID, Any] = {}
        self.known: dict[UUID, Any] = {}
        self.sent: list[NewAction] = []
        self.held: list[Holding] = []
        self.ended: list[tuple[Holding, Ending]] = []

    @property
    def now(self) -> int:
        return to_micros(self.clock.now())

    @property
    def _records(self) -> list[Any]:
        return list(self.before.values())

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
        told = self.pair.ask(lambda side: side.store.look(), heads)
        if self.before == self.reached:
            return
        since = {head["lane"]: (head["next_due"] or 0) + 1 for head in told["lanes"]}
        if since:
            self.pair.ask(lambda side: side.store.look_from(since), heads)
        self.reached = self.before
        spans = [Span(head["lane"], draws.EPOCH, FAR) for head in told["lanes"]]
        order = ClaimOrder("nobody", spans, ALL, 1)
        reach = places(self.pair.peek(lambda side: side.store.claim(order), places))
        self.laws.check_due(list(self.before.values()), self.now, reach.keys())

    def _compare_details(self, action_id: UUID) -> None:
        self.pair.ask(lambda side: side.store.runs(action_id, ANY))
        self.pair.ask(lambda side: side.store.audit(str(action_id), ALL))

    def _snapshot(self) -> dict[UUID, Any]:
        side = self.pair.checked
        found: Any = side.ask(side.store.find(EVERYTHING))
        return {record["id"]: record for record in found}

    def teardown(self) -> None:
        if sys.exc_info()[0] is not None:
            return  # What went wrong is told already.
        for action_id in self.before:
            self._compare_details(action_id)
