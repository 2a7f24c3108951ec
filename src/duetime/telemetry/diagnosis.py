"""What OpenTelemetry does with the metrics and spans of this process, in words for `doctor`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from duetime.telemetry.sdk import is_real

NO_SDK = (
    "no OpenTelemetry SDK is installed, so that metrics and spans go nowhere and cost nothing: "
    "pip install 'duetime[prometheus]'"
)


def describe_telemetry() -> str:
    """Return whether there is an SDK, and what it exports; that of the app that was loaded."""
    from opentelemetry import metrics, trace

    try:
        installed = version("opentelemetry-sdk")
    except PackageNotFoundError:
        return NO_SDK
    measured, traced = metrics.get_meter_provider(), trace.get_tracer_provider()
    if not is_real(measured) and not is_real(traced):
        return f"OpenTelemetry SDK {installed}, which the app does not set up: nothing is exported"
    exported = [
        _exported("metrics", measured, _readers(measured)),
        _exported("spans", traced, _exporters(traced)),
    ]
    return f"OpenTelemetry SDK {installed}; {'; '.join(exported)}"


def _exported(what: str, provider: object, exporters: Iterable[str]) -> str:
    if not is_real(provider):
        return f"no {what}: the app sets up no provider of them"
    names = sorted(exporters)
    return f"{what} by {', '.join(names)}" if names else f"{what} without an exporter"


def _readers(provider: object) -> Iterable[str]:
    """Return the readers of a provider, each with what it exports to. The SDK offers no other way
    to ask."""
    for reader in getattr(provider, "_all_metric_readers", ()):
        exporter = getattr(reader, "_exporter", None)
        yield type(reader if exporter is None else exporter).__name__


def _exporters(provider: object) -> Iterable[str]:
    active = getattr(provider, "_active_span_processor", None)
    for processor in getattr(active, "_span_processors", ()):
        exporter = getattr(processor, "span_exporter", None)
        yield type(processor if exporter is None else exporter).__name__
