"""The verbs of queues, for all SQL stores."""

from __future__ import annotations

import json
from abc import ABC
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from duetime.errors import ActionNotFound
from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.health.queues import QueueCount, QueueCounts, QueueGauges
from duetime.model.ids import NewId
from duetime.model.lane import PAUSES_LANE
from duetime.model.pause import QueuePause, next_pause, pause_in_force, pause_snapshot
from duetime.model.reason import Circumstances
from duetime.model.tenant import Scope
from duetime.store.base import Store
from duetime.store.flow import Mode, Statement, Steps, Wake, flow
from duetime.store.sql.flows.audit import audit_row, insert_audit
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.flows.lost_data import read_records
from duetime.store.sql.flows.records import queue_pause, require_texts
from duetime.store.sql.flows.stats import living_workers, pauses
from duetime.store.sql.statements.filter_params import scope_params


class QueueFlows(Store, ABC):
    """Flows that pause and resume queues, and that say what is in them and why it waits."""

    _ids: NewId

    @flow()
    def pause_queue(self, queue: str, act: Act, *, until: int | None) -> Steps[QueuePause]:
        yield Statement("queue_add", {"queue": queue})
        stored, now = yield from _lock(queue)
        before = pause_in_force(stored, now)
        after = next_pause(before, QueuePause(queue, now, act.by, act.note, until))
        if after != before:
            yield from self._set_pause("pause", queue, act, now, before, after)
        return after

    @flow()
    def resume_queue(self, queue: str, act: Act) -> Steps[bool]:
        stored, now = yield from _lock(queue)
        before = pause_in_force(stored, now)
        if before is not None:
            yield from self._set_pause("resume", queue, act, now, before, None)
        return before is not None

    def _set_pause(
        self,
        verb: str,
        queue: str,
        act: Act,
        now: int,
        before: QueuePause | None,
        after: QueuePause | None,
    ) -> Steps[None]:
        fields = pause_snapshot(after) | {"paused_at": None if after is None else now}
        yield Statement("queue_pause", {"queue": queue, **fields})
        snapshots = pause_snapshot(before), pause_snapshot(after)
        entry = audit_row(self._ids(), None, queue, *snapshots)
        yield insert_audit(verb, act, now, [entry], subject="queue")
        yield Wake(PAUSES_LANE, now, now)

    @flow(Mode.read)
    def queues(self, alive: int, most: int | None = None) -> Steps[QueueCounts]:
        counts = yield from _counts(most)
        return QueueCounts(
            now=(yield from clock()),
            counts=counts,
            pauses=(yield from pauses()),
            workers=(yield from living_workers(alive)),
        )

    @flow(Mode.read)
    def queue_gauges(self, alive: int) -> Steps[QueueGauges]:
        found = cast("Any", (yield Statement("queue_gauges", {"alive": alive})))
        rows: dict[str, list[Any]] = {"queue": [], "paused": [], "worker": [], "now": []}
        for what, *row in found:
            rows[what].append(row)
        counts = [QueueCount(*row) for row in rows["queue"]]
        paused = [row[0] for row in rows["paused"]]
        require_texts([*(count.queue for count in counts), *paused])
        served = (queue for row in rows["worker"] for queue in _queues_of_worker(row[0]))
        [[*_, now]] = rows["now"]
        return QueueGauges(now, counts, frozenset(paused), frozenset(served), len(rows["worker"]))

    @flow(Mode.read)
    def circumstances(self, action_id: UUID, tenant: Scope, *, alive: int) -> Steps[Circumstances]:
        record = yield from _stored(action_id, tenant)
        if record is None:
            raise ActionNotFound(action_id)
        # A row that is finished in between has no place any more.
        place = cast("Any", (yield Statement("action_place", {"id": str(action_id)})))
        [(now, lane, held)] = place or [((yield from clock()), None, False)]
        paused = yield from pauses(record.queue)
        parent = record.after if record.waits else None
        return Circumstances(
            now=now,
            record=record,
            lane=lane,
            held=bool(held),
            pause=paused[0] if paused else None,
            parent=None if parent is None else (yield from _stored(parent, tenant)),
            workers=(yield from living_workers(alive)),
        )


def _counts(most: int | None) -> Steps[list[QueueCount]]:
    if most is None:
        found = cast("Any", (yield Statement("queue_counts", {})))
        counts = [QueueCount(*row) for row in found]
    else:
        found = cast("Any", (yield Statement("queue_counts_bounded", {"window": most})))
        counts = [replace(QueueCount(*row[:-1]), capped=bool(row[-1])) for row in found]
    require_texts(count.queue for count in counts)
    return counts


def _queues_of_worker(text: object) -> list[str]:
    """Return the queues that a worker names; none if that cannot be read."""
    try:
        names = json.loads(cast("str", text))
    except (ValueError, TypeError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _lock(queue: str) -> Steps[tuple[QueuePause | None, int]]:
    """Return the pause of a queue, locked, and the time, read when the lock was granted."""
    found = yield Statement("queue_lock", {"queue": queue})
    return (queue_pause(found[0]) if found else None), (yield from clock())


def _stored(action_id: UUID, tenant: Scope) -> Steps[Record | None]:
    params = {"id": str(action_id)} | scope_params(tenant)
    found = yield from read_records(Statement("get", params))
    return found[0] if found else None
