"""Counters and histograms. Without an OpenTelemetry SDK their cost is negligible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from duetime.model.actions.action import Record
from duetime.model.actions.claim import Claim, Expired
from duetime.model.jobs.change import NewOccurrence
from duetime.model.state import Outcome, State
from duetime.telemetry import instruments, sdk
from duetime.telemetry.gauges import observe_gauges
from duetime.telemetry.instruments import BOUNDS_SECONDS, MetricSpec
from duetime.telemetry.labels import ActionAttributes

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram


class Meters:
    """The metrics of duetime, with one method per recorded event. Callers may ask `measuring`
    first, and spare themselves what they would only count."""

    def __init__(self, *, tenants: bool = True) -> None:
        # Imported here to keep `import duetime` fast.
        from opentelemetry import metrics

        self._meter = metrics.get_meter("duetime")
        self._attributes = ActionAttributes(tenants=tenants)
        self._scheduled = self._counter(instruments.SCHEDULED)
        self._finished = {
            State.succeeded: self._counter(instruments.EXECUTED),
            State.cancelled: self._counter(instruments.CANCELLED),
            State.failed: self._counter(instruments.FAILED),
        }
        self._rescheduled = self._counter(instruments.RESCHEDULED)
        self._retried = self._counter(instruments.RETRIED)
        self._lost = self._counter(instruments.LOST)
        self._redispatched = self._counter(instruments.REDISPATCHED)
        self._applied = self._counter(instruments.APPLIED)
        self._unapplied = self._counter(instruments.UNAPPLIED)
        self._notified = self._counter(instruments.NOTIFIED)
        self._unnotified = self._counter(instruments.UNNOTIFIED)
        self._sweep = self._histogram(instruments.SWEEP)
        self._lateness = self._histogram(instruments.LATENESS)
        self._duration = self._histogram(instruments.DURATION)
        observe_gauges(self._meter)

    def _counter(self, spec: MetricSpec) -> Counter:
        return self._meter.create_counter(spec.name, spec.unit, spec.description)

    def _histogram(self, spec: MetricSpec) -> Histogram:
        return self._meter.create_histogram(
            spec.name,
            spec.unit,
            spec.description,
            explicit_bucket_boundaries_advisory=BOUNDS_SECONDS,
        )

    @property
    def measuring(self) -> bool:
        """Whether anything reads the metrics."""
        return sdk.measures()

    def scheduled(
        self, kind: str, tenant: str | None, queue: str, count: int, *, job: str | None = None
    ) -> None:
        self._scheduled.add(count, self._attributes.of_queue(kind, tenant, queue, job))

    def occurred(self, occurrences: Iterable[NewOccurrence]) -> None:
        """Count the occurrences of a job that were scheduled, not those that were skipped."""
        for new in occurrences:
            if new.skipped is None:
                action = new.action
                self.scheduled(action.kind, action.tenant, action.queue, 1, job=new.job)

    def record_finished(self, record: Record, state: State) -> None:
        self._finished[state].add(1, self._of_record(record))

    def rescheduled(self, record: Record) -> None:
        self._rescheduled.add(1, self._of_record(record))

    def retried(self, record: Record) -> None:
        """Count a failed action that somebody retries."""
        self._retried.add(1, self._of_record(record))

    def redispatched(self, claim: Claim) -> None:
        self._redispatched.add(1, self._of_claim(claim))

    def lost(self, expired: Expired) -> None:
        attributes = self._attributes.of_queue(
            expired.kind, expired.tenant, expired.queue, expired.job
        )
        self._lost.add(1, attributes)

    def transitioned(self, transition: str, *, applied: int, failed: int) -> None:
        tags = {"duetime.transition": transition}
        if applied:
            self._applied.add(applied, tags)
        if failed:
            self._unapplied.add(failed, tags)

    def notified(self, topic: str, channel: str, tenant: str | None, *, sent: bool) -> None:
        """Count a notification that was sent, or given up."""
        tags = {"duetime.topic": topic, "duetime.channel": channel}
        tags |= self._attributes.of_tenant(tenant)
        (self._notified if sent else self._unnotified).add(1, tags)

    def swept(self, took: float) -> None:
        """Record a pass over the rows of transitions."""
        self._sweep.record(max(took, 0.0))

    def ran(self, claim: Claim, outcome: Outcome, *, late: float, took: float) -> None:
        attributes = self._attributes.of_lane(
            claim.kind, claim.tenant, claim.lane, claim.job, outcome._value_
        )
        # Like max(late, 0.0), in a third of the time.
        self._lateness.record(late if late > 0.0 else 0.0, attributes)
        self._duration.record(took if took > 0.0 else 0.0, attributes)

    def ended(self, claim: Claim, outcome: Outcome, state: State | None) -> None:
        """Count how a run left its action: finished in this state, or to be tried again."""
        if state is not None:
            self._finished[state].add(1, self._of_claim(claim))
        elif outcome is Outcome.retried:
            self._retried.add(1, self._of_claim(claim))

    def _of_record(self, record: Record) -> dict[str, str]:
        return self._attributes.of_queue(record.kind, record.tenant, record.queue, record.job)

    def _of_claim(self, claim: Claim) -> dict[str, str]:
        return self._attributes.of_lane(claim.kind, claim.tenant, claim.lane, claim.job)
