"""What Hypothesis draws: small worlds, so that everything meets everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from duetime.model.action import NewAction
from duetime.model.claim import Span
from duetime.model.ending import Again, Finish
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
kinds = st.sampled_from(KINDS)
# Mostly one lane, so that its order matters.
tenants = st.sampled_from((None, None, None, "a"))
priorities = st.sampled_from((1, 1, 1, 2))
scopes = st.sampled_from((ANY,) * 6 + (None, "a", "b"))
keys = st.sampled_from((None, None, None, "x", "y"))
actors = st.sampled_from(("ann", "bob"))
modes = st.sampled_from(("return", "raise", "replace"))
micros = st.integers(0, 6)
offsets = st.integers(-6, 4)
ages = st.sampled_from((0, 2, 100))
maybe_micros = st.none() | micros
maybe_offsets = st.none() | offsets
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

    def new(self, action_id: UUID, now: int) -> NewAction:
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
        )


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
)


def spans(now: int) -> st.SearchStrategy[list[Span]]:
    """Often every lane there is, and each at most once: who comes first among equals is then
    the only open question."""
    since = st.sampled_from((EPOCH,) * 6 + (now - 2, now))
    ahead = st.sampled_from((0, 0, 0, 2))
    lanes = st.permutations(LANES)
    some = st.lists(st.sampled_from(HOMES), min_size=1, unique=True)
    return (
        (lanes | lanes | some)
        .flatmap(
            lambda lanes: st.tuples(
                *(st.builds(Span, st.just(lane), since, ahead) for lane in lanes)
            )
        )
        .map(list)
    )


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


def filters(now: int) -> st.SearchStrategy[Filter]:
    """Few fields at a time, so that something fits."""
    instants = offsets.map(lambda offset: now + offset)
    fields: dict[str, st.SearchStrategy[Any]] = {
        "state": st.sampled_from(list(State)),
        "kind": kinds,
        "queue": st.sampled_from((QUEUE, QUEUE, "other")),
        "correlation_id": st.just("c"),
        "key": st.sampled_from(("x", "y")),
        "tenant": scopes,
        "due_from": instants,
        "due_before": instants,
    }
    some = st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True)
    return some.flatmap(lambda names: st.builds(Filter, **{name: fields[name] for name in names}))
