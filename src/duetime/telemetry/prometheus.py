"""The metrics of this process as text for Prometheus, through the reader of OpenTelemetry's SDK."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from duetime.errors import ConfigError
from duetime.telemetry.sdk import is_real

if TYPE_CHECKING:
    from opentelemetry.exporter.prometheus import PrometheusMetricReader
    from prometheus_client import CollectorRegistry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_registry: CollectorRegistry | None = None
_making = threading.Lock()


def prometheus_registry() -> CollectorRegistry:
    """Return what collects the metrics of this process, counted from the first call on. It sets up
    the SDK, unless the application has done so: then it adds a reader to that one."""
    global _registry
    with _making:
        if _registry is None:
            _registry = _make_registry()
        return _registry


def require_exporter() -> type[PrometheusMetricReader]:
    """Return the reader for Prometheus. ConfigError if it is not installed."""
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
    except ImportError:
        raise ConfigError(
            "metrics for Prometheus need its exporter: pip install 'duetime[prometheus]'"
        ) from None
    return PrometheusMetricReader


def prometheus_text() -> bytes:
    """Return the metrics of this process."""
    registry = prometheus_registry()
    from prometheus_client import generate_latest

    return generate_latest(registry)


def _make_registry() -> CollectorRegistry:
    reader_class = require_exporter()
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from prometheus_client import CollectorRegistry

    registry, provider = CollectorRegistry(), metrics.get_meter_provider()
    reader = reader_class(registry=registry)
    if not is_real(provider):
        metrics.set_meter_provider(MeterProvider([reader]))
    elif isinstance(provider, MeterProvider):
        provider.add_metric_reader(reader)
    else:
        raise ConfigError(
            f"the meter provider of this process, {type(provider).__name__}, is not that of "
            "OpenTelemetry's SDK, and takes no reader: let it export the metrics by itself"
        )
    return registry
