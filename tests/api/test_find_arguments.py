"""The arguments of `find`: what is accepted, what is refused, and cursors that serve one filter."""

import base64
from datetime import UTC, datetime
from typing import Any, get_type_hints
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime import ANY, Priority, State
from duetime.api.find_arguments import SORTS, FindArguments, to_action_filter, to_sort
from duetime.errors import DuetimeError, InvalidArgument, NaiveDatetime
from duetime.model.cursor import from_cursor, to_cursor
from duetime.model.filter import Filter, Position, Sort
from duetime.model.tenant import AMBIENT

ID = UUID(int=7)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {}),
        ({"state": None, "kind": None, "q": None}, {}),
        ({"state": "failed"}, {"states": (State.failed,)}),
        ({"state": ["running", State.failed, "failed"]}, {"states": (State.failed, State.running)}),
        ({"kind": "b"}, {"kinds": ("b",)}),
        ({"kind": iter(["b", "a", "b"])}, {"kinds": ("a", "b")}),
        ({"priority": "high"}, {"priority": Priority.high.rank}),
        ({"after": str(ID)}, {"after": ID}),
        ({"parked": False, "overdue": True}, {"parked": False, "overdue": True}),
        ({"created_from": NOON}, {"created_from": 1_767_268_800_000_000}),
        ({"q": "../%2f'\"; --"}, {"search": "../%2f'\"; --"}),
    ],
)
def test_accepted(arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    assert to_action_filter(arguments) == Filter(**expected, tenant=None)


def test_the_tenant_is_the_ambient_one_unless_given() -> None:
    for tenant, scope in ((AMBIENT, None), (ANY, ANY), ("a", "a"), (None, None)):
        assert to_action_filter({"tenant": tenant}).tenant == scope


WRONG: list[object] = [
    *(0, -1, 1.5, True, b"x", object(), [], [[]], {}, [1], [None], (), set()),
    *("", " ", "a\x00b", "\ud800", "x" * 501, float("nan"), 2**70),
]
BY_TYPE = {
    "text": ("queue", "correlation_id", "key", "job", "error_group", "worker", "by", "q"),
    "flag": ("parked", "waiting", "retrying", "overdue"),
    "choice": ("state", "kind", "priority", "after"),
    "instant": tuple(
        f"{event}_{end}" for event in ("due", "created", "finished") for end in ("from", "before")
    ),
}


def test_every_argument_is_tested() -> None:
    names = {name for some in BY_TYPE.values() for name in some} | {"tenant"}
    assert names == {*get_type_hints(FindArguments)}


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("name", [name for some in BY_TYPE.values() for name in some])
def test_wrong_values_are_refused_by_name(name: str, value: object) -> None:
    if isinstance(value, bool) and name in BY_TYPE["flag"]:
        return
    with pytest.raises(InvalidArgument) as caught:
        to_action_filter({name: value})
    assert caught.value.argument == name


def test_naive_instants_are_refused() -> None:
    with pytest.raises(NaiveDatetime, match="due_from"):
        to_action_filter({"due_from": NOON.replace(tzinfo=None)})


@pytest.mark.parametrize(
    ("name", "hint"), [("kinds", "'kind'"), ("limit", ""), ("cursor", ""), ("error_grup", "error_")]
)
def test_unknown_arguments_are_refused(name: str, hint: str) -> None:
    with pytest.raises(InvalidArgument, match=name) as caught:
        to_action_filter({name: "x"})
    assert hint in str(caught.value)


@pytest.mark.parametrize("sort", SORTS)
def test_sorts(sort: str) -> None:
    assert to_sort(sort, ()) == Sort(sort.lstrip("-"), sort.startswith("-"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sort", ["", "-", "--due_at", "id", "due_at;", "due_at desc", "'", "a/../b", "%2f", "\x00", 1]
)
def test_other_sorts_are_refused(sort: Any) -> None:
    with pytest.raises(InvalidArgument, match="created_at, -created_at, due_at"):
        to_sort(sort, ())


@pytest.mark.parametrize(
    ("sort", "states"),
    [
        ("due_at", (State.failed,)),
        ("-due_at", (State.failed, State.scheduled)),
        ("finished_at", (State.running,)),
    ],
)
def test_a_sort_that_leaves_out_a_wanted_state_is_refused(
    sort: str, states: tuple[State, ...]
) -> None:
    with pytest.raises(InvalidArgument, match="it orders"):
        to_sort(sort, states)


PAGE = Position(-(2**60), ID)
WANTED = Filter(kinds=("a",), tenant="acme")


def test_a_cursor_serves_its_filter_whatever_the_page() -> None:
    cursor = to_cursor(PAGE, WANTED)
    assert from_cursor(cursor, WANTED) == PAGE
    later = Filter(kinds=("a",), tenant="acme", limit=7, follows=PAGE)
    assert from_cursor(cursor, later) == PAGE


@pytest.mark.parametrize(
    "other",
    [
        Filter(kinds=("a",), tenant="evil"),
        Filter(kinds=("a",), tenant=None),
        Filter(kinds=("a",)),
        Filter(kinds=("a", "b"), tenant="acme"),
        Filter(kinds=("a",), tenant="acme", sort=Sort("created_at", False)),
        Filter(kinds=("a",), tenant="acme", sort=Sort("due_at", True)),
        Filter(kinds=("a",), tenant="acme", overdue=False),
    ],
)
def test_a_cursor_of_another_filter_is_refused(other: Filter) -> None:
    with pytest.raises(InvalidArgument, match="another filter, sort or tenant"):
        from_cursor(to_cursor(PAGE, WANTED), other)


@given(st.data())
def test_a_changed_cursor_is_refused(data: st.DataObject) -> None:
    raw = bytearray(base64.urlsafe_b64decode(to_cursor(PAGE, WANTED)))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(InvalidArgument):
        from_cursor(base64.urlsafe_b64encode(bytes(raw)).decode(), WANTED)


@given(st.text() | st.integers() | st.binary() | st.none())
def test_what_is_no_cursor_is_refused(cursor: Any) -> None:
    with pytest.raises(DuetimeError, match="cursor"):
        from_cursor(cursor, WANTED)
