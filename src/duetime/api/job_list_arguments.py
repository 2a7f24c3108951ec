"""The arguments by which `jobs.list` selects and orders jobs, and `jobs.runs` their occurrences."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from duetime.api.arguments import MAX_QUEUE_LENGTH, TenantArgument, to_id, to_scope
from duetime.errors import InvalidArgument, did_you_mean
from duetime.model.clock import to_micros
from duetime.model.jobs.job_filter import JobFilter, JobSort, JobSortField
from duetime.model.jobs.name import MAX_JOB_NAME_LENGTH
from duetime.model.jobs.view import JobState
from duetime.model.state import Outcome
from duetime.model.validation import check_name, check_optional, instant

JobStateArgument = JobState | Literal["scheduled", "running", "paused", "retired"]
OutcomeArgument = Outcome | Literal["succeeded", "failed", "cancelled", "skipped"]
JobSortArgument = Literal[
    "name", "-name", "next_due_at", "-next_due_at", "consecutive_failures", "-consecutive_failures"
]


def to_job_filter(
    *,
    state: JobStateArgument | None,
    enabled: bool | None,
    failing: bool | None,
    declared: bool | None,
    kind: str | None,
    queue: str | None,
    due_before: datetime | None,
    q: str | None,
    sort: JobSortArgument,
    removed: bool,
    limit: int,
    tenant: TenantArgument,
) -> JobFilter:
    """Return the filter of these arguments, each of which is checked."""
    return JobFilter(
        tenant=to_scope(tenant),
        state=None if state is None else _state(state),
        enabled=_flag("enabled", enabled),
        failing=_flag("failing", failing),
        declared=_flag("declared", declared),
        kind=check_optional("kind", kind, MAX_QUEUE_LENGTH),
        queue=check_optional("queue", queue, MAX_QUEUE_LENGTH),
        due_before=None if due_before is None else to_micros(instant("due_before", due_before)),
        search=None if q is None else check_name("q", q, MAX_JOB_NAME_LENGTH).lower(),
        sort=_sort(sort),
        removed=_flag("removed", removed) is True,
        limit=limit,
    )


def to_outcome(outcome: OutcomeArgument) -> Outcome:
    try:
        return Outcome(outcome)
    except ValueError:
        hint = did_you_mean(str(outcome), list(Outcome))
        raise InvalidArgument(
            "outcome", outcome, f"give one of {', '.join(Outcome)}{hint}"
        ) from None


def to_before(before: UUID | str | datetime | None) -> UUID | datetime | None:
    if before is None:
        return None
    if isinstance(before, datetime):
        return instant("before", before)
    return to_id(before, "before", "occurrence")


def _state(state: JobStateArgument) -> JobState:
    try:
        return JobState(state)
    except ValueError:
        hint = did_you_mean(str(state), list(JobState))
        raise InvalidArgument("state", state, f"give one of {', '.join(JobState)}{hint}") from None


def _sort(sort: Any) -> JobSort:
    known = get_args(JobSortArgument)
    if sort not in known:
        hint = did_you_mean(str(sort), known)
        raise InvalidArgument("sort", sort, f"give one of {', '.join(known)}{hint}")
    fields: dict[str, JobSortField] = {field: field for field in get_args(JobSortField)}
    return JobSort(fields[sort.removeprefix("-")], sort.startswith("-"))


def _flag(argument: str, value: bool | None) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise InvalidArgument(argument, value, "give True, False, or None for both")
    return value
