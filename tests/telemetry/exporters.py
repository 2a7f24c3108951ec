"""The SDK, with exporters in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from duetime.telemetry import sdk


class Spans:
    """The spans that have ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def all(self, name: str) -> Sequence[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def only(self, name: str) -> ReadableSpan:
        [span] = self.all(name)
        return span


class Metrics:
    """The measurements of this process so far."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()

    def metrics(self) -> dict[str, Any]:
        data = self.reader.get_metrics_data()
        return {
            metric.name: metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            if scope.scope.name == "duetime"
            for metric in scope.metrics
        }

    def points(self, name: str, **attributes: str) -> list[Any]:
        """The points of a metric whose attributes, without `duetime.`, have these values."""
        metric = self.metrics().get(name)
        wanted = {f"duetime.{key}": value for key, value in attributes.items()}.items()
        found = [] if metric is None else metric.data.data_points
        return [point for point in found if wanted <= dict(point.attributes).items()]

    def count(self, name: str, **attributes: str) -> float:
        return sum((float(point.value) for point in self.points(name, **attributes)), 0.0)


def context_of(span: ReadableSpan) -> tuple[int, int]:
    found = span.get_span_context()
    assert found is not None
    return found.trace_id, found.span_id


def links_of(span: ReadableSpan) -> list[tuple[int, int]]:
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def attributes_of(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@contextmanager
def traced(spans: Spans) -> Iterator[None]:
    """Set up the SDK's tracer, and take it away again: other tests of this process go without."""
    patch = trace._TRACER_PROVIDER
    trace._TRACER_PROVIDER = spans.provider
    sdk.traces._next_look = 0.0
    try:
        yield
    finally:
        trace._TRACER_PROVIDER = patch
        sdk.traces._there = False


@cache
def measured() -> Metrics:
    """Add a reader to the meter of this process, for as long as it lives: proxies of the API forget
    no provider, so that it is the SDK's from now on."""
    found = Metrics()
    provider = metrics.get_meter_provider()
    if not isinstance(provider, MeterProvider):
        metrics.set_meter_provider(MeterProvider([found.reader], shutdown_on_exit=False))
    else:
        provider.add_metric_reader(found.reader)
    sdk.measures._next_look = 0.0
    return found
