"""Checks the arguments that describe a job and converts them into its definition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from duetime.api.arguments import MAX_NAME_LENGTH, to_priority
from duetime.errors import InvalidArgument, InvalidRecurrence, did_you_mean
from duetime.model.actions.retry import Retry
from duetime.model.jobs.job import JobDefinition, Overlap
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.name import MAX_JOB_NAME_LENGTH, check_job_name
from duetime.model.lane import Priority
from duetime.model.payloads.registry import PayloadType
from duetime.model.recurrence.base import BEGINNING, Recurrence
from duetime.model.recurrence.parse import to_recurrence as rule_given
from duetime.model.recurrence.serialize import to_text
from duetime.model.validation import check_count, check_name, check_optional, instant, micros

# A cron string, a rule, or a list of rules and instants.
RecurrenceArgument = str | Recurrence | list[Any] | tuple[Any, ...]
MAX_JITTER_MICROS = 86_400_000_000
DEFAULT_ALERT_AFTER = 3
MAX_ALERT_AFTER = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobArguments:
    """The arguments that `app.job` and `app.jobs.put` share."""

    name: str
    recurrence: RecurrenceArgument
    tz: str | None = None
    misfire: str | Misfire = "once"
    overlap: Overlap | str = Overlap.skip
    jitter: float | timedelta = 0
    alert_after: int = DEFAULT_ALERT_AFTER
    priority: Priority | str = Priority.normal
    tenant: str | None = None


def to_definition(
    arguments: JobArguments, entry: PayloadType, payload: str, queue: str, retry: Retry | None
) -> JobDefinition:
    name = check_job_name(arguments.name)
    rule = rule_given(arguments.recurrence, arguments.tz)
    if rule.next(BEGINNING) is None:
        raise InvalidRecurrence("recurrence", arguments.recurrence, "it would never fire")
    return JobDefinition(
        name=name,
        kind=entry.kind,
        payload_version=entry.version,
        payload=payload,
        recurrence=to_text(rule),
        tz=rule.tz,
        queue=queue,
        priority=to_priority(arguments.priority).rank,
        misfire=Misfire.of(arguments.misfire).to_text(),
        overlap=to_overlap(arguments.overlap),
        jitter=_jitter(arguments.jitter),
        alert_after=check_count("alert_after", arguments.alert_after, MAX_ALERT_AFTER),
        retry=None if retry is None else repr(retry),
        tenant=check_optional("tenant", arguments.tenant, MAX_NAME_LENGTH),
    )


def to_job_name(name: str) -> str:
    """Return a name by which a job may be looked for. One that no job can have, such as `Report`,
    is allowed: JobNotFound names the job that was meant."""
    return check_name("name", name, MAX_JOB_NAME_LENGTH)


def to_overlap(overlap: Overlap | str) -> Overlap:
    try:
        return Overlap(overlap)
    except ValueError:
        hint = did_you_mean(str(overlap), list(Overlap))
        raise InvalidArgument(
            "overlap", overlap, f"give 'skip', 'queue' or 'allow'{hint}"
        ) from None


def to_range(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    first, last = instant("start", start), instant("end", end)
    if last <= first:
        raise InvalidArgument("end", end, f"give an instant after start={start.isoformat()}")
    return first, last


def _jitter(jitter: float | timedelta) -> int:
    length = micros("jitter", jitter)
    if length > MAX_JITTER_MICROS:
        raise InvalidArgument("jitter", jitter, "give at most a day")
    return length
