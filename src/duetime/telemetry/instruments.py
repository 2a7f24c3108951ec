"""Every metric of duetime: its name, unit and meaning. The page on telemetry has the same list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# The bounds of the buckets of a figure in seconds: 0.5 ms to an hour.
BOUNDS_SECONDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0),
)


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric, by the kind of its instrument."""

    name: str
    form: Literal["counter", "histogram", "gauge"]
    unit: str
    description: str


SCHEDULED = MetricSpec(
    "duetime.action.scheduled", "counter", "{action}", "Actions that were scheduled."
)
EXECUTED = MetricSpec("duetime.action.executed", "counter", "{action}", "Actions that succeeded.")
CANCELLED = MetricSpec(
    "duetime.action.cancelled", "counter", "{action}", "Actions that were cancelled."
)
FAILED = MetricSpec("duetime.action.failed", "counter", "{action}", "Actions that failed for good.")
RESCHEDULED = MetricSpec(
    "duetime.action.rescheduled", "counter", "{action}", "Actions that were moved to another time."
)
RETRIED = MetricSpec(
    "duetime.action.retried", "counter", "{action}", "Actions that failed and are tried again."
)
LOST = MetricSpec("duetime.action.lost", "counter", "{run}", "Runs whose worker vanished.")
REDISPATCHED = MetricSpec(
    "duetime.catchup.redispatched", "counter", "{action}", "Overdue actions whose wake was lost."
)
APPLIED = MetricSpec("duetime.transition.applied", "counter", "{row}", "Transitions of rows.")
UNAPPLIED = MetricSpec(
    "duetime.transition.failed", "counter", "{row}", "Transitions of rows that failed."
)
NOTIFIED = MetricSpec(
    "duetime.notification.sent", "counter", "{notification}", "Notifications that were sent."
)
UNNOTIFIED = MetricSpec(
    "duetime.notification.failed", "counter", "{notification}", "Notifications given up."
)
LATENESS = MetricSpec(
    "duetime.action.lateness", "histogram", "s", "How long after its due time a run started."
)
DURATION = MetricSpec("duetime.action.duration", "histogram", "s", "How long a run took.")
SWEEP = MetricSpec("duetime.sweep.duration", "histogram", "s", "How long a pass over rows took.")
BACKLOG = MetricSpec("duetime.backlog", "gauge", "{action}", "Unfinished actions.")
OLDEST_OVERDUE = MetricSpec(
    "duetime.oldest_overdue", "gauge", "s", "For how long the oldest overdue action has waited."
)
WORKERS = MetricSpec("duetime.workers", "gauge", "{worker}", "Living workers of the store.")
SLOTS_USED = MetricSpec(
    "duetime.slots.used", "gauge", "{slot}", "Slots of this process in which actions run."
)
ALL = (
    *(SCHEDULED, EXECUTED, CANCELLED, FAILED, RESCHEDULED, RETRIED, LOST, REDISPATCHED),
    *(APPLIED, UNAPPLIED, NOTIFIED, UNNOTIFIED, LATENESS, DURATION, SWEEP),
    *(BACKLOG, OLDEST_OVERDUE, WORKERS, SLOTS_USED),
)
