"""Reads columns of rows that decide who may do what: each as far as it can be read.

Such a row must be read although a value of it is damaged: only the row itself counts for nothing
then, and operators see which columns are to blame.
"""

from __future__ import annotations

import json
import re
from typing import TypeVar
from uuid import UUID

from duetime.errors import InvalidArgument, UnreadableRow, shown
from duetime.model.access.identity import MAX_ROLE_LENGTH, MAX_USER_LENGTH, to_roles
from duetime.model.clock import MAX_INSTANT, MIN_INSTANT
from duetime.model.validation import check_name

T = TypeVar("T")

# Shown in place of a list of names that cannot be read.
UNREADABLE = "(unreadable)"
# Permissions of other versions, too.
_PERMISSION = re.compile(r"[a-z][a-z.-]*")
_HASH = re.compile("[0-9a-f]{64}")


class ColumnReader:
    """Reads one row. `damaged` are the columns that hold nothing duetime would have written."""

    def __init__(self) -> None:
        self._damaged: list[str] = []

    @property
    def damaged(self) -> tuple[str, ...]:
        return tuple(self._damaged)

    def name(self, column: str, value: object, max_length: int = MAX_USER_LENGTH) -> str:
        try:
            return check_name(column, value, max_length)  # type: ignore[arg-type]
        except InvalidArgument:
            return self._refused(column, readable_text(value))

    def role(self, column: str, value: object) -> str:
        return self.name(column, value, MAX_ROLE_LENGTH)

    def tenant(self, column: str, value: object) -> str | None:
        return None if value is None else self.name(column, value)

    def permission(self, column: str, value: object) -> str:
        return self._formed(_PERMISSION, column, value)

    def hash(self, column: str, value: object) -> str:
        return self._formed(_HASH, column, value)

    def roles(self, column: str, value: object) -> tuple[str, ...]:
        """Read a list of names in JSON."""
        try:
            names = json.loads(value) if isinstance(value, str) else None
            if isinstance(names, list):
                to_roles(names)
                return tuple(names)
        except (ValueError, RecursionError):
            pass
        return self._refused(column, (UNREADABLE,))

    def instant(self, column: str, value: object) -> int:
        if type(value) is int and MIN_INSTANT <= value <= MAX_INSTANT:
            return value
        return self._refused(column, 0)

    def optional_instant(self, column: str, value: object) -> int | None:
        return None if value is None else self.instant(column, value)

    def flag(self, column: str, value: object) -> bool:
        return value == 1 if value in (0, 1) else self._refused(column, False)

    def _formed(self, form: re.Pattern[str], column: str, value: object) -> str:
        if isinstance(value, str) and form.fullmatch(value):
            return value
        return self._refused(column, readable_text(value))

    def _refused(self, column: str, nearest: T) -> T:
        self._damaged.append(column)
        return nearest


def read_id(noun: str, value: object) -> UUID:
    """Read the id of a row. UnreadableRow for one that is no UUID: it cannot be named then."""
    try:
        return UUID(value)  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError):
        raise UnreadableRow(
            f"{noun} has an id that cannot be read ({shown(readable_text(value))}): a call without "
            "connection= gives it a new one; if the error comes again, delete the row by SQL"
        ) from None


def readable_text(value: object) -> str:
    """Return a value as text that can be stored and shown."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").replace("\x00", "\\x00")
    text = str(value).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text.replace("\x00", "\\x00")
