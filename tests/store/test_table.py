"""Rows as parameters of PostgreSQL: an array for each column, or the one value that all share."""

from typing import Any

import pytest

from duetime.errors import InvalidArgument
from duetime.store.sql.table import Table

ONCE = frozenset({"all_kind", "all_priority"})


def given(names: frozenset[str] = ONCE, **columns: Any) -> dict[str, object]:
    return Table(**columns).arrays("rows", names, foreign=False)


def test_what_all_rows_share_is_sent_once() -> None:
    assert given(kind=["a", "a"], priority=(1, 1)) == {"all_kind": "a", "all_priority": 1}


def test_what_differs_is_an_array() -> None:
    assert given(kind=["a", "b"], priority=(1, 2)) == {
        "rows_kind": '{"a","b"}',
        "rows_priority": "{1, 2}",
    }
    assert given(kind=["a", None], priority=(None, 2)) == {
        "rows_kind": '{"a",NULL}',
        "rows_priority": "{NULL, 2}",
    }


def test_a_statement_that_does_not_ask_for_it_once_gets_an_array() -> None:
    assert given(frozenset(), kind=["a", "a"]) == {"rows_kind": '{"a","a"}'}


def test_a_column_without_a_value_is_not_sent() -> None:
    assert given(kind=[None, None], priority=()) == {}


@pytest.mark.parametrize("text", ['a"b', "a\\b", '\\"', "a,b", "{}", "NULL", ""])
def test_a_text_is_taken_for_nothing_else(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    assert given(kind=[text, "x"]) == {"rows_kind": f'{{"{escaped}","x"}}'}
    assert given(kind=[text, None]) == {"rows_kind": f'{{"{escaped}",NULL}}'}
    assert given(kind=[text, text]) == {"all_kind": text}


@pytest.mark.parametrize("text", ["a\0b", "\0", "\ud800"])
@pytest.mark.parametrize("other", ["x", None, "same"])
def test_what_no_store_can_keep_is_refused_by_name(text: str, other: str | None) -> None:
    with pytest.raises(InvalidArgument, match="kind"):
        given(kind=[text, text if other == "same" else other])
