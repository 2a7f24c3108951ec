"""Why data does not fit a payload type, in words for whoever wrote it."""

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
