"""What Hypothesis draws: small worlds, so that everything meets everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from duetime.model.actions.action import NewAction
from duetime.model.actions.claim import Span
from duetime.model.actions.completion import Again, Finish
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

picks = st.integers(0, 99)
kinds = st.sampled_from((*KINDS, KINDS[0]))
# Mostly one lane, so that its order matters.
tenants = st.sampled_from((None, None, None, "a"))
priorities = st.sampled_from((1, 1, 1, 2))
scopes = st.sampled_from((ANY,) * 6 + (None, "a", "b"))
keys = st.sampled_from((None, None, "x", "x", "y"))
actors = st.sampled_from(("ann", "bob"))
modes = st.sampled_from(("return", "raise", "replace", "replace"))
mostly = st.sampled_from((True, True, True, False))
micros = st.integers(0, 6)
# Mostly due, and seldom two at once: who comes first among equals shows nothing.
offsets = st.integers(-20, 5)
ages = st.sampled_from((0, 0, 3, 100))
limits = st.sampled_from((0, 1, 1, 2, 2, 3, 4, 10_000))
leases = st.integers(1, 9)
# Long, for a store may give up a renewal that is not answered within a part of its lease.
renewals = st.sampled_from((20_000_000, 30_000_000))
maybe_micros = st.none() | micros
maybe_offsets = offsets | offsets | st.none()
texts = st.sampled_from((None, "[1]", '{"a": "ü"}'))


def nth_id(number: int) -> UUID:
    """Neither ascending nor descending, and the same in every replay."""
    return UUID(int=(number + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)


@dataclass(frozen=True)
class Wish:
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
        )

    def _after(self, records: Sequence[Mapping[str, Any]]) -> UUID | None:
        """One of its own tenant, if it is to have a parent; now and then anyone's."""
        if self.parent is None or not records:
            return None
        ours = [one for one in records if one["tenant"] == self.tenant]
        fitting = ours if ours and self.parent % 5 else records
        found: UUID = fitting[self.parent % len(fitting)]["id"]
        return found

    def rival(self, records: Sequence[Mapping[str, Any]]) -> Wish:
        """The same, but for the key of an unfinished action: the one that was tried most."""
        holders = [one for one in records if one["key"] and not one["state"].finished]
        if not holders:
            return self
        holder = max(holders, key=lambda one: (one["attempt"], one["id"]))
        return replace(self, kind=holder["kind"], tenant=holder["tenant"], key=holder["key"])


wishes = st.builds(
    Wish,
    kind=kinds,
    payload=st.sampled_from(("1", "2", "3")),
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


def spans(now: int) -> st.SearchStrategy[list[Span]]:
    """Often every lane there is, and each at most once: who comes first among equals is then
    the only open question. Drawn with few choices, for a life has only so many."""
    window = st.tuples(
        st.sampled_from((EPOCH, EPOCH, now - 10, now - 5, now - 2, now)),
        st.sampled_from((0, 0, 1, 3)),
    )
    some = st.lists(st.sampled_from(HOMES), min_size=1, unique=True)
    turned = st.integers(0, len(LANES) - 1).map(lambda turn: [*LANES[turn:], *LANES[:turn]])
    return st.builds(_spans, turned | turned | some, st.lists(window, min_size=1, max_size=2))


def _spans(lanes: list[str], windows: list[tuple[int, int]]) -> list[Span]:
    return [Span(lane, *window) for lane, window in zip(lanes, cycle(windows), strict=False)]


NOBODY = UUID(int=0)


def finishes(now: int) -> st.SearchStrategy[Finish]:
    """Endings of nobody yet: who sends one puts in its action and token."""
    states = st.sampled_from((State.succeeded, State.failed, State.failed, State.cancelled))

    def finish(state: State, lost: bool, **given: Any) -> Finish:
        outcome = Outcome.lost if lost and state is State.failed else Outcome(state.value)
        return Finish(
            id=NOBODY, token=NOBODY, state=state, outcome=outcome, lost=int(lost), **given
        )

    return st.builds(
        finish,
        state=states,
        lost=st.booleans(),
        result=texts,
        error=texts,
        started_at=st.none() | st.just(now + 1),
        cancelled_by=st.none() | actors,
    )


def agains(now: int) -> st.SearchStrategy[Again]:
    return st.builds(
        Again,
        id=st.just(NOBODY),
        token=st.just(NOBODY),
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
class Likeness:
    """A Filter before it is known what it shall find: the fields in which to be alike."""

    fields: list[str]
    past_due: int
    queue: str

    def filter(self, record: Mapping[str, Any]) -> Filter:
        """One that this record fits, or misses by a hair."""
        # A child that waits is due at no time.
        due_at = record["due_at"] or record["created_at"]
        values = {
            **record,
            "queue": self.queue,
            "due_from": due_at + self.past_due,
            "due_before": due_at + self.past_due,
        }
        return Filter(**{name: values[name] for name in self.fields})


FIELDS = (
    *("state", "kind", "queue", "correlation_id", "key", "due_from"),
    *("tenant", "tenant", "due_before", "due_before"),
)
likenesses = st.builds(
    Likeness,
    fields=st.lists(
        st.sampled_from(FIELDS),
        min_size=1,
        max_size=3,
        unique=True,
    ),
    past_due=st.sampled_from((0, 0, 1)),
    queue=st.sampled_from((QUEUE, QUEUE, QUEUE, "other")),
)
