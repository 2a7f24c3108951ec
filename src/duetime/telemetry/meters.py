"""Counters and histograms. Without an OpenTelemetry SDK their cost is negligible."""

from __future__ import annotations

from functools import lru_cache

from duetime.model.state import State


class Meters:
    """The metrics of duetime, with one method per recorded event."""

    def __init__(self) -> None:
        # Imported here to keep `import duetime` fast.
        from opentelemetry import metrics

        meter = metrics.get_meter("duetime")
        self._scheduled = meter.create_counter("duetime.action.scheduled")
        self._finished = {
            State.succeeded: meter.create_counter("duetime.action.executed"),
            State.cancelled: meter.create_counter("duetime.action.cancelled"),
            State.failed: meter.create_counter("duetime.action.failed"),
        }
        self._rescheduled = meter.create_counter("duetime.action.rescheduled")
        self._redispatched = meter.create_counter("duetime.catchup.redispatched")
        self._applied = meter.create_counter("duetime.transition.applied")
        self._unapplied = meter.create_counter("duetime.transition.failed")
        self._sweep = meter.create_histogram("duetime.sweep.duration", unit="s")
        self._lateness = meter.create_histogram("duetime.action.lateness", unit="s")
        self._duration = meter.create_histogram("duetime.action.duration", unit="s")

    def scheduled(self, kind: str, tenant: str | None, count: int) -> None:
        self._scheduled.add(count, _tags(kind, tenant))

    def finished(self, kind: str, tenant: str | None, state: State) -> None:
        self._finished[state].add(1, _tags(kind, tenant))

    def rescheduled(self, kind: str, tenant: str | None) -> None:
        self._rescheduled.add(1, _tags(kind, tenant))

    def redispatched(self, kind: str, tenant: str | None) -> None:
        self._redispatched.add(1, _tags(kind, tenant))

    def transitioned(self, transition: str, *, applied: int, failed: int) -> None:
        tags = {"duetime.transition": transition}
        if applied:
            self._applied.add(applied, tags)
        if failed:
            self._unapplied.add(failed, tags)

    def swept(self, took: float) -> None:
        self._sweep.record(max(took, 0.0))

    def ran(self, kind: str, tenant: str | None, *, late: float, took: float) -> None:
        tags = _tags(kind, tenant)
        # Like max(late, 0.0), in a third of the time.
        self._lateness.record(late if late > 0.0 else 0.0, tags)
        self._duration.record(took if took > 0.0 else 0.0, tags)


@lru_cache(maxsize=4096)
def _tags(kind: str, tenant: str | None) -> dict[str, str]:
    return {"duetime.kind": kind, "duetime.tenant": "global" if tenant is None else tenant}
