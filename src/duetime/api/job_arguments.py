"""What callers say of a job: checked, and turned into its definition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from duetime.api.arguments import NAME, to_priority
from duetime.errors import InvalidArgument, InvalidRecurrence, did_you_mean
from duetime.model.actions.retry import Retry
from duetime.model.jobs.job import Definition, Overlap
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.name import check_job_name
from duetime.model.lane import Priority
from duetime.model.payloads.registry import PayloadType
from duetime.model.recurrence.base import BEGINNING, Recurrence
from duetime.model.recurrence.parse import recurrence as rule_given
from duetime.model.recurrence.serialize import to_text
from duetime.model.validation import check_count, check_optional, instant, micros

# What a recurrence may be given as: a cron string, a rule, or a list of rules and instants.
RecurrenceArgument = str | Recurrence | list[Any] | tuple[Any, ...]
MOST_JITTER = 86_400_000_000
ALERT_AFTER = 3
MOST_FAILURES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobArguments:
    """What `app.job` and `app.jobs.put` have in common."""

    name: str
    recurrence: RecurrenceArgument
    tz: str | None = None
    misfire: str | Misfire = "once"
    overlap: Overlap | str = Overlap.skip
    jitter: float | timedelta = 0
    alert_after: int = ALERT_AFTER
    priority: Priority | str = Priority.normal
    tenant: str | None = None


def to_definition(
    given: JobArguments, entry: PayloadType, payload: str, queue: str, retry: Retry | None
) -> Definition:
    name = check_job_name(given.name)
    rule = rule_given(given.recurrence, given.tz)
    if rule.next(BEGINNING) is None:
        raise InvalidRecurrence("recurrence", given.recurrence, "it would never fire")
    return Definition(
        name=name,
        kind=entry.kind,
        payload_version=entry.version,
        payload=payload,
        recurrence=to_text(rule),
        tz=rule.tz,
        queue=queue,
        priority=to_priority(given.priority).rank,
        misfire=Misfire.of(given.misfire).to_text(),
        overlap=to_overlap(given.overlap),
        jitter=_jitter(given.jitter),
        alert_after=check_count("alert_after", given.alert_after, MOST_FAILURES),
        retry=None if retry is None else repr(retry),
        tenant=check_optional("tenant", given.tenant, NAME),
    )


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
    if length > MOST_JITTER:
        raise InvalidArgument("jitter", jitter, "give at most a day")
    return length
