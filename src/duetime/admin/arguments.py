"""What requests may hold: the types of fields in bodies and queries."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

from fastapi import Header, Path
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
)

from duetime.api.arguments import MAX_NOTE_LENGTH
from duetime.model.validation import check_optional

INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]")


def _text_of_instant(value: object) -> object:
    """Refuse numbers, also those in a query, which pydantic would take for seconds since 1970."""
    is_text = isinstance(value, str) and INSTANT.match(value)
    if not is_text and not isinstance(value, datetime):
        raise ValueError("give an instant in ISO 8601 with an offset")
    return value


def _storable_note(note: str | None) -> str | None:
    return check_optional("note", note, MAX_NOTE_LENGTH)


Instant = Annotated[AwareDatetime, BeforeValidator(_text_of_instant)]
# In seconds.
Duration = Annotated[float, Field(strict=True, ge=0)]
Whole = Annotated[int, Field(strict=True)]
Switch = StrictBool
Note = Annotated[
    str | None,
    Field(max_length=MAX_NOTE_LENGTH, description="why; kept in the audit log"),
    AfterValidator(_storable_note),
]
Id = Annotated[str, Path(json_schema_extra={"format": "uuid"})]
QueueName = Annotated[str, Path(examples=["billing"])]
IfMatch = Annotated[
    str | None, Header(description="the job's ETag: refused if the job was changed since")
]
JobName = Annotated[str, Path(examples=["billing-nightly-close"])]
Tenant = Annotated[
    str | None,
    Field(description="whose rows; for administrators only. Empty: rows without a tenant"),
]


class RequestModel(BaseModel):
    """A part of a request; fields that it does not know are refused."""

    model_config = ConfigDict(extra="forbid")


class ScopeQuery(RequestModel):
    """The query of every route."""

    tenant: Tenant = None


class CountQuery(ScopeQuery):
    """The query of a route that counts: about how many, if not all."""

    most: int | None = None


class NoteQuery(ScopeQuery):
    """The query of a route without a body that changes something."""

    note: Note = None


class NoteBody(RequestModel):
    """A body that says no more than why."""

    note: Note = None


class PauseBody(RequestModel):
    """Why something is paused, and until when."""

    note: Note = None
    until: Instant | None = None


# An absent body.
NO_NOTE = NoteBody()
NO_PAUSE = PauseBody()
