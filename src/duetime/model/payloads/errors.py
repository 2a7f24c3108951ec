"""Why data does not fit a payload type, in words for whoever wrote it.

What helps where stored data does not fit the payload type of today.
"""

from __future__ import annotations

import re

UNEXPECTED = re.compile(
    r"Expected `(?P<type>[^`]+)`.*?field_name='(?P<field>[^']+)', "
    r"input_value=(?P<value>.*?), input_type=(?P<given>\w+)",
    re.DOTALL,
)


def reason(error: Exception) -> str:
    from pydantic_core import PydanticSerializationError, ValidationError

    if not isinstance(error, ValidationError):
        telling = isinstance(error, PydanticSerializationError | ValueError)
        return _unexpected(str(error)) if telling else f"{type(error).__name__}: {error}"
    return "; ".join(
        f"{'.'.join(str(part) for part in e['loc']) or 'payload'}: {e['msg']}"
        for e in error.errors(include_url=False, include_input=False)[:5]
    )


def _unexpected(words: str) -> str:
    """Pydantic's remark on a field whose value is not of its type, without its jargon."""
    found = UNEXPECTED.search(words)
    if found is None:
        return words
    return f"{found['field']}: expected {found['type']}, got {found['value']} ({found['given']})"


def mending(type_name: str, stored: int, current: int, *, versioned: bool) -> str:
    """The remedy for data that was `stored` in one version of a kind whose type is at another, or
    the same. The kinds of jobs and subscribers go by no versions."""
    last = "deploy, and retry the action"
    changed = f"if {type_name} has changed since it was stored"
    if not versioned:
        return f"{changed}, give new fields a default, {last}"
    if stored == current:
        upgrade = f"version={stored + 1} and upgrades={{{stored}: f}}"
        return f"{changed}, declare the kind with {upgrade}, {last}"
    return (
        f"it was stored in version {stored}, and the kind is at version {current}: "
        f"let upgrades={{{stored}: f}} make it fit, {last}"
    )
