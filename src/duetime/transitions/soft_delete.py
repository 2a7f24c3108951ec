"""Soft deletion: the columns that mark a row as deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ColumnElement, Table, true
from sqlalchemy.orm import Mapped, mapped_column

from duetime.transitions.timestamps import Instant, datetime_type, to_attribute

MARKER_NAMES = ("deleted_at", "is_deleted")


class SoftDeletable:
    """A mixin: a row of the model is marked as deleted instead of being deleted."""

    deleted_at: Mapped[datetime | None] = mapped_column(Instant(), default=None)


def marker_columns(table: Table) -> list[Column[Any]]:
    """Return the columns that mark a row as deleted; a table may have both."""
    found = [table.c[name] for name in MARKER_NAMES if name in table.c]
    return [column for column in found if is_flag(column) or datetime_type(column.type) is not None]


def is_flag(column: Column[Any]) -> bool:
    return isinstance(column.type, Boolean)


def not_deleted(table: Table) -> list[ColumnElement[bool]]:
    return [
        column.is_not(true()) if is_flag(column) else column.is_(None)
        for column in marker_columns(table)
    ]


def deleted_values(table: Table, now: datetime) -> dict[Column[Any], object]:
    """Return the values that mark a row as deleted, as the model's attributes take them."""
    return {
        column: True if is_flag(column) else to_attribute(now, column)
        for column in marker_columns(table)
    }
