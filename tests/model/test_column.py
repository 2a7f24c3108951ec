"""Columns that keep once what stands in all rows."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.model.columns import Repeated, each, is_alike, is_empty, unzipped

FIRST = datetime(2030, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"))


@given(st.integers(0, 9), st.integers(-12, 12), st.integers(-12, 12), st.integers(1, 3))
def test_a_repeated_value_is_a_list_of_it(times: int, start: int, stop: int, step: int) -> None:
    column, listed = Repeated("x", times), ["x"] * times
    assert list(column) == listed
    assert len(column) == times
    assert list(column[start:stop:step]) == listed[start:stop:step]
    assert (column.count("x"), column.count("y")) == (times, 0)
    assert ("x" in column) == bool(times)
    if -times <= start < times:
        assert column[start] == "x"
    else:
        with pytest.raises(IndexError):
            column[start]


@pytest.mark.parametrize("column", [["a", "a"], [None, None], Repeated(1, 2), [FIRST, FIRST]])
def test_what_is_the_same_in_all_rows_is_converted_once(column: list[object]) -> None:
    asked = count()
    assert list(each(lambda _: next(asked), column)) == [0, 0]


@pytest.mark.parametrize(
    "column", [[1, True], [FIRST, FIRST.replace(fold=1)], ["a", "b"], [None, 0], [0, None], []]
)
def test_what_is_merely_equal_is_not_the_same(column: list[object]) -> None:
    assert not is_alike(column)
    assert list(each(lambda value: value, column)) == column


def test_several_columns_make_one() -> None:
    assert list(each(lambda x, y: x + y, Repeated(1, 2), [3, 4])) == [4, 5]
    assert isinstance(each(lambda x, y: x + y, Repeated(1, 2), Repeated(3, 2)), Repeated)


def test_rows_are_taken_apart() -> None:
    assert unzipped("xy", []) == {"x": (), "y": ()}
    assert unzipped("xy", [(1, 2), (3, 4)]) == {"x": (1, 3), "y": (2, 4)}
    alike = unzipped("xy", Repeated((1, 2), 3))
    assert {name: list(column) for name, column in alike.items()} == {"x": [1] * 3, "y": [2] * 3}


@pytest.mark.parametrize(
    ("column", "empty"), [([], True), ([None, None], True), ([None, 0], False), ([0], False)]
)
def test_nothing_stands_in_an_empty_column(column: list[object], empty: bool) -> None:
    assert is_empty(column) is empty
