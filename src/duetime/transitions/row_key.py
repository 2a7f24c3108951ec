"""Keys of rows, as the ledger has them: text, made by the database."""

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

from duetime.transitions.timestamps import stamp_of


def key_text(columns: list[Column[Any]], dialect: str) -> ColumnElement[str]:
    """The same whatever the session is set to."""
    parts = [_text(column, dialect) for column in columns]
    if len(parts) > 1:
        # With their lengths, so that no two keys read the same.
        parts = [cast(func.length(part), Text).concat(":").concat(part) for part in parts]
    text = parts[0]
    for part in parts[1:]:
        text = text.concat(part)
    return collate(text, "C") if dialect == "postgresql" else text


def named(columns: list[Column[Any]], dialect: str) -> ColumnElement[bool]:
    """Of rows that some texts name, asked so that the table's own index finds them; `naming`
    makes the parameters."""
    if dialect == "postgresql":
        names = [f"part_{n}" for n, _ in enumerate(columns)]
        lists = [bindparam(f"duetime_{name}", type_=postgresql.ARRAY(Text)) for name in names]
        given = func.unnest(*lists).table_valued(*names, name="duetime_named").render_derived()
        pairs = zip(columns, names, strict=True)
        return and_(*(_read_postgres(column, given.c[name]) for column, name in pairs))
    # SQLite compares text with a number, if the column has numbers, as a number.
    bare = [type_coerce(one, LargeBinary if _is_bytes(one.type) else Text) for one in columns]
    found: BindParameter[Any] = bindparam("duetime_parts", expanding=True)
    return tuple_(*bare).in_(found) if len(bare) > 1 else bare[0].in_(found)


def naming(columns: list[Column[Any]], texts: list[str], dialect: str) -> dict[str, Any]:
    rows = [_parts(text, len(columns)) for text in texts]
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


def _text(column: Column[Any], dialect: str) -> ColumnElement[str]:
    on_postgres = dialect == "postgresql"
    if _is_bytes(column.type):
        bare = type_coerce(column, LargeBinary)
        return func.encode(bare, "hex") if on_postgres else func.hex(bare)
    if on_postgres and (stamp_of(column.type) or isinstance(column.type, Date | Time | Interval)):
        return cast(func.extract("epoch", column), Text)
    return cast(column, Text)


def _read_postgres(column: Column[Any], part: ColumnElement[str]) -> ColumnElement[bool]:
    stamp = stamp_of(column.type)
    found: ColumnElement[Any]
    if _is_bytes(column.type):
        return type_coerce(column, LargeBinary) == func.decode(part, "hex")
    if stamp is not None or isinstance(column.type, Date):
        found = func.to_timestamp(cast(part, Double))
        if stamp is None or not stamp.timezone:
            found = func.timezone("UTC", found)
        return type_coerce(column, stamp or Date()) == cast(found, stamp or Date())
    if isinstance(column.type, Time | Interval):
        return _text(column, "postgresql") == part
    found = column == cast(part, column.type)
    return found


def _is_bytes(type_: TypeEngine[Any]) -> bool:
    if isinstance(type_, TypeDecorator):
        return _is_bytes(type_.impl_instance)
    try:
        return type_.python_type is bytes
    except NotImplementedError:
        return False


def _parts(text: str, count: int) -> list[str]:
    """Each with its length before it, if there are several."""
    if count == 1:
        return [text]
    found = []
    while text:
        length, _, rest = text.partition(":")
        found.append(rest[: int(length)])
        text = rest[int(length) :]
    return found
