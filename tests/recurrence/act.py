"""What a person does to a job, as it was meant."""

from __future__ import annotations

from dataclasses import dataclass

from recurrence.timetable import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A verb of `app.jobs`; instants in microseconds."""

    verb: str
    name: str
    by: str
    until: int | None = None
    spec: Spec | None = None
    start: int = 0
    end: int = 0
