"""A call of an operator, as intended."""

from __future__ import annotations

from dataclasses import dataclass

from job_simulation.job_specs import JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCall:
    """A verb of `app.jobs`; instants in microseconds."""

    verb: str
    name: str
    by: str
    until: int | None = None
    spec: JobSpec | None = None
    start: int = 0
    end: int = 0
