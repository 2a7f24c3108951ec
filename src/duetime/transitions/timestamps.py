"""Instants in columns: a type that keeps UTC, and how to read what other types keep."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, DateTime, Dialect, TypeDecorator, func
from sqlalchemy.types import TypeEngine

from duetime.model.validation import instant


class Instant(TypeDecorator[datetime]):
    """A timestamp with time zone that takes aware datetimes and gives UTC, on every database."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else instant("value", value)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else as_utc(value)


def stamp_of(type_: TypeEngine[Any]) -> DateTime | None:
    """The timestamp that a type is, or keeps; None if it is none."""
    if isinstance(type_, TypeDecorator):
        return stamp_of(type_.impl_instance)
    return type_ if isinstance(type_, DateTime) else None


def bare(column: Column[Any]) -> DateTime:
    """The type of what the database holds, without what Python makes of it."""
    return DateTime(timezone=zoned(column))


def zoned(column: Column[Any]) -> bool:
    stamp = stamp_of(column.type)
    return stamp is not None and stamp.timezone


def to_bare(moment: datetime, column: Column[Any]) -> datetime:
    """As the database compares it: a column without zone means UTC."""
    return moment if zoned(column) else moment.replace(tzinfo=None)


def to_attribute(moment: datetime, column: Column[Any]) -> datetime:
    """As a model's attribute takes it: types of the user's own do their own part."""
    own = isinstance(column.type, TypeDecorator)
    return moment if own else to_bare(moment, column)


def as_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def in_utc(column: Column[Any], dialect: str) -> ColumnElement[Any]:
    """What the ledger keeps of it. PostgreSQL would take a value without zone for one in the zone
    of the session."""
    if dialect == "postgresql" and not zoned(column):
        return func.timezone("UTC", column)
    return column
