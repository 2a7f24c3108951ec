"""The health figures of a MemoryStore."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from duetime.model.actions.claim import Presence
from duetime.model.health.stats import Counted, LaneCount, is_stray
from duetime.model.jobs.stats import JobStats, job_stats
from duetime.model.state import FINISHED
from duetime.model.tenant import Scope, sees
from duetime.store.memory.lanes import Row
from duetime.store.memory.tables import Rows, has_expired


def count(rows: Rows, tenant: Scope, now: int, alive: int, limit: int) -> Counted:
    lanes: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows.unfinished.values():
        if sees(tenant, row.record.tenant):
            lanes[row.lane].append(row)
    newest = sorted(rows.finished.values(), key=lambda one: one.finished_at or 0, reverse=True)
    finished = {
        state: sum(
            sees(tenant, one.tenant) for one in [r for r in newest if r.state is state][:limit]
        )
        for state in FINISHED
    }
    counts = [_lane(lane, found, now) for lane, found in lanes.items()]
    return Counted(now, counts, finished, living(rows, now, alive), _jobs(rows, tenant, now))


def living(rows: Rows, now: int, alive: int) -> list[tuple[Presence, int]]:
    known = ((one.presence, one.seen_at) for one in rows.workers.values())
    return [(one, at) for one, at in known if at >= now - alive]


def _lane(lane: str | None, found: Sequence[Row], now: int) -> LaneCount:
    running = [row.record for row in found if row.record.token is not None]
    free = [row.record for row in found if row.record.token is None]
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
        stray=sum(_is_stray(row) for row in found),
    )


def _jobs(rows: Rows, tenant: Scope, now: int) -> JobStats:
    kept = [job for _, job in sorted(rows.jobs.items()) if job.removed_at is None]
    return job_stats((job for job in kept if sees(tenant, job.tenant)), (), now)


def _is_stray(row: Row) -> bool:
    record = row.record
    return is_stray(
        running=record.token is not None,
        lane=row.lane,
        due_at=record.due_at,
        leased=record.lease_until is not None,
        child=record.after is not None,
    )
