"""Compares a store with the specification after every step of a random history."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition

from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import ClaimOrder, LaneSpan
from duetime.model.actions.completion import Completion
from duetime.model.audit import AuditFilter
from duetime.model.clock import to_micros
from duetime.model.filter import Filter
from duetime.model.state import State
from duetime.model.tenant import ANY, Scope
from duetime.model.timeline import TimelineFilter
from duetime.store.base import Store
from duetime.store.memory.store import MemoryStore
from duetime.testing import FakeClock
from store import strategies
from store.invariants import Invariants
from store.normalized import claimed_lanes, heads
from store.store_pair import NamedClaim, Pair

T = TypeVar("T")
Step = TypeVar("Step", bound=Callable[..., Any])

START = FakeClock().now()
ALL = 10_000
FAR = 10**15
EVERYTHING = Filter(limit=ALL)


def needs(*states: State) -> Callable[[Step], Step]:
    """Skip a rule unless some action has one of these states: it would show little."""
    return precondition(
        lambda machine: any(record["state"] in states for record in machine.before.values())
    )


class StoreComparison(RuleBasedStateMachine):
    """Base of the state machine: two stores, one clock, and everything sent so far."""

    def __init__(self, clock: FakeClock, checked: Store) -> None:
        super().__init__()
        self.clock = clock
        self.clock.set(START)
        self.pair = Pair(MemoryStore(clock=clock), checked)
        self.checks = Invariants()
        self.before: dict[UUID, Any] = {}
        self.last_reached: dict[UUID, Any] = {}
        self.known: dict[UUID, Any] = {}
        self.sent: list[NewAction] = []
        self.all_claims: list[NamedClaim] = []
        self.pause_ends: set[int] = set()
        self.completions_sent: list[tuple[NamedClaim, Completion]] = []

    @property
    def now(self) -> int:
        return to_micros(self.clock.now())

    @property
    def _records(self) -> list[Any]:
        return list(self.before.values())

    # -- after every step ------------------------------------------------------------

    @invariant()
    def compare_records(self) -> None:
        records_ = self.pair.ask(lambda side: side.store.find(EVERYTHING))
        records = {record["id"]: record for record in records_["records"]}
        for action_id, record in records.items():
            if self.before.get(action_id) != record:
                self._compare_details(action_id)
        self.before = records

    @invariant()
    def invariants_hold(self) -> None:
        self.checks.check(list(self.before.values()))
        look_ahead = self.pair.ask(lambda side: side.store.look_ahead(), heads)
        if self.before == self.last_reached:
            return
        since = {head["lane"]: (head["next_due"] or 0) + 1 for head in look_ahead["lanes"]}
        if since:
            self.pair.ask(lambda side: side.store.look_ahead_from(since), heads)
        self.last_reached = self.before
        spans = [LaneSpan(head["lane"], strategies.EPOCH, FAR) for head in look_ahead["lanes"]]
        order = ClaimOrder("observer", spans, ALL, 1)
        claimable = claimed_lanes(
            self.pair.peek(lambda side: side.store.claim(order), claimed_lanes)
        )
        self.checks.check_due(list(self.before.values()), self.now, claimable.keys())

    def _compare_details(self, action_id: UUID) -> None:
        self.pair.ask(lambda side: side.store.runs(action_id, ANY, limit=ALL))
        self.pair.ask(
            lambda side: side.store.audit(AuditFilter(subject_id=str(action_id), limit=ALL))
        )

    def _snapshot(self) -> dict[UUID, Any]:
        side = self.pair.checked
        records_: Any = side.ask(side.store.find(EVERYTHING))
        return {record["id"]: record for record in records_["records"]}

    def teardown(self) -> None:
        if sys.exc_info()[0] is not None:
            return  # The failure is reported already.
        for action_id in self.before:
            self._compare_details(action_id)
        for tenant in (ANY, *strategies.TENANTS):
            self._compare_timelines(tenant)

    def _compare_timelines(self, tenant: Scope) -> None:
        wanted = TimelineFilter(start=-FAR, end=FAR * 10, tenant=tenant, limit=ALL)
        self.pair.ask(lambda side: side.store.timeline(wanted))

    # -- what a rule is about -----------------------------------------------------------

    def _filter(self, pick: int, like_filter: strategies.SimilarFilter, *states: State) -> Filter:
        """Return a filter that matches an action in one of these states."""
        fitting = [r for r in self.before.values() if r["state"] in (states or State)]
        return like_filter.filter(pick_from(fitting, pick))

    def _id(self, pick: int, *legal: State) -> UUID:
        """Return the id of any action ever sent, mostly one for which the change is legal."""
        fitting = [i for i, record in self.before.items() if record["state"] in legal]
        return (
            pick_from(fitting, pick) if fitting and pick % 4 < 3 else pick_from(self.sent, pick).id
        )


def pick_from(items: Sequence[T], pick: int) -> T:
    return items[pick % len(items)]
