"""Jobs as stored JSON texts, including texts that newer versions wrote."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from duetime.model.jobs.job import JobDefinition, JobRecord, stored_key

_RECORD = TypeAdapter(JobRecord)
RECORD_KEYS = {stored_key(field.name) for field in fields(JobRecord)}
DEFINITION_KEYS = {stored_key(field.name) for field in fields(JobDefinition)}


def to_text(job: JobRecord) -> str:
    """Return the text that a store keeps beside the columns by which it finds jobs."""
    text = _RECORD.dump_json(job, exclude={"read_from"}, by_alias=True).decode()
    return text if job.read_from is None else _with_unknown(text, job.read_from)


def of_text(text: str) -> JobRecord:
    """Return the stored job. Unknown keys are kept for `to_text`; raises ValidationError if a
    known value is missing or wrong."""
    try:
        return _RECORD.validate_json(text)
    except ValidationError as error:
        if {detail["type"] for detail in error.errors()} != {"unexpected_keyword_argument"}:
            raise
    known, _ = _split(json.loads(text))
    return replace(_RECORD.validate_python(known), read_from=text)


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
