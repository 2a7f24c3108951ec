"""How an app traces. Without an SDK no span is made, and OpenTelemetry's API is not imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duetime.telemetry import sdk
from duetime.telemetry.labels import GLOBAL

if TYPE_CHECKING:
    from duetime.telemetry.spans import ActSpan

# The span of each verb, and the operation of a message system that it is.
SPAN_OF_VERB: Mapping[str, str] = {
    **dict.fromkeys(("schedule", "schedule_many", "repeat"), "duetime.schedule"),
    **dict.fromkeys(("cancel", "cancel_many"), "duetime.cancel"),
    "reschedule": "duetime.reschedule",
    **dict.fromkeys(("retry", "retry_many"), "duetime.retry"),
    **dict.fromkeys(("trigger", "backfill"), "duetime.trigger"),
}
SENDING = frozenset({"duetime.schedule", "duetime.trigger"})


@dataclass(frozen=True, slots=True)
class Tracing:
    """How an app traces: whether spans name tenants, and whether a run continues the trace in which
    it was scheduled, or is a trace of its own that links to it."""

    tenants: bool = True
    continues: bool = False

    def act(self, verb: str) -> ActSpan:
        """Start the span of a verb."""
        from duetime.telemetry.spans import ActSpan

        return ActSpan(self, SPAN_OF_VERB[verb])

    def tenant(self, tenant: str | None) -> dict[str, str]:
        return {"duetime.tenant": GLOBAL if tenant is None else tenant} if self.tenants else {}


def span(
    name: str,
    links: Iterable[str | None] = (),
    attributes: Mapping[str, str | int] | None = None,
) -> AbstractContextManager[None]:
    """A span around what a worker or a sweep does by itself, linked to these stored traces; nothing
    without an SDK."""
    if not sdk.traces():
        return nullcontext()
    from duetime.telemetry.spans import internal_span

    return internal_span(name, links, attributes or {})
