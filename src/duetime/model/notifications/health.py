"""Ill health of a cluster, as episodes: overdue queues, no worker at all, workers that vanished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duetime.model.actions.claim import SeenWorker, WorkerInfo
from duetime.model.clock import SECOND, seconds_of
from duetime.model.health.queues import Queue
from duetime.model.notifications.delivery import NOTIFY_QUEUE, is_notifier
from duetime.model.notifications.episodes import Episode
from duetime.model.notifications.event import EventData

# From when on overdue work is worth a message.
OVERDUE_SECONDS = 60.0
# A worker that vanished longer ago than this is not news. Its row is deleted later than that.
LOST_WITHIN = 1800 * SECOND
# The subject of the episode that nothing runs at all.
ALL_WORKERS = "workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthFacts:
    """What episodes are found in: the queues, and the workers that were ever seen lately. A worker
    that was not seen for `alive` microseconds is gone."""

    now: int
    queues: Sequence[Queue]
    seen: Sequence[SeenWorker]
    alive: int


def episodes_of(facts: HealthFacts) -> list[Episode]:
    """Return the episodes that last now."""
    workers = [each for each in facts.seen if not is_notifier(each.worker.queues)]
    living = [each for each in workers if facts.now - each.seen_at <= facts.alive]
    none = [] if living else [_no_worker(facts)]
    lost = (each for each in workers if facts.alive < facts.now - each.seen_at <= LOST_WITHIN)
    overdue = (queue for queue in facts.queues if _is_overdue(queue))
    return [*none, *map(_overdue, overdue), *(_lost(each.worker) for each in lost)]


def _is_overdue(queue: Queue) -> bool:
    """Judge a queue; one that is paused has nothing overdue, and no delivery is about the queue of
    deliveries."""
    oldest = queue.oldest_overdue or 0.0
    return queue.name != NOTIFY_QUEUE and oldest >= OVERDUE_SECONDS


def _overdue(queue: Queue) -> Episode:
    data: EventData = {
        "queue": queue.name,
        "count": queue.overdue,
        "seconds": round(queue.oldest_overdue or 0.0),
    }
    return Episode("overdue", queue.name, data)


def _no_worker(facts: HealthFacts) -> Episode:
    waiting = sum(queue.overdue for queue in facts.queues if queue.name != NOTIFY_QUEUE)
    workers = (each for each in facts.seen if not is_notifier(each.worker.queues))
    last = max((each.seen_at for each in workers), default=None)
    since = None if last is None else round(seconds_of(facts.now - last))
    return Episode("no-worker", ALL_WORKERS, {"count": waiting, "seconds": since})


def _lost(worker: WorkerInfo) -> Episode:
    data: EventData = {
        "worker": worker.id,
        "host": worker.host,
        "pid": worker.pid,
        "app": worker.app,
    }
    return Episode("worker-lost", worker.id, data)
