"""The run in whose context code is called, and what log records say of it."""

from __future__ import annotations

from contextvars import ContextVar

from duetime.model.actions.claim import Claim
from duetime.model.trace import current_trace

_current: ContextVar[Claim | None] = ContextVar("duetime_run", default=None)
# Makes a claim the current run for the rest of its context. Each run has a new one.
enter_run = _current.set


def run_fields(claim: Claim | None = None, trace: str | None = None) -> dict[str, object]:
    """Return the fields of log records of a run and its trace, or of the current ones; none outside
    of runs. With a trace, its ids are in hexadecimal."""
    claim = claim or _current.get()
    if claim is None:
        return {}
    fields: dict[str, object] = {
        "action_id": str(claim.id),
        "kind": claim.kind,
        "attempt": claim.attempt,
        "tenant": claim.tenant,
        "correlation_id": claim.correlation_id,
    }
    stored = trace or current_trace()
    if stored is not None:
        _, fields["trace_id"], fields["span_id"], *_ = stored.split("-", 3)
    return fields
