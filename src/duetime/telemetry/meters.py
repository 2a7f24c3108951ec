"""Counters and histograms. Without an OpenTelemetry SDK they cost next to nothing."""

from __future__ import annotations

from opentelemetry import metrics

from duetime.model.tenant import ANY, Scope


class Meters:
    """One method for each thing that is counted."""

    def __init__(self) -> None:
        meter = metrics.get_meter("duetime")
        self._scheduled = meter.create_counter("duetime.action.scheduled")
        self._executed = meter.create_counter("duetime.action.executed")
        self._cancelled = meter.create_counter("duetime.action.cancelled")
        self._failed = meter.create_counter("duetime.action.failed")
        self._rescheduled = meter.create_counter("duetime.action.rescheduled")
        self._redispatched = meter.create_counter("duetime.catchup.redispatched")
        self._lateness = meter.create_histogram("duetime.action.lateness", unit="s")
        self._duration = meter.create_histogram("duetime.action.duration", unit="s")

    def scheduled(self, kind: str, tenant: str | None) -> None:
        self._scheduled.add(1, _tags(kind, tenant))

    def executed(self, kind: str, tenant: str | None) -> None:
        self._executed.add(1, _tags(kind, tenant))

    def cancelled(self, kind: str, tenant: str | None) -> None:
        self._cancelled.add(1, _tags(kind, tenant))

    def failed(self, kind: str, tenant: str | None) -> None:
        self._failed.add(1, _tags(kind, tenant))

    def rescheduled(self, kind: str, tenant: str | None) -> None:
        self._rescheduled.add(1, _tags(kind, tenant))

    def redispatched(self, kind: str, tenant: str | None) -> None:
        self._redispatched.add(1, _tags(kind, tenant))

    def ran(self, kind: str, tenant: str | None, *, late: float, took: float) -> None:
        tags = _tags(kind, tenant)
        self._lateness.record(max(late, 0.0), tags)
        self._duration.record(max(took, 0.0), tags)


def _tags(kind: str, tenant: Scope) -> dict[str, str]:
    return {
        "duetime.kind": kind,
        "duetime.tenant": "global" if tenant is None or tenant is ANY else tenant,
    }
