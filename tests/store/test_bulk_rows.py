"""BulkRows as PostgreSQL parameters: an array for each column, or the value that all rows share."""

from typing import Any
from uuid import UUID

import pytest

from duetime.errors import InvalidArgument
from duetime.store.sql.statements.bulk_rows import BulkRows


def params(foreign: bool = False, **columns: Any) -> dict[str, object]:
    return BulkRows(**columns).postgres_params("rows", foreign=foreign)


def test_what_all_rows_share_is_sent_once() -> None:
    assert params(kind=["a", "a"], priority=(1, 1)) == {"all_kind": "a", "all_priority": 1}


def test_what_differs_is_an_array() -> None:
    assert params(kind=["a", "b"], priority=(1, 2)) == {
        "rows_kind": '{"a","b"}',
        "rows_priority": "{1, 2}",
    }
    assert params(kind=["a", None], priority=(None, 2)) == {
        "rows_kind": '{"a",NULL}',
        "rows_priority": "{NULL, 2}",
    }


@pytest.mark.parametrize("name", ["id", "due_at"])
def test_ids_and_instants_without_null_are_binary_on_our_own_connections(name: str) -> None:
    first, second = (UUID(int=1), UUID(int=2)) if name == "id" else (1, 2)
    all_have, some_have = BulkRows(**{name: [first, second]}), BulkRows(**{name: [first, None]})
    [ours] = all_have.postgres_params("rows", foreign=False).values()
    [theirs] = all_have.postgres_params("rows", foreign=True).values()
    [with_gaps] = some_have.postgres_params("rows", foreign=False).values()
    assert [type(value) is str for value in (ours, theirs, with_gaps)] == [False, True, True]


def test_a_number_too_large_for_a_bigint_is_left_to_the_server() -> None:
    assert params(due_at=[2**63, 1]) == {"rows_due_at": f"{{{2**63}, 1}}"}


def test_ids_and_payloads_of_a_single_row_are_arrays() -> None:
    assert params(id=[UUID(int=1)], payload=["{}"], kind=["a"]).keys() == {
        "rows_id",
        "rows_payload",
        "all_kind",
    }


def test_a_column_without_a_value_is_not_sent() -> None:
    assert params(kind=[None, None], priority=()) == {}


@pytest.mark.parametrize("text", ['a"b', "a\\b", '\\"', "a,b", "{}", "NULL", ""])
def test_special_texts_are_escaped(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    assert params(kind=[text, "x"]) == {"rows_kind": f'{{"{escaped}","x"}}'}
    assert params(kind=[text, None]) == {"rows_kind": f'{{"{escaped}",NULL}}'}
    assert params(kind=[text, text]) == {"all_kind": text}


@pytest.mark.parametrize("text", ["a\0b", "\0", "\ud800"])
@pytest.mark.parametrize("other", ["x", None, "same"])
def test_what_no_store_can_keep_is_refused_by_name(text: str, other: str | None) -> None:
    with pytest.raises(InvalidArgument, match="kind"):
        params(kind=[text, text if other == "same" else other])
