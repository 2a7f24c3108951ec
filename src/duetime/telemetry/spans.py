"""Spans through the OpenTelemetry API: of acts, of what workers do beside runs, and of requests. It
is imported where there is an SDK, or a request whose trace is to be kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Link, NonRecordingSpan, SpanKind, Status, StatusCode

from duetime.model.actions.action import Action
from duetime.model.clock import unix_nanos
from duetime.model.hidden_text import without_secrets
from duetime.model.trace import MAX_TRACESTATE_LENGTH, in_trace, parse_trace, to_trace
from duetime.telemetry.safe_spans import end_span, start_span
from duetime.telemetry.tracing import SENDING, Tracing

if TYPE_CHECKING:
    from opentelemetry.trace import Span, SpanContext

MAX_ERROR_LENGTH = 500
# Links of a span that is about many actions.
MAX_LINKS = 100
SYSTEM = "duetime"


class ActSpan:
    """The span of a verb. In a transaction of the caller it ends with the commit: if that is rolled
    back, nothing was done, and there is no span."""

    def __init__(self, tracing: Tracing, name: str) -> None:
        self._tracing = tracing
        kind = SpanKind.PRODUCER if name in SENDING else SpanKind.INTERNAL
        self._span = start_span(name, kind=kind, attributes=_operation(name))
        self._deferred_since: int | None = None

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make it the current span inside the `with`, and end it with the error that leaves it."""
        try:
            with _current(self._span):
                yield
        except BaseException as error:
            record_error(self._span, error)
            end_span(self._span)
            raise
        if self._deferred_since is None:
            end_span(self._span)

    def describe(self, result: object) -> None:
        """Add what the verb returned."""
        if self._span.is_recording():
            self._span.set_attributes(_attributes_of(self._tracing, result))

    def defer(self) -> None:
        """Leave it to `committed` to end the span."""
        self._deferred_since = unix_nanos()

    def committed(self) -> None:
        end_span(self._span, self._deferred_since)


def _operation(name: str) -> dict[str, str]:
    verb = name.removeprefix("duetime.")
    attributes = {"messaging.system": SYSTEM, "messaging.operation.name": verb}
    return attributes | {"messaging.operation.type": "send"} if name in SENDING else attributes


def _attributes_of(tracing: Tracing, result: object) -> dict[str, Any]:
    if isinstance(result, Action):
        return action_attributes(tracing, result)
    if isinstance(result, Sequence) and not isinstance(result, str | bytes):
        return {"messaging.batch.message_count": len(result)}
    if isinstance(result, int):
        return {"messaging.batch.message_count": result}
    return {}


def action_attributes(tracing: Tracing, action: Action) -> dict[str, Any]:
    """Return what a span says of an action: ids and names, never data."""
    found = {
        "duetime.kind": action.kind,
        "duetime.queue": action.queue,
        "duetime.job": action.job,
        "duetime.triggered_by": None if action.job is None else action.created_by,
        "messaging.destination.name": action.queue,
        "messaging.message.id": str(action.id),
        "messaging.message.conversation_id": action.correlation_id,
    }
    given = {name: value for name, value in found.items() if value is not None}
    return given | tracing.tenant(action.tenant)


@contextmanager
def internal_span(
    name: str, links: Iterable[str | None], attributes: Mapping[str, str | int]
) -> Iterator[None]:
    """A span around what a worker or a sweep does by itself, linked to these stored traces."""
    made = start_span(name, attributes=attributes, links=links_to(links), kind=SpanKind.INTERNAL)
    try:
        with _current(made):
            yield
    except BaseException as error:
        record_error(made, error)
        raise
    finally:
        end_span(made)


@contextmanager
def _current(made: Span) -> Iterator[None]:
    token = otel_context.attach(trace.set_span_in_context(made))
    try:
        with in_trace(stored_trace(made.get_span_context())):
            yield
    finally:
        otel_context.detach(token)


def record_error(made: Span, error: BaseException, at: int | None = None) -> None:
    """Record an error, now or `at` an instant: its class and text, without secrets. Its traceback
    stays here."""
    if not made.is_recording():
        return
    name, text = f"{type(error).__module__}.{type(error).__qualname__}", error_text(error)
    made.add_event("exception", {"exception.type": name, "exception.message": text}, at)
    made.set_attribute("error.type", name)
    made.set_status(Status(StatusCode.ERROR, text))


def error_text(error: BaseException) -> str:
    try:
        return without_secrets(str(error))[:MAX_ERROR_LENGTH]
    except Exception as broken:  # noqa: BLE001 - an exception may override how it is written
        return f"(its text cannot be had: {type(broken).__name__})"


# -- contexts ----------------------------------------------------------------------


def stored_trace(found: SpanContext) -> str | None:
    """Return what is stored of a context; None if it is of no trace."""
    if not found.is_valid:
        return None
    parent = f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags & 0xFF:02x}"
    state = found.trace_state.to_header() if found.trace_state else ""
    return to_trace(parent, state if len(state) <= MAX_TRACESTATE_LENGTH else None)


def remote_context(stored: str | None) -> SpanContext | None:
    """Return the context of a stored trace; None if the store holds none."""
    found = parse_trace(stored)
    if found is None:
        return None
    return trace.SpanContext(
        found.trace_id,
        found.span_id,
        is_remote=True,
        trace_flags=trace.TraceFlags(found.flags),
        trace_state=trace.TraceState.from_header([found.tracestate] if found.tracestate else []),
    )


def links_to(stored: Iterable[str | None]) -> list[Link]:
    contexts = map(remote_context, dict.fromkeys(stored))
    return [Link(found) for found in contexts if found is not None][:MAX_LINKS]


@contextmanager
def of_request(headers: Mapping[str, str]) -> Iterator[None]:
    """Act in the trace of a request. The span that an instrumentation made for it goes before what
    its headers say."""
    here = trace.get_current_span().get_span_context()
    if here.is_valid:
        with in_trace(stored_trace(here)):
            yield
        return
    stored = to_trace(headers.get("traceparent"), headers.get("tracestate"))
    found = remote_context(stored)
    if found is None:
        yield
        return
    with _current(NonRecordingSpan(found)):
        yield


def trace_headers() -> dict[str, str]:
    """Return the headers that tell a server in which trace a request is sent."""
    stored = stored_trace(trace.get_current_span().get_span_context())
    if stored is None:
        return {}
    parent, _, state = stored.partition(" ")
    return {"traceparent": parent} | ({"tracestate": state} if state else {})
