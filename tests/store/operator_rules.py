"""Rules of the state machine for what operators do: bulks, repeated actions and erasures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from duetime.model.act import Act
from duetime.model.actions.action import NewAction
from duetime.model.bulk import BulkCall, BulkOrder, BulkVerb
from duetime.model.erasure import Erased, ErasureOrder
from duetime.model.filter import Filter
from duetime.model.lane import lane_of
from duetime.model.state import FINISHED
from duetime.model.tenant import ANY
from duetime.store.flow import Flow
from store import strategies
from store.store_comparison import StoreComparison, needs, pick_from
from store.store_pair import StoreSide

VERBS = get_args(BulkVerb)


class OperatorRules(StoreComparison):
    """Changes many actions at once, schedules finished ones anew, and wipes data."""

    bulks: list[BulkCall]

    @rule(
        pick=strategies.picks,
        like_filter=strategies.similar_filters,
        verb=st.sampled_from(VERBS),
        by_id=st.booleans(),
        far=st.sampled_from((-3, 1, 5)),
    )
    @precondition(lambda self: self.before)
    def bulk(
        self,
        pick: int,
        like_filter: strategies.SimilarFilter,
        verb: BulkVerb,
        by_id: bool,
        far: int,
    ) -> None:
        """Begin a bulk of actions like one that may be changed, counted before."""
        found = self._filter(pick, like_filter)
        # The state is the verb's own.
        wanted = replace(found, states=())
        ids = frozenset({self._id(pick), self._id(pick + 1)})
        order = BulkOrder(verb, wanted.tenant if not by_id else ANY, ids if by_id else wanted)
        self.pair.ask(lambda side: side.store.count_bulk(order))
        call = BulkCall(
            strategies.nth_id(10_000 + len(self._calls)),
            0,
            Act(pick_from(("ann", "bob"), pick)),
            verb,
            order.tenant,
            order.selection,
            due_at=self.now + far if verb == "reschedule" else None,
            shift=far if verb == "shift" else None,
        )
        self._calls.append(call)
        self._step(call)

    @property
    def _calls(self) -> list[BulkCall]:
        if "bulks" not in vars(self):
            self.bulks = []
        return self.bulks

    @rule(pick=strategies.picks, by=strategies.actors, step=st.sampled_from((0, 0, 1)))
    @precondition(lambda self: self._calls)
    def bulk_again(self, pick: int, by: str, step: int) -> None:
        """Send a call again, as after a lost reply, or as somebody else: it changes nothing."""
        call = replace(pick_from(self._calls, pick), act=Act(by), step=step)
        before = self._snapshot()
        self._step(call)
        assert self._snapshot() == before

    def _step(self, call: BulkCall) -> None:
        self.pair.ask(lambda side: side.store.step_bulk(call), _without_data)

    @rule(pick=strategies.picks, scope=strategies.scopes, by=strategies.actors)
    @needs(*FINISHED)
    def repeat(self, pick: int, scope: Any, by: str) -> None:
        """Schedule an action anew, mostly one that has finished."""
        record = self.before.get(self._id(pick, *FINISHED))
        if record is None:
            return
        new = _like(record, strategies.nth_id(len(self.sent)), self.now, by)
        answer = self.pair.ask(lambda side: side.store.repeat(record["id"], scope, Act(by), new))
        if isinstance(answer, dict):
            self.sent.append(new)
            self.checks.added(new.id)

    @rule(
        pick=strategies.picks,
        by=strategies.actors,
        by_tenant=st.booleans(),
        size=st.sampled_from((1, 2, 1000)),
    )
    @precondition(lambda self: self.before)
    def erase(self, pick: int, by: str, by_tenant: bool, size: int) -> None:
        """Erase until nothing is left but what runs."""
        record = pick_from(self._records, pick)
        label = None if by_tenant else record["correlation_id"]
        if (by_tenant and record["tenant"] is None) or (not by_tenant and label is None):
            return
        wanted = Filter(correlation_id=label, tenant=record["tenant"])
        front: UUID | None = None
        while True:
            order = ErasureOrder(strategies.nth_id(1), Act(by), wanted, None, front, size)
            done = self.pair.ask(partial(_erase, order), _without_records)
            front = done["front"]
            if front is None:
                break
        assert done["left"] == done["running"]
        self.checks.erased(self._snapshot())


def _without_data(answer: Any) -> object:
    """A store need not read the data of actions that it only moves."""
    if not isinstance(answer, dict):
        return answer
    data = {"payload": None, "error": None, "progress": None, "result": None, "error_group": None}
    return {**answer, "records": [{**record, **data} for record in answer["records"]]}


def _erase(order: ErasureOrder, side: StoreSide) -> Flow[Erased]:
    return side.store.erase(order)


def _without_records(answer: Any) -> object:
    return {**answer, "cancelled": [record["id"] for record in answer["cancelled"]]}


def _like(record: Mapping[str, Any], action_id: UUID, now: int, by: str) -> NewAction:
    place = (record["queue"], record["priority"], record["tenant"])
    return NewAction(
        action_id,
        record["kind"],
        record["version"],
        record["payload"],
        *place,
        record["correlation_id"],
        None,
        lane_of(*place),
        now,
        None,
        by,
    )
