"""Spans that start and end whatever the SDK does: what is traced goes on without its span if, for
example, a processor raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import trace

from duetime.logs import get_log
from duetime.model.clock import monotonic

if TYPE_CHECKING:
    from opentelemetry.trace import Span

log = get_log("duetime.telemetry")

LOG_PAUSE_SECONDS = 60.0


def start_span(name: str, **given: Any) -> Span:
    """Start a span; return one that records nothing if the SDK fails."""
    try:
        return trace.get_tracer("duetime").start_span(name, **given)
    except Exception as error:  # noqa: BLE001 - whatever a processor or a sampler raises
        _failures.log(error)
        return trace.INVALID_SPAN


def end_span(span: Span, at: int | None = None) -> None:
    """End a span, now or `at` an instant."""
    try:
        span.end(at)
    except Exception as error:  # noqa: BLE001 - whatever a processor raises
        _failures.log(error)


class SdkFailures:
    """Logs the failures of an SDK, which come with every span, once in a while."""

    def __init__(self) -> None:
        self._next_line = 0.0

    def log(self, error: Exception) -> None:
        now = monotonic()
        if now >= self._next_line:
            self._next_line = now + LOG_PAUSE_SECONDS
            text = "a span was not recorded: the OpenTelemetry SDK failed, logged once a minute"
            log.error(text, exc_info=error)


_failures = SdkFailures()
