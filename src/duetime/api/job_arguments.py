"""Checks the arguments that describe a job and converts them into its definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, get_args

from duetime.api.arguments import (
    MAX_NAME_LENGTH,
    MisfireArgument,
    OverlapArgument,
    PriorityArgument,
    to_priority,
)
from duetime.errors import InvalidArgument, InvalidRecurrence, did_you_mean
from duetime.model.actions.retry import Retry
from duetime.model.clock import micros_of, to_micros
from duetime.model.jobs.bulk import BulkVerb
from duetime.model.jobs.job import JobDefinition, Overlap, rule_of_definition
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.name import MAX_JOB_NAME_LENGTH, check_job_name
from duetime.model.lane import Priority
from duetime.model.payloads.registry import PayloadType
from duetime.model.recurrence.base import BEGINNING, Recurrence
from duetime.model.recurrence.parse import to_recurrence as rule_given
from duetime.model.recurrence.serialize import to_text
from duetime.model.validation import (
    check_count,
    check_name,
    check_optional,
    instant,
    micros,
    positive_seconds,
)
from duetime.words.phrase import phrase

# A cron string, a rule, or a list of rules and instants.
RecurrenceArgument = str | Recurrence | list[Any] | tuple[Any, ...]
MAX_JITTER_MICROS = 86_400_000_000
DEFAULT_ALERT_AFTER = 3
MAX_ALERT_AFTER = 1_000_000
MAX_BULK_NAMES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobArguments:
    """The arguments that `app.job` and `app.jobs.put` share."""

    name: str
    recurrence: RecurrenceArgument
    tz: str | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    misfire: MisfireArgument = "once"
    misfire_after: float | timedelta | None = None
    overlap: OverlapArgument = Overlap.skip
    jitter: float | timedelta = 0
    alert_after: int = DEFAULT_ALERT_AFTER
    priority: PriorityArgument = Priority.normal
    retry: Retry | None = None
    timeout: float | timedelta | None = None
    tenant: str | None = None


def to_definition(
    arguments: JobArguments, entry: PayloadType, payload: str, queue: str
) -> JobDefinition:
    name = check_job_name(arguments.name)
    rule = rule_given(arguments.recurrence, arguments.tz)
    if rule.next(BEGINNING) is None:
        remedy = phrase("it would never fire")
        raise InvalidRecurrence("recurrence", arguments.recurrence, remedy)
    starts_at, ends_at = _to_span(arguments.starts_at, arguments.ends_at)
    late, retry, timeout = arguments.misfire_after, arguments.retry, arguments.timeout
    definition = JobDefinition(
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
        misfire_after=None if late is None else micros("misfire_after", late),
        starts_at=starts_at,
        ends_at=ends_at,
        timeout=None if timeout is None else micros_of(positive_seconds("timeout", timeout)),
    )
    _refuse_empty_span(definition, arguments)
    return definition


def _refuse_empty_span(definition: JobDefinition, arguments: JobArguments) -> None:
    if rule_of_definition(definition).next(BEGINNING) is not None:
        return
    if arguments.ends_at is None:
        remedy = phrase("the rule has no tick from then on; give an earlier instant")
        raise InvalidArgument("starts_at", arguments.starts_at, remedy)
    remedy = phrase("the rule has no tick that early; give a later instant")
    if arguments.starts_at is not None:
        none = "the rule has no tick between it and starts_at={starts_at}"
        remedy = phrase(none, starts_at=arguments.starts_at.isoformat())
    raise InvalidArgument("ends_at", arguments.ends_at, remedy)


def to_stored_retry(retry: Retry | None) -> Retry | None:
    """Return a policy that a store can keep whole: one that names no exceptions."""
    if retry is None:
        return None
    if not isinstance(retry, Retry):
        remedy = "write Retry(attempts=3), Retry(delays=[10, 60]) or Retry.none()"
        raise InvalidArgument("retry", retry, remedy)
    if retry.on is not None or retry.never:
        remedy = "a store cannot keep exceptions: give on= and never= to the handler of the kind"
        raise InvalidArgument("retry", retry, remedy)
    return retry


def to_job_name(name: str) -> str:
    """Return a name by which a job may be looked for. One that no job can have, such as `Report`,
    is allowed: JobNotFound names the job that was meant."""
    return check_name("name", name, MAX_JOB_NAME_LENGTH)


def to_job_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a bulk, each once, in the order given."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidArgument("names", names, "give a list of names of jobs")
    if not 0 < len(names) <= MAX_BULK_NAMES:
        given = f"it has {len(names)} names" if names else "it is empty"
        raise InvalidArgument("names", names, f"{given}; give 1 to {MAX_BULK_NAMES:,}")
    checked = (check_name("names", name, MAX_JOB_NAME_LENGTH) for name in names)
    return tuple(dict.fromkeys(checked))


def to_bulk_verb(verb: BulkVerb, until: datetime | None) -> BulkVerb:
    if verb not in get_args(BulkVerb):
        hint = did_you_mean(str(verb), get_args(BulkVerb))
        raise InvalidArgument("verb", verb, f'give "pause" or "resume"{hint}')
    if verb == "resume" and until is not None:
        remedy = phrase("a resumed job has no end of a pause: leave it out")
        raise InvalidArgument("until", until, remedy)
    return verb


def to_overlap(overlap: OverlapArgument) -> Overlap:
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
        remedy = phrase("give an instant after start={start}", start=start.isoformat())
        raise InvalidArgument("end", end, remedy)
    return first, last


def _to_span(starts_at: datetime | None, ends_at: datetime | None) -> tuple[int | None, int | None]:
    start = None if starts_at is None else to_micros(instant("starts_at", starts_at))
    end = None if ends_at is None else to_micros(instant("ends_at", ends_at))
    if starts_at is not None and start is not None and end is not None and end <= start:
        later = "give an instant after starts_at={starts_at}"
        remedy = phrase(later, starts_at=starts_at.isoformat())
        raise InvalidArgument("ends_at", ends_at, remedy)
    return start, end


def _jitter(jitter: float | timedelta) -> int:
    length = micros("jitter", jitter)
    if length > MAX_JITTER_MICROS:
        raise InvalidArgument("jitter", jitter, phrase("give at most a day"))
    return length
