"""Timestamps in columns: a column type that stores UTC, and conversions for other types."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, DateTime, Dialect, TypeDecorator, func
from sqlalchemy.types import TypeEngine

from duetime.model.validation import instant


class Instant(TypeDecorator[datetime]):
    """A timestamp with time zone that takes aware datetimes and returns UTC, on every database."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else instant("value", value)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else as_utc(value)


def datetime_type(type_: TypeEngine[Any]) -> DateTime | None:
    """Return the DateTime that a type is or decorates; None for other types."""
    if isinstance(type_, TypeDecorator):
        return datetime_type(type_.impl_instance)
    return type_ if isinstance(type_, DateTime) else None


def stored_type(column: Column[Any]) -> DateTime:
    """Return the type of the database's value, without the conversions of a TypeDecorator."""
    return DateTime(timezone=has_time_zone(column))


def has_time_zone(column: Column[Any]) -> bool:
    stamp = datetime_type(column.type)
    return stamp is not None and stamp.timezone


def to_stored(moment: datetime, column: Column[Any]) -> datetime:
    """Return the moment as the database compares it: a column without time zone is UTC."""
    return moment if has_time_zone(column) else moment.replace(tzinfo=None)


def to_attribute(moment: datetime, column: Column[Any]) -> datetime:
    """Return the moment as a model's attribute takes it: a TypeDecorator converts it itself."""
    decorated = isinstance(column.type, TypeDecorator)
    return moment if decorated else to_stored(moment, column)


def as_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def in_utc(column: Column[Any], dialect: str) -> ColumnElement[Any]:
    """Return the column's value as the ledger stores it. PostgreSQL would read a value without
    time zone in the session's time zone."""
    if dialect == "postgresql" and not has_time_zone(column):
        return func.timezone("UTC", column)
    return column
