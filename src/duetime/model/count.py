"""Counts that callers give: checked before anything is written."""

from __future__ import annotations

from duetime.errors import InvalidArgument


def check_count(argument: str, value: int, most: int) -> int:
    """A whole number from 1 to `most`; True is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidArgument(argument, value, f"give a whole number from 1 to {most}")
    return value
