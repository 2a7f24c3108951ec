"""The ledger: which value of a row's column was applied last, or failed, and when to try again.

It lives in the application's own database, so that it is written in the transaction that changes
the row.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    cast,
    collate,
    func,
)
from sqlalchemy.types import Date, Interval, Time

from duetime.transitions.instant import Instant, stamp_of

LEDGER = "duetime_transitions"


def ledger_in(metadata: MetaData) -> Table:
    """The ledger of these tables, there from the first call on."""
    key = LEDGER if metadata.schema is None else f"{metadata.schema}.{LEDGER}"
    found = metadata.tables.get(key)
    return _make(metadata) if found is None else found


def _make(metadata: MetaData) -> Table:
    # Byte order: rules of a language would only make each look-up slower.
    text = Text().with_variant(Text(collation="C"), "postgresql")
    retry_at: Column[Any] = Column("retry_at", Instant())
    table = Table(
        LEDGER,
        metadata,
        Column("table_name", text, primary_key=True),
        Column("column_name", text, primary_key=True),
        Column("row_key", text, primary_key=True),
        Column("value", Instant(), nullable=False),
        Column("applied_at", Instant()),
        Column("attempts", Integer, nullable=False),
        retry_at,
        Column("error", Text),
    )
    tried: dict[str, Any] = {
        f"{name}_where": retry_at.is_not(None) for name in ("postgresql", "sqlite")
    }
    Index(f"ix_{LEDGER}_retry_at", retry_at, **tried)
    return table


def key_text(columns: list[Column[Any]], dialect: str) -> ColumnElement[str]:
    """A row's key as text, made by the database: the same whatever its session is set to."""
    parts = [_text(column, dialect) for column in columns]
    if len(parts) > 1:
        # With their lengths, so that no two keys read the same.
        parts = [cast(func.length(part), Text).concat(":").concat(part) for part in parts]
    text = parts[0]
    for part in parts[1:]:
        text = text.concat(part)
    return collate(text, "C") if dialect == "postgresql" else text


def _text(column: Column[Any], dialect: str) -> ColumnElement[str]:
    on_postgres = dialect == "postgresql"
    if isinstance(column.type, LargeBinary):
        return func.encode(column, "hex") if on_postgres else func.hex(column)
    if on_postgres and (stamp_of(column.type) or isinstance(column.type, Date | Time | Interval)):
        return cast(func.extract("epoch", column), Text)
    return cast(column, Text)
