"""Health figures: the counts of a store, and the Stats computed from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from duetime.model.actions.claim import SeenWorker
from duetime.model.clock import from_micros, nearest_micros, seconds_of
from duetime.model.health.worker import HEALTHY, SlotUse, WorkerHealth
from duetime.model.jobs.stats import JobStats
from duetime.model.lane import Lane, readable_lane
from duetime.model.state import State

# How many of the newest finished actions of each state are counted: history may hold millions.
MOST_FINISHED = 100_000


@dataclass(frozen=True, slots=True)
class LaneCount:
    """Counts of the unfinished actions of one lane.

    `free` actions have a due time and do not run; `oldest` is the due time of the longest overdue
    one; `waiting` actions have no due time yet; `stray` counts those among all of them that no verb
    would ever find: see `is_stray`. There may be more of each if the counts are `capped`.
    """

    lane: str | None
    free: int
    overdue: int
    oldest: int | None
    running: int
    expired: int
    waiting: int
    stray: int
    capped: bool = False

    @property
    def all(self) -> int:
        return self.free + self.running + self.waiting


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """The counts of a store at its own time `now`; lanes and workers in any order."""

    now: int
    lanes: Sequence[LaneCount]
    finished: dict[State, int]
    workers: Sequence[SeenWorker]
    jobs: JobStats
    # The names of all queues that are paused now.
    paused: frozenset[str] = frozenset()


def is_stray(
    *, running: bool, lane: str | None, due_at: int | None, leased: bool, child: bool
) -> bool:
    """Return whether no verb would ever find the action: claims search by lane and due time,
    rescues by both and the lease, and a waiting child is settled by its parent."""
    if running:
        return lane is None or due_at is None or not leased
    return not child if due_at is None else lane is None


@dataclass(frozen=True, slots=True)
class LivingWorker:
    """A worker that was seen recently.

    A worker of code that does not know pauses of queues has no `version`, and tells nothing of its
    slots.
    """

    id: str
    app: str
    host: str
    pid: int
    kinds: tuple[str, ...]
    queues: tuple[str, ...]
    concurrency: int
    seen_at: datetime
    health: WorkerHealth = HEALTHY
    version: str | None = None
    started_at: datetime | None = None
    slots: int | None = None
    slots_used: int | None = None
    pools: tuple[SlotUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Parked:
    """How many actions wait for a worker that knows this kind in this version."""

    kind: str
    version: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The health of a store, or of one tenant's share of it, at one instant.

    `scheduled`, `waiting`, `parked` and `running` add up to all unfinished actions. What is due in
    a paused queue is not overdue; `paused_queues` are those that hold unfinished actions. There may
    be more unfinished actions if they are `capped`: those that are due first are counted.
    """

    at: datetime
    scheduled: int
    waiting: int
    parked: int
    running: int
    overdue: int
    oldest_overdue: float | None
    expired_leases: int
    unreachable: int
    succeeded: int
    failed: int
    cancelled: int
    parked_kinds: tuple[Parked, ...]
    unknown_kinds: tuple[str, ...]
    workers: tuple[LivingWorker, ...]
    jobs: JobStats
    clock_offset: float
    paused_queues: tuple[str, ...] = ()
    capped: bool = False


def stats_of(counted: StoreCounts, clock_offset: float) -> Stats:
    """Compute Stats from the counts of a store."""
    lanes = [(c, None if c.lane is None else readable_lane(c.lane)) for c in counted.lanes]
    due = [(count, lane) for count, lane in lanes if lane is None or lane.parked is None]
    held = {lane.queue for _, lane in lanes if lane is not None and lane.queue in counted.paused}
    moving = [count for count, lane in due if lane is None or lane.queue not in held]
    parked = _parked(lanes)
    workers = living_workers(counted.workers)
    known = {kind for worker in workers for kind in worker.kinds}
    oldest = min((count.oldest for count in moving if count.oldest is not None), default=None)
    return Stats(
        at=from_micros(counted.now),
        scheduled=sum(count.free for count, _ in due),
        waiting=sum(count.waiting for count, _ in lanes),
        parked=sum(group.count for group in parked),
        running=sum(count.running for count, _ in lanes),
        overdue=sum(count.overdue for count in moving),
        oldest_overdue=None if oldest is None else seconds_of(counted.now - oldest),
        expired_leases=sum(count.expired for count, _ in lanes),
        unreachable=sum(_unreachable(count, lane) for count, lane in lanes),
        succeeded=counted.finished[State.succeeded],
        failed=counted.finished[State.failed],
        cancelled=counted.finished[State.cancelled],
        parked_kinds=parked,
        unknown_kinds=tuple(sorted({group.kind for group in parked} - known)),
        workers=workers,
        jobs=counted.jobs,
        clock_offset=clock_offset,
        paused_queues=tuple(sorted(held)),
        capped=any(count.capped for count, _ in lanes),
    )


def _parked(lanes: Iterable[tuple[LaneCount, Lane | None]]) -> tuple[Parked, ...]:
    counts: Counter[tuple[str, int]] = Counter()
    for count, lane in lanes:
        if lane is not None and lane.parked is not None and count.free:
            counts[lane.parked] += count.free
    return tuple(Parked(kind, version, n) for (kind, version), n in sorted(counts.items()))


def _unreachable(count: LaneCount, lane: Lane | None) -> int:
    """Return the stray actions of a lane; all of them if the lane's text is invalid, since no
    worker claims from it."""
    return count.stray if count.lane is None or lane is not None else count.all


def living_workers(seen: Iterable[SeenWorker]) -> tuple[LivingWorker, ...]:
    """Return workers as users see them, by id."""
    return tuple(sorted(map(_living, seen), key=lambda worker: worker.id))


def _living(seen: SeenWorker) -> LivingWorker:
    worker, pools = seen.worker, seen.worker.pools
    return LivingWorker(
        id=worker.id,
        app=worker.app,
        host=worker.host,
        pid=worker.pid,
        kinds=tuple(worker.kinds),
        queues=tuple(worker.queues),
        concurrency=worker.concurrency,
        seen_at=from_micros(nearest_micros(seen.seen_at)),
        health=worker.health,
        version=worker.version,
        started_at=from_micros(nearest_micros(seen.started_at)),
        slots=sum(pool.slots for pool in pools) if pools else None,
        slots_used=sum(pool.used for pool in pools) if pools else None,
        pools=pools,
    )


def clock_offset(now: int, before: int, after: int) -> float:
    """Return by how many seconds the store's clock is ahead, given that it read `now` between our
    `before` and `after`; 0 if the clocks may agree."""
    return seconds_of(max(now - after, 0) + min(now - before, 0))
