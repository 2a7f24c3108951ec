"""Claims: the expiring, fenced right of one worker to run one action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from duetime.model.clock import micros_of
from duetime.model.health.worker import HEALTHY, WorkerHealth

# An action lost this often is suspected of killing its worker, and is claimed alone.
SUSPECT_LOSSES = 2
# An action lost this often fails.
FATAL_LOSSES = 5
# A worker that missed this many sweeps counts as gone.
SWEEPS_ALIVE = 3


@dataclass(frozen=True, slots=True)
class LaneSpan:
    """A range of one lane: due times from `since` up to the store's now plus `ahead`."""

    lane: str
    since: int
    ahead: int


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    """Claim up to `limit` free actions, span by span in the given order, skipping
    `excluded_tenants`; with `only`, none but these."""

    worker: str
    spans: Sequence[LaneSpan]
    limit: int
    lease: int
    excluded_tenants: frozenset[str] = frozenset()
    only: Sequence[UUID] | None = None


class Claim(NamedTuple):
    """A claimed action: everything needed to run it, and the token that fences it.

    A tuple, like a completion: a worker creates one per run, and creating a frozen dataclass of
    this size takes eight times as long.
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
        """Attempts used of the retry budget, the current one included."""
        return self.attempt - self.base_attempt


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claims, and the store's time at which they were taken."""

    now: int
    claims: Sequence[Claim]


@dataclass(frozen=True, slots=True)
class Fence:
    """An action's id and claim token: a store refuses writes whose fence is stale."""

    id: UUID
    token: UUID


@dataclass(frozen=True, slots=True)
class RenewResult:
    """The result of renewing leases, at the store's time `now`.

    `renewed` maps each renewed action to the actor who requested it to stop, or None. `lost` are
    the actions whose stored token is another one. An action in neither was locked by another
    transaction; renew it again.
    """

    now: int
    renewed: Mapping[UUID, str | None]
    lost: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class LaneHead:
    """A lane with unfinished actions, and when its next free action is due."""

    lane: str
    next_due: int | None


@dataclass(frozen=True, slots=True)
class Expired:
    """A running action whose lease has expired."""

    id: UUID
    token: UUID
    queue: str
    priority: int
    tenant: str | None
    losses: int
    job: str | None = None
    triggered_by: str | None = None


def alive_micros(sweep: float) -> int:
    """Return after how many microseconds without a sweep a worker counts as gone. Several sweeps
    may be late before that."""
    return micros_of(SWEEPS_ALIVE * sweep)


DEFAULT_ALIVE_MICROS = alive_micros(10.0)


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker as its sweeps record it in the store.

    Once it is `registered`, the store knows its kinds and jobs, and a sweep only updates when it
    was last seen, and its `health`, which is no part of its description. It counts as alive for
    `alive` microseconds after each sweep.
    """

    id: str
    app: str
    host: str
    pid: int
    kinds: Sequence[str]
    queues: Sequence[str]
    concurrency: int
    jobs: Sequence[str] = ()
    alive: int = DEFAULT_ALIVE_MICROS
    registered: bool = False
    health: WorkerHealth = field(default=HEALTHY, compare=False)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a sweep or a look-ahead, at the store's time `now`.

    `parents` have ended or are gone while children still wait for them: settle those children.
    `next_tick` is the next tick of the app's jobs, if the look-ahead was for an app. Only a sweep
    sets `known` (False if a worker that claims to be registered is not) and `youngest` (whether
    this is the youngest live worker that declares jobs of its app).
    """

    now: int
    lanes: Sequence[LaneHead]
    expired: Sequence[Expired]
    parents: Sequence[UUID] = ()
    next_tick: int | None = None
    known: bool = True
    youngest: bool = True
