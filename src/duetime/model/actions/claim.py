"""Claims: the expiring, fenced right of one worker to run one action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from duetime.model.clock import micros_of

# From this many losses on, an action is suspected of killing its worker: claimed alone.
SUSPECT_LOSSES = 2
# After this many it fails as lost.
FATAL_LOSSES = 5
SWEEPS_ALIVE = 3


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one lane: due from `since` up to the store's now plus `ahead`."""

    lane: str
    since: int
    ahead: int


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    """Take up to `limit` free actions, span by span in the order given, but none of the tenants
    in `apart`."""

    worker: str
    spans: Sequence[Span]
    limit: int
    lease: int
    apart: frozenset[str] = frozenset()


class Claim(NamedTuple):
    """A claimed action: all that running it takes, and the token that fences it.

    A tuple, like an ending: a worker makes one for each run, and a frozen dataclass of this
    size takes eight times as long to make.
    """

    id: UUID
    token: UUID
    kind: str
    version: int
    payload: str
    lane: str
    tenant: str | None
    correlation_id: str | None
    due_at: int
    attempt: int
    base_attempt: int
    losses: int
    by: str
    job: str | None
    tick: int | None
    triggered_by: str | None

    @property
    def tries(self) -> int:
        """Attempts used of the retry budget, this one included."""
        return self.attempt - self.base_attempt


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claims, and the store's clock when it took them."""

    now: int
    claims: Sequence[Claim]


@dataclass(frozen=True, slots=True)
class Lease:
    """What a holder shows to renew: the action and its token."""

    id: UUID
    token: UUID


@dataclass(frozen=True, slots=True)
class Renewed:
    """`kept` maps each renewed action to who asked it to stop, if anybody did.

    `lost` are those whose token is no longer ours. An action in neither was busy in
    another transaction: nothing is known of it, ask again.
    """

    now: int
    kept: Mapping[UUID, str | None]
    lost: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class LaneHead:
    """A lane that holds unfinished actions, and when its next free one is due."""

    lane: str
    next_due: int | None


@dataclass(frozen=True, slots=True)
class Expired:
    """A running action whose lease has run out."""

    id: UUID
    token: UUID
    queue: str
    priority: int
    tenant: str | None
    losses: int
    job: str | None = None
    triggered_by: str | None = None


def alive_for(sweep: float) -> int:
    """Microseconds after which a worker that was not seen is taken for gone. It shows itself in
    every sweep, and some of them may come late."""
    return micros_of(SWEEPS_ALIVE * sweep)


ALIVE = alive_for(10.0)


@dataclass(frozen=True, slots=True)
class Presence:
    """A worker as it shows itself in the store. Once it is `introduced`, the store knows what it
    runs and declares, and is told only that it lives. It counts as alive for so many
    microseconds."""

    id: str
    app: str
    host: str
    pid: int
    kinds: Sequence[str]
    queues: Sequence[str]
    concurrency: int
    jobs: Sequence[str] = ()
    alive: int = ALIVE
    introduced: bool = False


@dataclass(frozen=True, slots=True)
class Swept:
    """What one look at the whole store found. `parents` are those that have ended, or are gone,
    and for which children still wait: settle them. A look that asks for it tells the next tick of
    the app's jobs; a sweep alone, whether one that was introduced is `known`, and whether it is
    the `youngest` of those alive that declare jobs of the app."""

    now: int
    lanes: Sequence[LaneHead]
    expired: Sequence[Expired]
    parents: Sequence[UUID] = ()
    next_tick: int | None = None
    known: bool = True
    youngest: bool = True
