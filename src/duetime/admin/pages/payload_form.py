"""What is typed into the fields of a payload, as the payload's JSON; and a payload as it stands in
the fields."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import NoneType
from typing import Any

from pydantic import ValidationError

from duetime.admin.pages.payload_fields import UNSET, PayloadField
from duetime.admin.pages.reader_zones import ReaderZone
from duetime.errors import InvalidArgument
from duetime.model.payloads.registry import PayloadType
from duetime.model.safe_text import safe_json

INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
# What pydantic says, and the text of the catalogue that says it better.
ERROR_TEXTS: Mapping[str, str] = {
    "missing": "payload_missing",
    "int_parsing": "payload_integer",
    "int_parsing_size": "payload_integer",
    "int_type": "payload_integer",
    "int_from_float": "payload_integer",
    "float_parsing": "payload_number",
    "float_type": "payload_number",
    "date_from_datetime_parsing": "payload_date",
    "datetime_from_date_parsing": "payload_instant",
}

# What pydantic says of these never quotes what was typed.
QUIET_ERRORS = frozenset(
    {
        *("greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of"),
        *("string_too_short", "string_too_long", "too_short", "too_long", "extra_forbidden"),
        *("enum", "literal_error", "bool_parsing", "date_parsing", "datetime_parsing"),
        *("uuid_parsing", "decimal_parsing", "string_type", "list_type", "dict_type"),
    }
)

# Returns the text of a field; None if it was not sent.
Given = Callable[[str], str | None]
# Returns an instant that a field gives. InvalidArgument if it is none.
ReadInstant = Callable[[str], datetime | None]


@dataclass(slots=True)
class TypedPayload:
    """The JSON of a payload that was typed, and what is wrong, by the name of its field."""

    data: Any = None
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return json.dumps(self.data)


class NotFinite(ValueError):
    """A number that JSON does not have."""


# -- from the fields ------------------------------------------------------------------------------


def typed_payload(
    entry: PayloadType,
    fields: Sequence[PayloadField],
    given: Given,
    read_instant: ReadInstant,
    text: Callable[[str], str],
) -> TypedPayload:
    """Return the payload that was typed. Parts that were left empty are null if they may be."""
    typed = TypedPayload(None if entry.type is NoneType else {})
    for part in fields:
        place = _place(typed, part)
        try:
            value = _value(part, given, read_instant)
        except InvalidArgument as error:
            typed.errors[part.name] = error.remedy
        except NotFinite:
            typed.errors[part.name] = text("payload_number")
        except (ValueError, RecursionError):
            typed.errors[part.name] = text("payload_json")
        else:
            if not part.path:
                typed.data = None if value is UNSET else value
            elif value is not UNSET:
                place[part.path[-1]] = value
    return typed


def _place(typed: TypedPayload, part: PayloadField) -> dict[str, Any]:
    """Return the object that holds a part of the payload."""
    place: dict[str, Any] = typed.data
    for name in part.path[:-1]:
        place = place.setdefault(name, {})
    return place


def _value(part: PayloadField, given: Given, read_instant: ReadInstant) -> object:
    typed = (given(part.name) or "").replace("\r\n", "\n")
    if part.type == "switch":
        return bool(typed)
    if part.type not in ("text", "secret"):
        typed = typed.strip()
    if not typed:
        return _empty(part)
    if part.type == "instant":
        instant = read_instant(part.name)
        return None if instant is None else instant.isoformat()
    if part.type in ("json", "choice"):
        return json.loads(typed, parse_constant=_refuse_constant)
    if part.type == "lines":
        return [_scalar(part.item, line.strip()) for line in typed.splitlines() if line.strip()]
    return _scalar(part.type, typed)


def _empty(part: PayloadField) -> object:
    """Return what an empty field means."""
    if part.nullable:
        return None
    if part.type == "lines" and (part.required or part.default is not UNSET):
        return []
    if part.type == "text" and not part.required and part.default is not UNSET:
        return ""
    return UNSET


def _scalar(type_: str, typed: str) -> object:
    """Return a number for what is one; what is none is for the payload's type to refuse."""
    if type_ in ("integer", "number") and INTEGER.fullmatch(typed):
        return int(typed)
    if type_ == "number":
        try:
            number = float(typed)
        except ValueError:
            return typed
        if not math.isfinite(number):
            raise NotFinite(typed)
        return number
    return typed


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def check_payload(
    entry: PayloadType,
    fields: Sequence[PayloadField],
    typed: TypedPayload,
    text: Callable[[str], str],
) -> None:
    """Add what the payload's type finds wrong, each at its field."""
    try:
        entry.adapter.validator.validate_json(typed.text)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            name = _field_at(fields, tuple(map(str, item["loc"])))
            typed.errors.setdefault(name, _said(entry, item["type"], item["msg"], text))
    except Exception as error:  # noqa: BLE001 - it is the user's validator
        said = text("payload_refused") if entry.secret else str(error) or type(error).__name__
        typed.errors.setdefault("payload", said)


def _said(entry: PayloadType, type_: str, message: str, text: Callable[[str], str]) -> str:
    """Return what is wrong. Messages of a type with secrets may quote them."""
    if type_ in ERROR_TEXTS:
        return text(ERROR_TEXTS[type_])
    return message if type_ in QUIET_ERRORS or not entry.secret else text("payload_refused")


def _field_at(fields: Sequence[PayloadField], place: tuple[str, ...]) -> str:
    """Return the name of the field that holds the part at a place."""
    holding = [part for part in fields if place[: len(part.path)] == part.path]
    return max(holding, key=lambda part: len(part.path)).name if holding else "payload"


# -- into the fields ------------------------------------------------------------------------------


def shown_values(
    fields: Sequence[PayloadField], payload: object, zone: ReaderZone
) -> dict[str, str]:
    """Return the text of each field for a payload, or for what a new one has; secrets have none."""
    return {part.name: _shown(part, _part_of(part, payload), zone) for part in fields}


def _part_of(part: PayloadField, payload: object) -> object:
    found = payload
    for name in part.path:
        if not isinstance(found, Mapping) or name not in found:
            return part.default
        found = found[name]
    return part.default if found is UNSET else found


def _shown(part: PayloadField, value: object, zone: ReaderZone) -> str:
    if value is UNSET or value is None or part.secret:
        return ""
    if part.type == "switch":
        return "on" if value else ""
    if part.type == "instant":
        return _written_instant(str(value), zone)
    if part.type == "lines" and isinstance(value, list):
        return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in value)
    if part.type == "choice":
        return choice_value(value)
    if part.type == "json":
        return safe_json(json.dumps(value, ensure_ascii=False, indent=2))
    return value if isinstance(value, str) else json.dumps(value)


def choice_value(choice: object) -> str:
    """Return what the option of a choice sends."""
    return json.dumps(choice, ensure_ascii=False)


def _written_instant(text: str, zone: ReaderZone) -> str:
    """Return an instant as a field in a zone holds it; as it is if that would not be the same."""
    try:
        instant = datetime.fromisoformat(text)
        written = zone.written(instant)
        return written if instant.tzinfo and zone.instant(written) == instant else text
    except (ValueError, OverflowError):
        return text
