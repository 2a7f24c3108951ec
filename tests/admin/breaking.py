"""What of a change to an OpenAPI document breaks clients that were written for the old one."""

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]


def breaking_changes(old: Document, new: Document) -> list[str]:
    return [*_in_operations(old, new)]


def _in_operations(old: Document, new: Document) -> Iterator[str]:
    for path, operations in old["paths"].items():
        for method, operation in operations.items():
            place = f"{method.upper()} {path}"
            now = new["paths"].get(path, {}).get(method)
            if now is None:
                yield f"{place} is gone"
            else:
                yield from _in_parameters(place, operation, now)
                yield from _in_responses(place, operation, now, old, new)
                yield from _in_body(place, operation, now, old, new)


def _in_parameters(place: str, old: Document, new: Document) -> Iterator[str]:
    before = {(item["in"], item["name"]): item for item in old.get("parameters", [])}
    after = {(item["in"], item["name"]): item for item in new.get("parameters", [])}
    for key in before.keys() - after.keys():
        yield f"{place} no longer takes {key[1]}"
    for key, item in after.items():
        if item.get("required") and not before.get(key, {}).get("required"):
            yield f"{place} now needs {key[1]}"


def _in_responses(
    place: str, old: Document, new: Document, old_document: Document, new_document: Document
) -> Iterator[str]:
    for status, response in old["responses"].items():
        if not status.startswith("2"):
            continue
        if status not in new["responses"]:
            yield f"{place} no longer answers {status}"
            continue
        before = _schema(response, old_document)
        after = _schema(new["responses"][status], new_document)
        for name in before.get("properties", {}).keys() - after.get("properties", {}).keys():
            yield f"{place} no longer answers with {name}"
        for name in {*before.get("required", [])} - {*after.get("required", [])}:
            yield f"{place} no longer always answers with {name}"


def _in_body(
    place: str, old: Document, new: Document, old_document: Document, new_document: Document
) -> Iterator[str]:
    before = _schema(old.get("requestBody", {}), old_document)
    after = _schema(new.get("requestBody", {}), new_document)
    for name in before.get("properties", {}).keys() - after.get("properties", {}).keys():
        yield f"{place} no longer takes {name} in its body"
    for name in {*after.get("required", [])} - {*before.get("required", [])}:
        yield f"{place} now needs {name} in its body"
    for name in before.get("properties", {}).keys() & after.get("properties", {}).keys():
        if _types(before["properties"][name]) - _types(after["properties"][name]):
            yield f"{place} takes fewer values of {name} in its body"


def _types(schema: Document) -> set[str]:
    """The types and words that a field takes."""
    parts = schema.get("anyOf", [schema])
    words = {word for part in parts for word in part.get("enum", [])}
    return words | {str(part.get("type") or part.get("$ref")) for part in parts}


def _schema(holder: Document, document: Document) -> Document:
    """The schema of JSON, with the items of a page in place of the page's."""
    content = holder.get("content", {}).get("application/json", {})
    schema = _resolved(content.get("schema", {}), document)
    items = schema.get("properties", {}).get("items", {}).get("items")
    return schema if items is None else _resolved(items, document)


def _resolved(schema: Document, document: Document) -> Document:
    for part in schema.get("anyOf", []):
        if "$ref" in part:
            schema = part
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Document = document["components"]["schemas"][name] if name else schema
    return found
