"""Whether an OpenTelemetry SDK is there, asked so seldom that nothing can tell."""

from __future__ import annotations

from collections.abc import Callable

from duetime.model.clock import monotonic

# The API takes microseconds to answer, so it is asked at most once in this time.
PAUSE_SECONDS = 0.005


class SdkWatch:
    """Tells whether a provider is a real one: that of an SDK, not what the API has in its place. An
    SDK may be set up after the app was created; once there, it stays."""

    def __init__(self, provider: Callable[[], object]) -> None:
        self._provider = provider
        self._there = False
        self._next_look = 0.0

    def __call__(self) -> bool:
        if self._there:
            return True
        now = monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + PAUSE_SECONDS
        self._there = is_real(self._provider())
        return self._there


def is_real(provider: object) -> bool:
    """Return whether a provider is not one of the API's own, which do nothing."""
    return not type(provider).__module__.startswith(
        ("opentelemetry.metrics", "opentelemetry.trace")
    )


def _meter_provider() -> object:
    # Imported here to keep `import duetime` fast.
    from opentelemetry import metrics

    return metrics.get_meter_provider()


def _tracer_provider() -> object:
    from opentelemetry import trace

    return trace.get_tracer_provider()


measures = SdkWatch(_meter_provider)
traces = SdkWatch(_tracer_provider)
