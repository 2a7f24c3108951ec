"""Soft deletion: which columns mark a row as deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ColumnElement, Table, true
from sqlalchemy.orm import Mapped, mapped_column

from duetime.transitions.timestamps import Instant, stamp_of, to_attribute

NAMES = ("deleted_at", "is_deleted")


class SoftDeletable:
    """A mixin: rows of the model are marked as deleted, and stay."""

    deleted_at: Mapped[datetime | None] = mapped_column(Instant(), default=None)


def markers(table: Table) -> list[Column[Any]]:
    """The columns that tell; a model may have both."""
    found = [table.c[name] for name in NAMES if name in table.c]
    return [column for column in found if is_flag(column) or stamp_of(column.type) is not None]


def is_flag(column: Column[Any]) -> bool:
    return isinstance(column.type, Boolean)


def not_deleted(table: Table) -> list[ColumnElement[bool]]:
    return [
        column.is_not(true()) if is_flag(column) else column.is_(None) for column in markers(table)
    ]


def deleted_values(table: Table, now: datetime) -> dict[Column[Any], object]:
    """What marks a row, as its model takes it."""
    return {
        column: True if is_flag(column) else to_attribute(now, column) for column in markers(table)
    }
