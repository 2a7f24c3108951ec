"""Messages and remedies for data that does not fit a payload type."""

from __future__ import annotations

import re

UNEXPECTED = re.compile(
    r"Expected `(?P<type>[^`]+)`.*?field_name='(?P<field>[^']+)', "
    r"input_value=(?P<value>.*?), input_type=(?P<given>\w+)",
    re.DOTALL,
)


def reason(error: Exception) -> str:
    """Return why data does not fit its type, in words for its author."""
    from pydantic_core import PydanticSerializationError, ValidationError

    if not isinstance(error, ValidationError):
        readable = isinstance(error, PydanticSerializationError | ValueError)
        return _unexpected(str(error)) if readable else f"{type(error).__name__}: {error}"
    return "; ".join(
        f"{'.'.join(str(part) for part in e['loc']) or 'payload'}: {e['msg']}"
        for e in error.errors(include_url=False, include_input=False)[:5]
    )


def _unexpected(message: str) -> str:
    """Return pydantic's warning about a value of a wrong type without its jargon."""
    match = UNEXPECTED.search(message)
    if match is None:
        return message
    return f"{match['field']}: expected {match['type']}, got {match['value']} ({match['given']})"


def stored_payload_remedy(type_name: str, stored: int, current: int, *, versioned: bool) -> str:
    """Return the remedy for data stored in version `stored` of a kind that is now at version
    `current`. The kinds of jobs and subscribers have no versions."""
    last = "deploy, and retry the action"
    changed = f"if {type_name} has changed since it was stored"
    if stored < 1:
        return "its row is damaged: correct the version in it, and retry the action"
    if not versioned:
        return f"{changed}, give new fields a default, {last}"
    if stored == current:
        upgrade = f"version={stored + 1} and upgrades={{{stored}: f}}"
        return f"{changed}, declare the kind with {upgrade}, {last}"
    return (
        f"it was stored in version {stored}, and the kind is at version {current}: "
        f"convert it by upgrades={{{stored}: f}}, {last}"
    )
