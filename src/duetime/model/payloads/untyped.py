"""Untyped parts of payloads: what is typed Any, object, or a bare container.

Of such a part, JSON keeps text, numbers, booleans, None, lists, and dicts with text keys. Anything
else would silently come back as something else, and is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

from duetime.errors import InvalidPayload

Schema = Mapping[str, Any]
# Where the schemas of parts stand in a schema of pydantic.
PART_KEYS = (
    *("schema", "items_schema", "keys_schema", "values_schema", "choices", "steps", "fields"),
    *("json_schema", "python_schema", "lax_schema", "strict_schema", "extras_schema"),
)
# The containers that are untyped without a schema for their items.
BARE = {"list": "items_schema", "set": "items_schema", "frozenset": "items_schema"}
BARE |= {"dict": "values_schema", "deque": "items_schema"}
ANY_SCHEMA: Schema = {"type": "any"}
# The name by which the extra fields of a model are compared.
EXTRAS = "__pydantic_extra__"

REMEDY = (
    "annotate the field with its type, or give JSON values: text, numbers, booleans, None, lists, "
    "and dicts whose keys are text"
)


@dataclass(frozen=True, slots=True)
class UntypedFields:
    """The fields with untyped parts, for each class that a payload may hold."""

    by_class: Mapping[type[Any], Sequence[str]]

    def check(self, kind: str, payload: object, stored: object) -> None:
        """Raise InvalidPayload if an untyped part of the payload differs from what was stored."""
        change = self._change_in_fields(payload, stored, "")
        if change is not None:
            raise InvalidPayload(kind, f"{change}; {REMEDY}")

    def _change_in_fields(self, given: Any, stored: Any, path: str) -> str | None:
        for name in self.by_class.get(type(given), ()):
            inner = path if name == EXTRAS else _joined(path, name)
            change = self._change(getattr(given, name, None), getattr(stored, name, None), inner)
            if change is not None:
                return change
        return None

    def _change(self, given: Any, stored: Any, path: str) -> str | None:
        """Return what differs, and where; None if nothing does."""
        if _equal(given, stored):
            return None
        if type(given) is not type(stored):
            return f"{path}: {_type(given)} comes back as {_type(stored)}"
        if _has_fields(given):
            return self._change_in_fields(given, stored, path)
        if isinstance(given, Mapping):
            return self._change_in_mapping(given, stored, path)
        if isinstance(given, list | tuple | deque) and len(given) == len(stored):
            return self._change_in_parts(enumerate(given), stored, path)
        return f"{path}: {_type(given)} comes back as another {_type(stored)}"

    def _change_in_mapping(
        self, given: Mapping[Any, Any], stored: Mapping[Any, Any], path: str
    ) -> str | None:
        for key in given:
            if key not in stored:
                return f"{path}: a key of type {_type(key)} comes back as str"
        return self._change_in_parts(given.items(), stored, path)

    def _change_in_parts(
        self, parts: Iterable[tuple[Any, Any]], stored: Any, path: str
    ) -> str | None:
        changes = (self._change(part, stored[name], _joined(path, name)) for name, part in parts)
        return next((change for change in changes if change is not None), None)


def untyped_fields(schema: Schema) -> UntypedFields | None:
    """Return the untyped fields in the schema of a payload type; None if there are none."""
    reader = _SchemaReader(schema)
    by_class = {cls: names for cls, names in reader.fields(schema, set()) if names}
    return UntypedFields(by_class) if by_class else None


class _SchemaReader:
    """Reads a schema of pydantic: nodes that name each other by reference."""

    def __init__(self, schema: Schema) -> None:
        listed = schema["definitions"] if schema["type"] == "definitions" else ()
        self._definitions: Mapping[str, Schema] = {node["ref"]: node for node in listed}

    def fields(self, node: Schema, seen: set[str]) -> Iterator[tuple[type[Any], list[str]]]:
        """Yield each class below a node, with the names of its untyped fields."""
        if node["type"] in ("model", "dataclass"):
            yield node["cls"], [*self._untyped_names(node)]
        for part in self._parts(node, seen):
            yield from self.fields(part, seen)

    def _untyped_names(self, node: Schema) -> Iterator[str]:
        if node.get("root_model"):
            if self._is_untyped(node["schema"], set()):
                yield "root"
            return
        inner = _fields_node(node)
        for name, field in _named_fields(inner):
            if not field.get("serialization_exclude") and self._is_untyped(field["schema"], set()):
                yield name
        if node["type"] == "model" and _keeps_untyped_extras(node):
            yield EXTRAS

    def _is_untyped(self, node: Schema, seen: set[str]) -> bool:
        """Return whether a node has an untyped part, however deep."""
        bare = BARE.get(node["type"])
        if node["type"] == "any" or (bare is not None and bare not in node):
            return True
        if node["type"] == "model" and _keeps_untyped_extras(node):
            return True
        return any(self._is_untyped(part, seen) for part in self._parts(node, seen))

    def _parts(self, node: Schema, seen: set[str]) -> Iterator[Schema]:
        if node["type"] == "definition-ref":
            reference = node["schema_ref"]
            if reference not in seen and reference in self._definitions:
                seen.add(reference)
                yield self._definitions[reference]
            return
        # What a generator yields is read once, when it is written: there is nothing to compare.
        if node["type"] != "generator":
            for key in PART_KEYS:
                yield from _schemas(node.get(key))


def _fields_node(node: Schema) -> Schema:
    """Return the node with the fields of a model or dataclass, which validators may surround."""
    while node["type"] not in ("model-fields", "dataclass-args") and "schema" in node:
        node = node["schema"]
    return node


def _keeps_untyped_extras(node: Schema) -> bool:
    """Return whether a model keeps fields that it does not declare, of any type."""
    inner = _fields_node(node)
    behaviors = inner.get("extra_behavior"), node.get("config", {}).get("extra_fields_behavior")
    return "allow" in behaviors and inner.get("extras_schema", ANY_SCHEMA)["type"] == "any"


def _named_fields(node: Schema) -> Iterator[tuple[str, Schema]]:
    fields = node.get("fields", {})
    if isinstance(fields, Mapping):
        yield from fields.items()
    else:
        for field in fields:
            yield field["name"], field


def _schemas(part: Any) -> Iterator[Schema]:
    """Yield the schemas in a part of a schema: one, a list, a mapping, or pairs with labels."""
    if isinstance(part, Mapping) and "type" in part and isinstance(part["type"], str):
        yield part
    elif isinstance(part, Mapping):
        for value in part.values():
            yield from _schemas(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _schemas(value)


def _equal(given: object, stored: object) -> bool:
    try:
        return bool(given == stored)
    except Exception:  # noqa: BLE001 - a value that cannot be compared is not equal
        return False


def _has_fields(value: object) -> bool:
    """Return whether a value has typed fields, which are its class's own to keep."""
    return is_dataclass(value) or hasattr(type(value), "__pydantic_serializer__")


def _joined(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)


def _type(value: object) -> str:
    return type(value).__name__
