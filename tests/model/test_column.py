"""Columns that store a value shared by all rows once."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.model.columns import ConstantColumn, is_constant, is_empty, map_columns, to_columns

BEFORE_CLOCK_CHANGE = datetime(2030, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"))


@given(st.integers(0, 9), st.integers(-12, 12), st.integers(-12, 12), st.integers(1, 3))
def test_a_constant_column_behaves_like_a_list(
    times: int, start: int, stop: int, step: int
) -> None:
    column, listed = ConstantColumn("x", times), ["x"] * times
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


@pytest.mark.parametrize(
    "column",
    [["a", "a"], [None, None], ConstantColumn(1, 2), [BEFORE_CLOCK_CHANGE, BEFORE_CLOCK_CHANGE]],
)
def test_a_constant_column_is_converted_once(column: list[object]) -> None:
    calls = count()
    assert list(map_columns(lambda _: next(calls), column)) == [0, 0]


@pytest.mark.parametrize(
    "column",
    [
        [1, True],
        [BEFORE_CLOCK_CHANGE, BEFORE_CLOCK_CHANGE.replace(fold=1)],
        ["a", "b"],
        [None, 0],
        [0, None],
        [],
    ],
)
def test_equal_values_do_not_make_a_column_constant(column: list[object]) -> None:
    assert not is_constant(column)
    assert list(map_columns(lambda value: value, column)) == column


def test_several_columns_are_mapped_to_one() -> None:
    assert list(map_columns(lambda x, y: x + y, ConstantColumn(1, 2), [3, 4])) == [4, 5]
    assert isinstance(
        map_columns(lambda x, y: x + y, ConstantColumn(1, 2), ConstantColumn(3, 2)), ConstantColumn
    )


def test_rows_become_columns() -> None:
    assert to_columns("xy", []) == {"x": (), "y": ()}
    assert to_columns("xy", [(1, 2), (3, 4)]) == {"x": (1, 3), "y": (2, 4)}
    constant = to_columns("xy", ConstantColumn((1, 2), 3))
    assert {name: list(column) for name, column in constant.items()} == {"x": [1] * 3, "y": [2] * 3}


@pytest.mark.parametrize(
    ("column", "empty"), [([], True), ([None, None], True), ([None, 0], False), ([0], False)]
)
def test_a_column_of_none_is_empty(column: list[object], empty: bool) -> None:
    assert is_empty(column) is empty
