"""Keys of rows as the ledger stores them: text, computed by the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Double,
    LargeBinary,
    Text,
    TypeDecorator,
    and_,
    bindparam,
    cast,
    collate,
    func,
    tuple_,
    type_coerce,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import Date, Interval, Time, TypeEngine

from duetime.transitions.timestamps import datetime_type


def key_text(columns: list[Column[Any]], dialect: str) -> ColumnElement[str]:
    """Return the key as one text, independent of the session's settings."""
    parts = [_part_text(column, dialect) for column in columns]
    if len(parts) > 1:
        # Length prefixes make the text unambiguous.
        parts = [cast(func.length(part), Text).concat(":").concat(part) for part in parts]
    text = parts[0]
    for part in parts[1:]:
        text = text.concat(part)
    return collate(text, "C") if dialect == "postgresql" else text


def matches_keys(columns: list[Column[Any]], dialect: str) -> ColumnElement[bool]:
    """Return the condition that a row's key is among given texts, in a form that uses the table's
    own index. `key_parameters` makes the parameters."""
    if dialect == "postgresql":
        names = [f"part_{n}" for n, _ in enumerate(columns)]
        arrays = [bindparam(f"duetime_{name}", type_=postgresql.ARRAY(Text)) for name in names]
        keys = func.unnest(*arrays).table_valued(*names, name="duetime_named").render_derived()
        pairs = zip(columns, names, strict=True)
        return and_(*(_equals_part(column, keys.c[name]) for column, name in pairs))
    # SQLite converts text to a number before it compares it with a numeric column.
    stored = [
        type_coerce(column, LargeBinary if _is_bytes(column.type) else Text) for column in columns
    ]
    parts: BindParameter[Any] = bindparam("duetime_parts", expanding=True)
    return tuple_(*stored).in_(parts) if len(stored) > 1 else stored[0].in_(parts)


def key_parameters(columns: list[Column[Any]], texts: list[str], dialect: str) -> dict[str, Any]:
    """Return the parameters of `matches_keys` for these texts."""
    rows = [_split(text, len(columns)) for text in texts]
    if dialect == "postgresql":
        return {f"duetime_part_{n}": [row[n] for row in rows] for n, _ in enumerate(columns)}
    keys = [
        tuple(
            bytes.fromhex(part) if _is_bytes(column.type) else part
            for column, part in zip(columns, row, strict=True)
        )
        for row in rows
    ]
    return {"duetime_parts": keys if len(columns) > 1 else [key[0] for key in keys]}


def _part_text(column: Column[Any], dialect: str) -> ColumnElement[str]:
    on_postgres = dialect == "postgresql"
    if _is_bytes(column.type):
        stored = type_coerce(column, LargeBinary)
        return func.encode(stored, "hex") if on_postgres else func.hex(stored)
    temporal = datetime_type(column.type) or isinstance(column.type, Date | Time | Interval)
    if on_postgres and temporal:
        return cast(func.extract("epoch", column), Text)
    return cast(column, Text)


def _equals_part(column: Column[Any], part: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that a column of PostgreSQL has the value of `_part_text`."""
    stamp = datetime_type(column.type)
    value: ColumnElement[Any]
    if _is_bytes(column.type):
        return type_coerce(column, LargeBinary) == func.decode(part, "hex")
    if stamp is not None or isinstance(column.type, Date):
        value = func.to_timestamp(cast(part, Double))
        if stamp is None or not stamp.timezone:
            value = func.timezone("UTC", value)
        return type_coerce(column, stamp or Date()) == cast(value, stamp or Date())
    if isinstance(column.type, Time | Interval):
        return _part_text(column, "postgresql") == part
    equals: ColumnElement[bool] = column == cast(part, column.type)
    return equals


def _is_bytes(type_: TypeEngine[Any]) -> bool:
    if isinstance(type_, TypeDecorator):
        return _is_bytes(type_.impl_instance)
    try:
        return type_.python_type is bytes
    except NotImplementedError:
        return False


def _split(text: str, count: int) -> list[str]:
    """Split a key's text into its parts; several parts have length prefixes."""
    if count == 1:
        return [text]
    parts = []
    while text:
        length, _, rest = text.partition(":")
        parts.append(rest[: int(length)])
        text = rest[int(length) :]
    return parts
