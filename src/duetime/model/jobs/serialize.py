"""A job as the text that a store keeps of it, and what other versions wrote there."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from duetime.model.jobs.job import Definition, JobRecord

_RECORD = TypeAdapter(JobRecord)
RECORDED = {one.name for one in fields(JobRecord)}
DEFINED = {one.name for one in fields(Definition)}


def to_text(job: JobRecord) -> str:
    """What a store keeps beside the columns by which it finds jobs."""
    text = _RECORD.dump_json(job, exclude={"read_from"}).decode()
    return text if job.read_from is None else _with_unknown(text, job.read_from)


def of_text(text: str) -> JobRecord:
    try:
        return _RECORD.validate_json(text)
    except ValidationError as error:
        if {one["type"] for one in error.errors()} != {"unexpected_keyword_argument"}:
            raise
    known, _ = _parted(json.loads(text))
    return replace(_RECORD.validate_python(known), read_from=text)


def _with_unknown(text: str, read_from: str) -> str:
    """Whatever a newer version added stays as it was."""
    new, (_, more) = json.loads(text), _parted(json.loads(read_from))
    definition = new["definition"] | more.pop("definition")
    return json.dumps(new | more | {"definition": definition})


def _parted(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What this version knows, and what it does not."""
    definition = data["definition"]
    known = {name: data[name] for name in data.keys() & RECORDED}
    known["definition"] = {name: definition[name] for name in definition.keys() & DEFINED}
    more = {name: data[name] for name in data.keys() - RECORDED}
    more["definition"] = {name: definition[name] for name in definition.keys() - DEFINED}
    return known, more
