"""The ledger: which value of a row's column was applied last, or failed, and when it is retried.

It is a table in the application's own database, so that it is written in the transaction that
changes the row.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Column,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

from duetime.transitions.timestamps import Instant

LEDGER = "duetime_transitions"


def ledger_in(metadata: MetaData) -> Table:
    """Return the ledger of this metadata, creating its Table on the first call."""
    key = LEDGER if metadata.schema is None else f"{metadata.schema}.{LEDGER}"
    ledger = metadata.tables.get(key)
    return _create(metadata) if ledger is None else ledger


def _create(metadata: MetaData) -> Table:
    # Byte order: a language's collation would only make look-ups slower.
    text = Text().with_variant(Text(collation="C"), "postgresql")
    retry_at: Column[Any] = Column("retry_at", Instant())
    table = Table(
        LEDGER,
        metadata,
        Column("table_name", text, primary_key=True),
        Column("column_name", text, primary_key=True),
        Column("row_key", text, primary_key=True),
        Column("value", Instant(), nullable=False),
        # The last value that was applied, while `value` is one that failed.
        Column("applied_value", Instant()),
        Column("applied_at", Instant()),
        Column("attempts", Integer, nullable=False),
        retry_at,
        Column("error", Text),
    )
    partial: dict[str, Any] = {
        f"{name}_where": retry_at.is_not(None) for name in ("postgresql", "sqlite")
    }
    Index(f"ix_{LEDGER}_retry_at", retry_at, **partial)
    return table
