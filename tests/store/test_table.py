"""Rows as parameters of PostgreSQL: an array for each column, or the one value that all share."""

from typing import Any
from uuid import UUID

import pytest

from duetime.errors import InvalidArgument
from duetime.store.sql.statements.bulk_rows import Table


def given(foreign: bool = False, **columns: Any) -> dict[str, object]:
    return Table(**columns).arrays("rows", foreign=foreign)


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


@pytest.mark.parametrize("name", ["id", "due_at"])
def test_ids_and_instants_are_bytes_where_we_know_the_driver_and_all_have_one(name: str) -> None:
    one, other = (UUID(int=1), UUID(int=2)) if name == "id" else (1, 2)
    all_have, some_have = Table(**{name: [one, other]}), Table(**{name: [one, None]})
    [ours] = all_have.arrays("rows", foreign=False).values()
    [theirs] = all_have.arrays("rows", foreign=True).values()
    [with_gaps] = some_have.arrays("rows", foreign=False).values()
    assert [type(one) is str for one in (ours, theirs, with_gaps)] == [False, True, True]


def test_what_is_too_large_for_eight_bytes_is_left_to_the_server() -> None:
    assert given(due_at=[2**63, 1]) == {"rows_due_at": f"{{{2**63}, 1}}"}


def test_ids_and_payloads_are_arrays_also_of_one_row() -> None:
    assert given(id=[UUID(int=1)], payload=["{}"], kind=["a"]).keys() == {
        "rows_id",
        "rows_payload",
        "all_kind",
    }


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
