"""The fields of a form for payloads of a kind, made from their JSON Schema.

A nested object is a group of fields; what no single field can hold is typed as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from duetime.model.payloads.registry import PayloadType

FieldType = Literal[
    "text", "format", "secret", "integer", "number", "switch", "choice", "date", "instant"
]
# Of a text for which a schema names no format, and of others.
FORMATS: Mapping[str, FieldType] = {
    "password": "secret",
    "date": "date",
    "date-time": "instant",
}
SCALARS: Mapping[str, FieldType] = {"integer": "integer", "number": "number", "boolean": "switch"}
# Of objects within objects, and of the fields of a form.
MAX_DEPTH = 3
MAX_FIELDS = 200

Schema = Mapping[str, Any]
Path = tuple[str, ...]


class Unset:
    """Stands for a value that is not there, which null is not."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadField:
    """A field of the form: the part of the payload at `path`. `lines` holds a list, an item on
    each line, and `json` anything."""

    path: Path
    type: FieldType | Literal["lines", "json"]
    required: bool = True
    nullable: bool = False
    default: object = UNSET
    hint: str = ""
    choices: Sequence[object] = ()
    # Of the items of `lines`.
    item: FieldType = "text"
    # Whether a part of it is secret, so that it is never shown.
    secret: bool = False

    @property
    def name(self) -> str:
        return "/".join(("payload", *self.path))

    @property
    def label(self) -> str:
        return self.path[-1] if self.path else "payload"

    @property
    def group(self) -> str:
        return ".".join(self.path[:-1])


def fields_of(entry: PayloadType) -> list[PayloadField]:
    """Return the fields for payloads of a kind."""
    try:
        schema: Schema = entry.adapter.json_schema(schema_generator=_FormSchema)
    except PydanticUserError:
        # It has a part of which there is no JSON Schema.
        return [PayloadField(path=(), type="json", secret=entry.secret)]
    if schema.get("type") == "null" or _has_no_parts(schema):
        return []
    found = [*_Reader(schema.get("$defs", {})).fields((), schema, required=True, default=UNSET)]
    if len(found) > MAX_FIELDS:
        return [PayloadField(path=(), type="json", secret=entry.secret)]
    return found


class _FormSchema(GenerateJsonSchema):
    """Schemas in which a decimal number is a text, which alone is exact."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        return {"type": "string", "format": "decimal"}


class _Reader:
    """Reads a schema, whose parts refer to definitions."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def fields(
        self, path: Path, schema: Schema, *, required: bool, default: object
    ) -> Iterator[PayloadField]:
        """Yield the field for a part of the payload, or those of an object's parts."""
        part = self._resolved(schema)
        if _is_object(part) and len(path) <= MAX_DEPTH:
            yield from self._parts(path, part, default)
        else:
            yield self._field(path, part, required, part.get("default", default))

    def _parts(self, path: Path, part: Schema, default: object) -> Iterator[PayloadField]:
        defaults = part.get("default", default)
        known = defaults if isinstance(defaults, Mapping) else {}
        for name, schema in part["properties"].items():
            required = name in part.get("required", ()) and name not in known
            yield from self.fields(
                (*path, name), schema, required=required, default=known.get(name, UNSET)
            )

    def _field(self, path: Path, part: Schema, required: bool, default: object) -> PayloadField:
        hint = str(part.get("description", "")) if path else ""
        other, nullable = self._without_null(part)
        shared: dict[str, Any] = {
            "path": path,
            "required": required,
            "nullable": nullable,
            "default": default,
            "hint": hint or str(other.get("description", "")),
        }
        choices = _choices(other)
        if choices or (nullable and other.get("type") == "boolean"):
            return PayloadField(type="choice", choices=choices or (True, False), **shared)
        type_ = _type(other)
        if type_ is not None:
            return PayloadField(type=type_, secret=type_ == "secret", **shared)
        item = _type(self._resolved(other.get("items", {}))) if _is_list(other) else None
        if item not in (None, "secret", "switch", "instant"):
            return PayloadField(type="lines", item=item, **shared)
        return PayloadField(type="json", secret=self._has_secret(other), **shared)

    def _resolved(self, schema: Schema) -> Schema:
        """Return a schema with what it refers to."""
        found, seen = dict(schema), set[str]()
        while True:
            reference = found.pop("$ref", None)
            if reference is None and len(found.get("allOf", ())) == 1:
                reference = found.pop("allOf")[0].get("$ref")
            if reference is None or reference in seen:
                return found
            seen.add(reference)
            found = {**self._definitions.get(reference.rpartition("/")[2], {}), **found}

    def _without_null(self, part: Schema) -> tuple[Schema, bool]:
        """Return a part without the alternative null, and whether it had that."""
        options = [self._resolved(option) for option in part.get("anyOf", ())]
        others = [option for option in options if option.get("type") != "null"]
        nullable = len(others) < len(options)
        return (others[0] if len(others) == 1 else part), nullable

    def _has_secret(self, part: object) -> bool:
        """Return whether a schema, or what it refers to, has a secret part."""
        waiting, seen = [part], set[str]()
        while waiting:
            found = waiting.pop()
            if isinstance(found, Mapping):
                if found.get("format") == "password":
                    return True
                reference = found.get("$ref")
                if isinstance(reference, str) and reference not in seen:
                    seen.add(reference)
                    waiting.append(self._definitions.get(reference.rpartition("/")[2]))
                waiting += found.values()
            elif isinstance(found, list):
                waiting += found
        return False


def _is_object(part: Schema) -> bool:
    return part.get("type") == "object" and bool(part.get("properties"))


def _has_no_parts(part: Schema) -> bool:
    return part.get("type") == "object" and part.get("properties") == {}


def _is_list(part: Schema) -> bool:
    return part.get("type") == "array" and "prefixItems" not in part


def _choices(part: Schema) -> Sequence[object]:
    return [part["const"]] if "const" in part else part.get("enum", ())


def _type(part: Schema) -> FieldType | None:
    """Return the type of the field for a scalar; None for what is none."""
    if part.get("type") == "string":
        other: FieldType = "format" if "format" in part else "text"
        return FORMATS.get(part.get("format", ""), other)
    return SCALARS.get(part.get("type", ""))
