"""The health figures of a MemoryStore."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from duetime.model.actions.claim import SeenWorker
from duetime.model.health.stats import LaneCount, StoreCounts, is_stray
from duetime.model.jobs.stats import JobStats, job_stats
from duetime.model.pause import paused_queues
from duetime.model.state import FINISHED
from duetime.model.tenant import Scope, sees
from duetime.store.memory.lanes import MemoryRow
from duetime.store.memory.tables import Tables, has_expired


def count(tables: Tables, tenant: Scope, now: int, alive: int, limit: int) -> StoreCounts:
    lanes: dict[str | None, list[MemoryRow]] = defaultdict(list)
    for row in tables.unfinished.values():
        if sees(tenant, row.record.tenant):
            lanes[row.lane].append(row)
    newest = sorted(tables.finished.values(), key=lambda r: r.finished_at or 0, reverse=True)
    finished = {
        state: sum(sees(tenant, r.tenant) for r in [r for r in newest if r.state is state][:limit])
        for state in FINISHED
    }
    counts = [_lane(lane, members, now) for lane, members in lanes.items()]
    return StoreCounts(
        now,
        counts,
        finished,
        living(tables, now, alive),
        _jobs(tables, tenant, now),
        frozenset(paused_queues(tables.pauses.values(), now)),
    )


def living(tables: Tables, now: int, alive: int) -> list[SeenWorker]:
    return [seen for seen in tables.workers.values() if seen.seen_at >= now - alive]


def _lane(lane: str | None, rows: Sequence[MemoryRow], now: int) -> LaneCount:
    running = [row.record for row in rows if row.record.token is not None]
    free = [row.record for row in rows if row.record.token is None]
    dues = [record.due_at for record in free if record.due_at is not None]
    overdue = [due for due in dues if due <= now]
    return LaneCount(
        lane=lane,
        free=len(dues),
        overdue=len(overdue),
        oldest=min(overdue, default=None),
        running=len(running),
        expired=sum(has_expired(record, now) for record in running),
        waiting=len(free) - len(dues),
        stray=sum(_is_stray(row) for row in rows),
    )


def _jobs(tables: Tables, tenant: Scope, now: int) -> JobStats:
    jobs = [job for _, job in sorted(tables.jobs.items()) if job.removed_at is None]
    return job_stats((job for job in jobs if sees(tenant, job.tenant)), (), now)


def _is_stray(row: MemoryRow) -> bool:
    record = row.record
    return is_stray(
        running=record.token is not None,
        lane=row.lane,
        due_at=record.due_at,
        leased=record.lease_until is not None,
        child=record.after is not None,
    )
