"""The span of a run. It ends when the store has accepted the outcome, or refused it: what became of
a run is not known before, and a run whose worker dies leaves no span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanKind, Status, StatusCode

from duetime.model.actions.claim import Claim
from duetime.model.clock import unix_nanos
from duetime.model.lane import parse_lane
from duetime.model.state import Outcome
from duetime.model.trace import parent_trace, scheduling_trace, set_trace
from duetime.telemetry.safe_spans import end_span, start_span
from duetime.telemetry.spans import (
    MAX_ERROR_LENGTH,
    SYSTEM,
    links_to,
    record_error,
    remote_context,
    stored_trace,
)
from duetime.telemetry.tracing import Tracing

if TYPE_CHECKING:
    from opentelemetry.context import Context

# Outcomes that are no error: what the handler or an operator asked for.
FINE = frozenset(
    {Outcome.succeeded, Outcome.snoozed, Outcome.cancelled, Outcome.skipped, Outcome.released}
)


class RunSpan:
    """One `duetime.execute`: a trace of its own, linked to the scheduling span; or, where the
    app continues traces, its child."""

    __slots__ = ("_error", "_handled_at", "_span", "trace")

    def __init__(self, tracing: Tracing, claim: Claim) -> None:
        """Start it, and make it current for the rest of this context. Each run has a new one."""
        self._span = start_span(
            "duetime.execute",
            context=_parent(tracing, claim),
            kind=SpanKind.CONSUMER,
            attributes=_attributes(tracing, claim),
            links=links_to(_linked(tracing, claim)),
        )
        self._handled_at: int | None = None
        self._error: BaseException | None = None
        otel_context.attach(trace.set_span_in_context(self._span))
        # As it is stored with what follows from the run; None if the SDK gives it no context.
        self.trace = stored_trace(self._span.get_span_context())
        set_trace(self.trace)

    def handled(self, error: BaseException | None) -> None:
        """The handler has returned, or raised this error."""
        self._handled_at = unix_nanos()
        self._error = error

    def accepted(self, outcome: Outcome, error: str | None) -> None:
        """The store has the outcome."""
        if self._span.is_recording():
            self._span.set_attribute("duetime.outcome", outcome.value)
            if outcome not in FINE:
                self._record_error()
                text = (error or outcome.value)[:MAX_ERROR_LENGTH]
                self._span.set_status(Status(StatusCode.ERROR, text))
        end_span(self._span, self._handled_at)

    def refused(self) -> None:
        """The lease was lost: what this run did does not count."""
        if self._span.is_recording():
            self._record_error()
            self._span.set_attribute("duetime.outcome", Outcome.lost.value)
            self._span.set_status(Status(StatusCode.ERROR, "the lease was lost"))
        end_span(self._span, self._handled_at)

    def _record_error(self) -> None:
        if self._error is not None:
            record_error(self._span, self._error, self._handled_at)


def _parent(tracing: Tracing, claim: Claim) -> Context:
    """Return the context whose child the span is: never that of the worker itself."""
    found = remote_context(scheduling_trace(claim.trace)) if tracing.continues else None
    empty = otel_context.Context()
    if found is None:
        return empty
    return trace.set_span_in_context(NonRecordingSpan(found), empty)


def _linked(tracing: Tracing, claim: Claim) -> list[str | None]:
    """Return the traces to link: in which the action was scheduled, and the run of its parent."""
    scheduled = None if tracing.continues else scheduling_trace(claim.trace)
    return [scheduled, parent_trace(claim.trace)]


def _attributes(tracing: Tracing, claim: Claim) -> dict[str, Any]:
    queue = parse_lane(claim.lane).queue
    found = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": "execute",
        "messaging.operation.type": "process",
        "messaging.destination.name": queue,
        "messaging.message.id": str(claim.id),
        "messaging.message.conversation_id": claim.correlation_id,
        "duetime.kind": claim.kind,
        "duetime.queue": queue,
        "duetime.attempt": claim.attempt,
        "duetime.job": claim.job,
        "duetime.triggered_by": claim.triggered_by,
    }
    given = {name: value for name, value in found.items() if value is not None}
    return given | tracing.tenant(claim.tenant)
