"""Claims: the expiring, fenced right of one worker to run one action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from duetime.model.clock import micros_of
from duetime.model.health.worker import HEALTHY, SlotUse, WorkerHealth
from duetime.model.pause import PausedQueues

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
    expires_at: int | None = None
    trace: str | None = None

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
    kind: str = ""


def alive_micros(sweep: float) -> int:
    """Return after how many microseconds without a sweep a worker counts as gone. Several sweeps
    may be late before that."""
    return micros_of(SWEEPS_ALIVE * sweep)


DEFAULT_ALIVE_MICROS = alive_micros(10.0)


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker as its sweeps record it in the store.

    Once it is `registered`, the store knows its kinds and jobs, and a sweep only updates when it
    was last seen, its `health` and the use of its slots, which are no part of its description. It
    counts as alive for `alive` microseconds after each sweep. Workers of code that does not know
    pauses of queues have no `version`.
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
    version: str | None = None
    pools: tuple[SlotUse, ...] = field(default=(), compare=False)

    def pool_for(self, queue: str) -> SlotUse | None:
        """Return the slots in which actions of the queue run; None if this worker serves it not."""
        pools = self.pools or (SlotUse(tuple(self.queues) or None, self.concurrency, 0),)
        own = (pool for pool in pools if pool.queues and queue in pool.queues)
        shared = (pool for pool in pools if pool.queues is None)
        return next(own, None) or next(shared, None)


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """A worker, when it started and when it was last seen."""

    worker: WorkerInfo
    started_at: int
    seen_at: int


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a sweep or a look-ahead, at the store's time `now`.

    `parents` have ended or are gone while children still wait for them: settle those children.
    `next_tick` is the next tick of the app's jobs, if the look-ahead was for an app. `paused` are
    all queues that are paused at `now`, also after a look-ahead for some lanes only. Only a sweep
    sets `known` (False if a worker that claims to be registered is not), `youngest` (whether
    this is the youngest live worker that declares jobs of its app) and `oldest` (whether no live
    worker of any app is older), `subscriptions_version` (which grows with each change of the
    subscriptions to notifications) and `events_wait` (whether events wait to be gathered).
    """

    now: int
    lanes: Sequence[LaneHead]
    expired: Sequence[Expired]
    parents: Sequence[UUID] = ()
    next_tick: int | None = None
    known: bool = True
    youngest: bool = True
    oldest: bool = True
    paused: PausedQueues = field(default_factory=dict)
    subscriptions_version: int = 0
    events_wait: bool = False
