"""Hypothesis strategies with few distinct values, so that actions often interact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import LaneSpan
from duetime.model.actions.completion import Finish, Reschedule
from duetime.model.filter import Filter
from duetime.model.lane import lane_of, parking_lane
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY

KINDS = ("mail", "sms")
TENANTS = (None, "a")
PRIORITIES = (1, 2)
QUEUE = "q"
HOMES = tuple(lane_of(QUEUE, p, t) for p in PRIORITIES for t in TENANTS)
SUSPECTS = tuple(lane_of(QUEUE, p, t, suspect=True) for p in PRIORITIES for t in TENANTS)
PARKING = tuple(parking_lane(kind, 1, HOMES[0]) for kind in KINDS)
LANES = HOMES + SUSPECTS + PARKING
EPOCH = -(10**15)
# Actions with this payload expire.
EXPIRING = "3"

picks = st.integers(0, 99)
kinds = st.sampled_from((*KINDS, KINDS[0]))
# Mostly one lane, so that its order matters.
tenants = st.sampled_from((None, None, None, "a"))
priorities = st.sampled_from((1, 1, 1, 2))
scopes = st.sampled_from((ANY,) * 6 + (None, "a", "b"))
keys = st.sampled_from((None, None, "x", "x", "y"))
actors = st.sampled_from(("ann", "bob"))
queues = st.sampled_from((QUEUE, "other"))
modes = st.sampled_from(("return", "raise", "replace", "replace"))
mostly = st.sampled_from((True, True, True, False))
micros = st.integers(0, 6)
# Mostly due, and seldom two at the same time: their order would not be specified.
offsets = st.integers(-20, 5)
ages = st.sampled_from((0, 0, 3, 100))
limits = st.sampled_from((0, 1, 1, 2, 2, 3, 4, 10_000))
leases = st.integers(1, 9)
# Long, because a store may give up a renewal after a part of its lease.
renewals = st.sampled_from((20_000_000, 30_000_000))
maybe_micros = st.none() | micros
maybe_offsets = offsets | offsets | st.none()
texts = st.sampled_from((None, "[1]", '{"a": "ü"}'))


def nth_id(number: int) -> UUID:
    """Return ids in no particular order, the same in every replay."""
    return UUID(int=(number + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)


@dataclass(frozen=True)
class ActionDraft:
    """A NewAction before it has an id and the time is known."""

    kind: str
    payload: str
    priority: int
    tenant: str | None
    correlation_id: str | None
    key: str | None
    due_in: int | None
    delay: int
    by: str
    parent: int | None
    on: str

    def new(
        self, action_id: UUID, now: int, records: Sequence[Mapping[str, Any]] = ()
    ) -> NewAction:
        after = self._after(records)
        earliest = now + max(self.delay if self.due_in is None else self.due_in, 0)
        # By the payload, since drawing more would change all examples.
        expires_at = earliest + 3 + self.delay if self.payload == EXPIRING else None
        return NewAction(
            id=action_id,
            kind=self.kind,
            version=1,
            payload=self.payload,
            queue=QUEUE,
            priority=self.priority,
            tenant=self.tenant,
            correlation_id=self.correlation_id,
            key=self.key,
            lane=lane_of(QUEUE, self.priority, self.tenant),
            due_at=None if self.due_in is None else now + self.due_in,
            delay=self.delay if self.due_in is None else None,
            by=self.by,
            after=after,
            on=None if after is None else self.on,
            expires_at=expires_at,
        )

    def _after(self, records: Sequence[Mapping[str, Any]]) -> UUID | None:
        """Return a parent, mostly of the same tenant, or None."""
        if self.parent is None or not records:
            return None
        ours = [record for record in records if record["tenant"] == self.tenant]
        fitting = ours if ours and self.parent % 5 else records
        parent_id: UUID = fitting[self.parent % len(fitting)]["id"]
        return parent_id

    def rival(self, records: Sequence[Mapping[str, Any]]) -> ActionDraft:
        """Return this draft with the key of the unfinished action with the most attempts."""
        holders = [record for record in records if record["key"] and not record["state"].finished]
        if not holders:
            return self
        holder = max(holders, key=lambda record: (record["attempt"], record["id"]))
        return replace(self, kind=holder["kind"], tenant=holder["tenant"], key=holder["key"])


drafts = st.builds(
    ActionDraft,
    kind=kinds,
    payload=st.sampled_from(("1", "2", EXPIRING)),
    priority=priorities,
    tenant=tenants,
    correlation_id=st.sampled_from((None, "c")),
    key=keys,
    due_in=maybe_offsets,
    delay=micros,
    by=actors,
    parent=st.none() | picks,
    on=st.sampled_from(("succeeded", "succeeded", "failed", "finished")),
)


def spans(now: int) -> st.SearchStrategy[list[LaneSpan]]:
    """Draw lane spans, often all lanes, each at most once, with few choices per example."""
    window = st.tuples(
        st.sampled_from((EPOCH, EPOCH, now - 10, now - 5, now - 2, now)),
        st.sampled_from((0, 0, 1, 3)),
    )
    some_lanes = st.lists(st.sampled_from(HOMES), min_size=1, unique=True)
    turned = st.integers(0, len(LANES) - 1).map(lambda turn: [*LANES[turn:], *LANES[:turn]])
    return st.builds(_spans, turned | turned | some_lanes, st.lists(window, min_size=1, max_size=2))


def _spans(lanes: list[str], windows: list[tuple[int, int]]) -> list[LaneSpan]:
    return [LaneSpan(lane, *window) for lane, window in zip(lanes, cycle(windows), strict=False)]


NO_ID = UUID(int=0)


def finishes(now: int) -> st.SearchStrategy[Finish]:
    """Draw completions without action and token, which the sender fills in."""
    states = st.sampled_from((State.succeeded, State.failed, State.failed, State.cancelled))

    def finish(state: State, lost: bool, **fields_: Any) -> Finish:
        outcome = Outcome.lost if lost and state is State.failed else Outcome(state.value)
        refund = state is State.cancelled and fields_["cancelled_by"] is None
        ends: dict[str, Any] = {"lost": int(lost), "refund": refund} | fields_
        return Finish(id=NO_ID, token=NO_ID, state=state, outcome=outcome, **ends)

    return st.builds(
        finish,
        state=states,
        lost=st.booleans(),
        result=texts,
        error=texts,
        started_at=st.none() | st.just(now + 1),
        cancelled_by=st.none() | actors,
    )


def reschedules(now: int) -> st.SearchStrategy[Reschedule]:
    return st.builds(
        Reschedule,
        id=st.just(NO_ID),
        token=st.just(NO_ID),
        outcome=st.sampled_from((Outcome.retried, Outcome.snoozed, Outcome.released)),
        delay=maybe_micros,
        lane=st.none() | st.sampled_from(PARKING + SUSPECTS),
        refund=st.booleans(),
        result=texts,
        error=texts,
        started_at=st.none() | st.just(now + 1),
        lost=st.sampled_from((0, 0, 1, 2)),
    )


@dataclass(frozen=True)
class SimilarFilter:
    """A Filter to be built from a record: the fields to take from it."""

    fields: list[str]
    past_due: int
    queue: str

    def filter(self, record: Mapping[str, Any]) -> Filter:
        """Return a filter that this record matches, or just misses."""
        # A waiting child has no due time.
        due_at = record["due_at"] or record["created_at"]
        values = {
            **record,
            "states": (record["state"],),
            "kinds": (record["kind"],),
            "queue": self.queue,
            "due_from": due_at + self.past_due,
            "due_before": due_at + self.past_due,
        }
        return Filter(**{name: values[name] for name in self.fields})


FIELDS = (
    *("states", "kinds", "queue", "correlation_id", "key", "due_from"),
    *("tenant", "tenant", "due_before", "due_before"),
)
similar_filters = st.builds(
    SimilarFilter,
    fields=st.lists(
        st.sampled_from(FIELDS),
        min_size=1,
        max_size=3,
        unique=True,
    ),
    past_due=st.sampled_from((0, 0, 1)),
    queue=st.sampled_from((QUEUE, QUEUE, QUEUE, "other")),
)
