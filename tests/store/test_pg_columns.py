"""PostgreSQL reads rows back from parameters as given, on our connections and on callers'."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from duetime.errors import InvalidArgument
from duetime.store.sql.postgres.server import with_array_dumpers
from duetime.store.sql.statements.bulk_rows import BulkRows
from duetime.store.sql.statements.loader import StatementLoader, place_columns
from duetime.store.sql.statements.table_names import TableNames
from duetime.store.sql.statements.tokenizer import tokenize

COLUMNS = ("id", "after", "due_at", "delay", "version", "tenant", "payload")
READ = f"SELECT {', '.join(f':each_{c}' for c in COLUMNS)} FROM unnest(:arrays) AS n (:columns)"

Row = tuple[Any, ...]

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
bigints = st.integers(-(2**63), 2**63 - 1)
rows: st.SearchStrategy[Row] = st.tuples(
    st.uuids(),
    st.none() | st.uuids(),
    bigints,
    st.none() | bigints,
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | text,
    st.recursive(st.none() | st.booleans() | text, st.lists, max_leaves=5).map(
        lambda value: to_json(value).decode()
    ),
)
on_a_shared_connection = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


class Reader:
    """Sends rows and reads them back."""

    def __init__(
        self, connection: psycopg.Connection, loader: StatementLoader, foreign: bool
    ) -> None:
        self._connection = connection
        self._loader = loader
        self._foreign = foreign

    def __call__(self, given: Sequence[Row]) -> list[Row]:
        table = BulkRows(**dict(zip(COLUMNS, map(list, zip(*given, strict=True)), strict=True)))
        compiled = self._loader._compile([*place_columns([*tokenize(READ)], table.varying)])
        sent = table.postgres_params("rows", foreign=self._foreign)
        params = {name: sent.get(name) for name in compiled.names}
        return self._connection.execute(compiled.text.encode(), params).fetchall()


@pytest.fixture(params=["ours", "the caller's"])
def read(request: pytest.FixtureRequest, empty_postgres_url: str) -> Iterator[Reader]:
    loader = StatementLoader("postgres", TableNames())
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        if request.param == "ours":
            yield Reader(with_array_dumpers(connection), loader, foreign=False)
        else:
            yield Reader(connection, loader.for_caller("pyformat"), foreign=True)


@on_a_shared_connection
@given(given=st.lists(rows, min_size=1, max_size=20))
def test_each_row_comes_back_as_it_was_given(read: Reader, given: list[Row]) -> None:
    assert read(given) == given


@on_a_shared_connection
@given(row=rows, times=st.integers(1, 20))
def test_equal_rows_come_back_as_they_were_given(read: Reader, row: Row, times: int) -> None:
    assert read([row] * times) == [row] * times


def test_a_payload_with_the_separator_is_refused_and_not_split(read: Reader) -> None:
    row = (UUID(int=1), None, 5, None, 1, None)
    with pytest.raises(InvalidArgument, match="payload"):
        read([(*row, '{"a": "\x1f"}'), (*row, "{}")])
