"""Gauges: what the last sweep of a worker of this process saw, repeated to whatever exports."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakSet

from duetime.telemetry import instruments
from duetime.telemetry.instruments import MetricSpec
from duetime.telemetry.labels import CappedValues

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation


@dataclass(frozen=True, slots=True)
class StoreGauges:
    """Figures of a whole store: by queue and state the unfinished actions; for how many seconds the
    oldest overdue action has waited; the living workers."""

    backlog: Sequence[tuple[str, str, int]]
    oldest_overdue: float
    workers: int


class WorkerGauges:
    """What one worker last saw. Of all workers of a store, one reads the figures of the store."""

    def __init__(self) -> None:
        self.store: StoreGauges | None = None
        self.slots_used = 0
        _sources.add(self)

    def close(self) -> None:
        """The worker has stopped: it reports nothing any more."""
        _sources.discard(self)


_sources: WeakSet[WorkerGauges] = WeakSet()
_queues = CappedValues()
_created = False
_creating = threading.Lock()


def observe_gauges(meter: Meter) -> None:
    """Create the gauges of this process, once: an SDK takes no second instrument of a name."""
    global _created
    with _creating:
        if not _created:
            _created = True
            for spec, observe in _OBSERVERS:
                meter.create_observable_gauge(
                    spec.name, [_callback(observe)], spec.unit, spec.description
                )


Value = tuple[float, dict[str, str]]


def _callback(
    observe: Callable[[Sequence[WorkerGauges]], Iterable[Value]],
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def call(options: CallbackOptions) -> Iterable[Observation]:
        from opentelemetry.metrics import Observation

        return [Observation(value, attributes) for value, attributes in observe([*_sources])]

    return call


def _backlog(sources: Sequence[WorkerGauges]) -> Iterable[Value]:
    counts: Counter[tuple[str, str]] = Counter()
    for store in _stores(sources):
        for queue, state, count in store.backlog:
            counts[_queues(queue), state] += count
    return [
        (count, {"duetime.queue": queue, "duetime.state": state})
        for (queue, state), count in counts.items()
    ]


def _oldest_overdue(sources: Sequence[WorkerGauges]) -> Iterable[Value]:
    waits = [store.oldest_overdue for store in _stores(sources)]
    return [(max(waits), {})] if waits else []


def _workers(sources: Sequence[WorkerGauges]) -> Iterable[Value]:
    workers = [store.workers for store in _stores(sources)]
    return [(sum(workers), {})] if workers else []


def _slots_used(sources: Sequence[WorkerGauges]) -> Iterable[Value]:
    return [(sum(source.slots_used for source in sources), {})] if sources else []


def _stores(sources: Iterable[WorkerGauges]) -> list[StoreGauges]:
    return [source.store for source in sources if source.store is not None]


_OBSERVERS: Sequence[tuple[MetricSpec, Callable[[Sequence[WorkerGauges]], Iterable[Value]]]] = (
    (instruments.BACKLOG, _backlog),
    (instruments.OLDEST_OVERDUE, _oldest_overdue),
    (instruments.WORKERS, _workers),
    (instruments.SLOTS_USED, _slots_used),
)
