"""Names that callers give: checked before anything is written."""

from __future__ import annotations

from duetime.errors import InvalidArgument

UNSTORABLE = "NUL and lone surrogates cannot be stored"


def check_name(argument: str, value: str | None, most: int) -> str:
    """Not empty, not too long, and text that every store can keep."""
    if not isinstance(value, str):
        raise InvalidArgument(argument, value, "give a string")
    if not value or value.isspace():
        raise InvalidArgument(argument, value, "it must not be empty")
    if len(value) > most:
        raise InvalidArgument(
            argument, value, f"it has {len(value)} characters, {most} are allowed"
        )
    if not is_storable(value):
        raise InvalidArgument(argument, value, UNSTORABLE)
    # A member of an enum is text that drivers and f-strings write as they like.
    return value if type(value) is str else str.__str__(value)


def is_storable(value: str) -> bool:
    """Lone surrogates are text to Python and to nobody else."""
    if "\x00" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_optional(argument: str, value: str | None, most: int) -> str | None:
    return None if value is None else check_name(argument, value, most)
