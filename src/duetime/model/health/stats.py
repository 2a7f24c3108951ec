"""Health figures: what a store counts, and what they come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from duetime.model.actions.claim import Presence
from duetime.model.clock import from_micros, seconds_of
from duetime.model.jobs.stats import JobStats
from duetime.model.lane import Lane, readable_lane
from duetime.model.state import State

# Of each way to finish, so many of the newest are looked at: history may hold millions.
MOST_FINISHED = 100_000


@dataclass(frozen=True, slots=True)
class LaneCount:
    """The unfinished actions of one lane. `free` have a due time and do not run; `oldest` is
    the due time of the longest overdue; `waiting` have no due time yet; `stray` are those
    among all of them that nothing would ever find: see `is_stray`."""

    lane: str | None
    free: int
    overdue: int
    oldest: int | None
    running: int
    expired: int
    waiting: int
    stray: int

    @property
    def all(self) -> int:
        return self.free + self.running + self.waiting


@dataclass(frozen=True, slots=True)
class Counted:
    """What a store counted, by its own clock: lanes and workers in any order."""

    now: int
    lanes: Sequence[LaneCount]
    finished: dict[State, int]
    workers: Sequence[tuple[Presence, int]]
    jobs: JobStats


def is_stray(
    *, running: bool, lane: str | None, due_at: int | None, leased: bool, child: bool
) -> bool:
    """No verb would ever find it: claims go by lane and due time, rescues by both and the
    lease, and what waits is settled by its parent."""
    if running:
        return lane is None or due_at is None or not leased
    return not child if due_at is None else lane is None


@dataclass(frozen=True, slots=True)
class LivingWorker:
    """A worker that showed itself lately."""

    id: str
    app: str
    host: str
    pid: int
    kinds: tuple[str, ...]
    queues: tuple[str, ...]
    concurrency: int
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Parked:
    """How many actions wait for a worker that knows this kind in this version."""

    kind: str
    version: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The health of a store, or of one tenant's share of it, at one instant.

    `scheduled`, `waiting`, `parked` and `running` add up to all unfinished actions.
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


def stats_of(counted: Counted, clock_offset: float) -> Stats:
    """Add up what a store counted."""
    lanes = [(one, None if one.lane is None else readable_lane(one.lane)) for one in counted.lanes]
    due = [one for one, lane in lanes if lane is None or lane.parked is None]
    parked = _parked(lanes)
    workers = tuple(_living(one, seen) for one, seen in sorted(counted.workers, key=_by_id))
    known = {kind for worker in workers for kind in worker.kinds}
    oldest = min((one.oldest for one in due if one.oldest is not None), default=None)
    return Stats(
        at=from_micros(counted.now),
        scheduled=sum(one.free for one in due),
        waiting=sum(one.waiting for one, _ in lanes),
        parked=sum(one.count for one in parked),
        running=sum(one.running for one, _ in lanes),
        overdue=sum(one.overdue for one in due),
        oldest_overdue=None if oldest is None else seconds_of(counted.now - oldest),
        expired_leases=sum(one.expired for one, _ in lanes),
        unreachable=sum(_unreachable(one, lane) for one, lane in lanes),
        succeeded=counted.finished[State.succeeded],
        failed=counted.finished[State.failed],
        cancelled=counted.finished[State.cancelled],
        parked_kinds=parked,
        unknown_kinds=tuple(sorted({one.kind for one in parked} - known)),
        workers=workers,
        jobs=counted.jobs,
        clock_offset=clock_offset,
    )


def _parked(lanes: Iterable[tuple[LaneCount, Lane | None]]) -> tuple[Parked, ...]:
    counts: Counter[tuple[str, int]] = Counter()
    for one, lane in lanes:
        if lane is not None and lane.parked is not None and one.free:
            counts[lane.parked] += one.free
    return tuple(Parked(kind, version, n) for (kind, version), n in sorted(counts.items()))


def _unreachable(one: LaneCount, lane: Lane | None) -> int:
    """All of a lane that no worker can read, since none claims from it."""
    return one.stray if one.lane is None or lane is not None else one.all


def _living(presence: Presence, seen_at: int) -> LivingWorker:
    return LivingWorker(
        id=presence.id,
        app=presence.app,
        host=presence.host,
        pid=presence.pid,
        kinds=tuple(presence.kinds),
        queues=tuple(presence.queues),
        concurrency=presence.concurrency,
        seen_at=from_micros(seen_at),
    )


def _by_id(worker: tuple[Presence, int]) -> str:
    return worker[0].id


def clock_offset(now: int, before: int, after: int) -> float:
    """Seconds that the store is ahead of us, if it said `now` somewhere between our `before`
    and `after`: 0 if that is what it may have been."""
    return seconds_of(max(now - after, 0) + min(now - before, 0))
