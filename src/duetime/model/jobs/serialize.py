"""Jobs as stored JSON texts, including texts that newer versions wrote."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from duetime.model.actions.outcome import truncate_error
from duetime.model.clock import MAX_SHOWN_INSTANT, maybe_from_micros
from duetime.model.jobs.job import JobDefinition, JobRecord, Overlap, stored_key
from duetime.model.lane import PRIORITY_OF_RANK, Priority

_RECORD = TypeAdapter(JobRecord)
RECORD_KEYS = {stored_key(field.name) for field in fields(JobRecord)}
# Fields that hold an instant.
INSTANTS = (
    *("created_at", "modified_at", "next_due_at", "last_tick", "last_started_at"),
    *("last_finished_at", "failing_since", "paused_at", "paused_until", "retired_at", "removed_at"),
)
# Fields that versions before them do not know, and would have to carry along unread.
LATER_FIELDS = ("misfire_after", "starts_at", "ends_at", "timeout")
DEFINITION_KEYS = {stored_key(field.name) for field in fields(JobDefinition)}


def to_text(job: JobRecord) -> str:
    """Return the text that a store keeps beside the columns by which it finds jobs."""
    unset = {name for name in LATER_FIELDS if getattr(job.definition, name) is None}
    hidden: dict[str, Any] = {"read_from": True, "definition": unset}
    text = _RECORD.dump_json(job, exclude=hidden, by_alias=True).decode()
    return text if job.read_from is None else _with_unknown(text, job.read_from)


def of_text(text: str) -> JobRecord:
    """Return the stored job. Unknown keys are kept for `to_text`; raises ValueError if a known
    value is missing or wrong."""
    try:
        job = _RECORD.validate_json(text)
    except ValidationError as error:
        if {detail["type"] for detail in error.errors()} != {"unexpected_keyword_argument"}:
            raise
        known, _ = _split(json.loads(text))
        job = replace(_RECORD.validate_python(known), read_from=text)
    _check_range(job)
    return job


def _check_range(job: JobRecord) -> None:
    """Raise ValueError for a number that no version writes, and that cannot be shown or stored."""
    definition = job.definition
    instants = {name: getattr(job, name) for name in INSTANTS}
    instants |= {"starts_at": definition.starts_at, "ends_at": definition.ends_at}
    for name, micros in instants.items():
        try:
            maybe_from_micros(micros)
        except OverflowError:
            raise ValueError(f"{name} holds {micros}, outside years 1 to 9999") from None
    if definition.priority not in PRIORITY_OF_RANK:
        raise ValueError(f"priority holds {definition.priority}; it must be 0 to 3")
    for name in ("jitter", "misfire_after", "timeout"):
        length = getattr(definition, name)
        if length is not None and not 0 <= length <= MAX_SHOWN_INSTANT:
            raise ValueError(f"{name} holds {length}, which is no duration")


def unreadable_job(name: str, error: Exception) -> JobRecord:
    """Return what a list shows in place of a job that cannot be read."""
    definition = JobDefinition(
        name=name,
        kind=name,
        payload_version=1,
        payload="null",
        recurrence="unreadable",
        tz="UTC",
        queue="default",
        priority=Priority.normal.rank,
        misfire="once",
        overlap=Overlap.skip,
        jitter=0,
        alert_after=0,
        retry=None,
        tenant=None,
    )
    return JobRecord(
        definition=definition,
        app="",
        declared=False,
        version=0,
        created_at=0,
        created_by="",
        last_error=truncate_error(f"unreadable: {error}"),
    )


def _with_unknown(text: str, read_from: str) -> str:
    """Return the text with the unknown keys of the text that the job was read from."""
    known, (_, unknown) = json.loads(text), _split(json.loads(read_from))
    definition = known["definition"] | unknown.pop("definition")
    return json.dumps(known | unknown | {"definition": definition})


def _split(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keys that this version knows, and those that it does not know."""
    definition = data["definition"]
    known = {key: data[key] for key in data.keys() & RECORD_KEYS}
    known["definition"] = {key: definition[key] for key in definition.keys() & DEFINITION_KEYS}
    unknown = {key: data[key] for key in data.keys() - RECORD_KEYS}
    unknown["definition"] = {key: definition[key] for key in definition.keys() - DEFINITION_KEYS}
    return known, unknown
