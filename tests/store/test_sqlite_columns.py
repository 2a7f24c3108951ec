"""BulkRows as SQLite parameters: SQLite reads back the rows that were given."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.errors import InvalidArgument
from duetime.store.flow import Statement
from duetime.store.sql.statements.bulk_rows import BulkRows
from duetime.store.sql.statements.loader import StatementLoader, StatementTemplate
from duetime.store.sql.statements.table_names import TableNames
from duetime.store.sql.statements.tokenizer import tokenize

COLUMNS = ("id", "after", "due_at", "version", "tenant", "payload")
READ = f"SELECT {', '.join(f':rows_{name}' for name in COLUMNS)} FROM json_each(:rows) ORDER BY key"

Row = tuple[UUID, UUID | None, int | None, int, str | None, str]

numbers = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
few = st.sampled_from(["", "acme", "globex"])
rows = st.tuples(
    st.uuids(), st.none() | st.uuids(), st.none() | numbers, numbers, st.none() | few, texts
)


def table(given: Sequence[Row]) -> BulkRows:
    return BulkRows(**dict(zip(COLUMNS, map(list, zip(*given, strict=True)), strict=True)))


def read(given: Sequence[Row]) -> list[tuple[object, ...]]:
    loader = StatementLoader("sqlite", TableNames())
    sql = loader._compile(
        list(StatementTemplate.from_tokens(tokenize(READ)).select_lines(frozenset()))
    ).text
    params = {f"rows_{name}": None for name in COLUMNS} | table(given).sqlite_params("rows")
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute(sql, params).fetchall()


def as_stored(row: Row) -> tuple[object, ...]:
    return tuple(str(value) if isinstance(value, UUID) else value for value in row)


@given(st.lists(rows, min_size=1, max_size=20))
def test_each_row_comes_back_as_it_was_given(given: list[Row]) -> None:
    assert read(given) == [as_stored(row) for row in given]


@given(rows, st.integers(1, 20))
def test_equal_rows_come_back_as_they_were_given(row: Row, times: int) -> None:
    assert read([row] * times) == [as_stored(row)] * times


def test_values_that_all_rows_share_are_sent_once() -> None:
    row = (UUID(int=1), None, 5, 1, "acme", "x" * 1000)
    params = table([row] * 500).sqlite_params("rows")
    assert params["rows_payload"] == "x" * 1000
    assert params["rows_due_at"] == 5
    assert "rows_after" not in params
    assert len(str(params["rows"])) < 2000


@pytest.mark.parametrize("bad", ["a\x00b", "\ud800"])
@pytest.mark.parametrize("others", [[], ["another"]])
def test_text_that_cannot_be_stored_is_named(bad: str, others: list[str]) -> None:
    rows_with_bad_text = BulkRows(id=[UUID(int=1)] * (1 + len(others)), tenant=[bad, *others])
    with pytest.raises(InvalidArgument, match="tenant"):
        StatementLoader("sqlite", TableNames()).bind(
            Statement("key_holders", {"rows": rows_with_bad_text}), 0
        )
