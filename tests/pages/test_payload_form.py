"""Forms for payload types: which fields they have, and that they lose nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel

from duetime import Secret
from duetime.admin.pages.payload_fields import MAX_FIELDS, fields_of
from duetime.admin.pages.payload_form import (
    TypedPayload,
    check_payload,
    shown_values,
    typed_payload,
)
from duetime.admin.pages.reader_zones import ReaderZone
from duetime.model.payloads.registry import Payloads, PayloadType

PARIS = ReaderZone("Europe/Paris")


class Color(Enum):
    red = "red"
    blue = "blue"


class Level(IntEnum):
    low = 1
    high = 2


class Point(BaseModel):
    x: int
    label: str | None = None


class Tree(BaseModel):
    name: str = ""
    left: Tree | None = None


class Deep(BaseModel):
    point: Point = Point(x=3)
    other: Point | None = None
    more: Deeper


class Deeper(BaseModel):
    deepest: Point


class Everything(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    text: str
    maybe: str | None
    number: float = 1.5
    whole: int = 3
    money: Decimal = Decimal("1.10")
    on: bool = True
    tri: bool | None = None
    color: Color = Color.red
    level: Level | None = None
    fixed: Literal["a"] = "a"
    day: date | None = None
    moment: datetime | None = None
    clock: time | None = None
    pause: timedelta = timedelta(minutes=5)
    id: UUID | None = None
    words: list[str] = []
    numbers: set[int] = set()
    pairs: list[tuple[int, str]] = []
    points: list[Point] = []
    union: int | str = 1
    anything: Any = None
    table: dict[str, int] = {}
    deep: Deep
    tree: Tree | None = None
    alias: int = Field(default=1, alias="Alias/~x")


@dataclass
class Login:
    user: str
    password: Secret
    old: list[Secret] = field(default_factory=list)


class Numbers(RootModel[list[int]]): ...


def entry_of(type_: type) -> PayloadType:
    return Payloads().add(type_, kind="it")


def types_of(type_: type) -> dict[str, str]:
    return {".".join(part.path): part.type for part in fields_of(entry_of(type_))}


def typed(type_: type, given: dict[str, str]) -> TypedPayload:
    """What is typed into the fields of a type, and checked."""
    entry = entry_of(type_)
    fields = fields_of(entry)

    def instant(name: str) -> datetime | None:
        return PARIS.instant(given[name])

    found = typed_payload(entry, fields, given.get, instant, str)
    if not found.errors:
        check_payload(entry, fields, found, str)
    return found


def test_the_field_of_each_type() -> None:
    assert types_of(Everything) == {
        "text": "text",
        "maybe": "text",
        "number": "number",
        "whole": "integer",
        "money": "format",
        "on": "switch",
        "tri": "choice",
        "color": "choice",
        "level": "choice",
        "fixed": "choice",
        "day": "date",
        "moment": "instant",
        "clock": "format",
        "pause": "format",
        "id": "format",
        "words": "lines",
        "numbers": "lines",
        "pairs": "json",
        "points": "json",
        "union": "json",
        "anything": "json",
        "table": "json",
        "deep.point.x": "integer",
        "deep.point.label": "text",
        "deep.other": "json",
        "deep.more.deepest.x": "integer",
        "deep.more.deepest.label": "text",
        "tree": "json",
        "Alias/~x": "integer",
    }
    assert types_of(Login) == {"user": "text", "password": "secret", "old": "json"}
    assert types_of(Numbers) == {"": "lines"}


def test_which_parts_are_never_shown() -> None:
    class Nested(BaseModel):
        logins: list[Login] = []
        trees: list[Tree] = []

    secret = {part.label: part.secret for part in fields_of(entry_of(Nested))}
    assert secret == {"logins": True, "trees": False}
    login = {part.label: part.secret for part in fields_of(entry_of(Login))}
    assert login == {"user": False, "password": True, "old": True}


def test_what_contains_itself_ends() -> None:
    class Node(BaseModel):
        value: int
        next: Node

    Node.model_rebuild(_types_namespace={"Node": Node})
    found = types_of(Node)
    assert "json" in found.values()
    assert len(found) < 10


def test_a_type_with_very_many_fields_is_typed_as_json() -> None:
    many: Any = type(
        "Many",
        (BaseModel,),
        {"__annotations__": dict.fromkeys([f"f{number}" for number in range(MAX_FIELDS + 1)], int)},
    )
    assert types_of(many) == {"": "json"}


def test_a_type_without_a_json_schema_is_typed_as_json() -> None:
    class Odd(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        thing: complex

    class WithCode(BaseModel):
        code: Callable[[], int]

    assert types_of(WithCode) == {"": "json"}
    assert set(types_of(Odd).values()) <= {"json", "text", "format"}


@pytest.mark.parametrize(
    ("type_", "given", "data"),
    [
        (Point, {"payload/x": "5"}, {"x": 5, "label": None}),
        (Point, {"payload/x": " 5 ", "payload/label": " a "}, {"x": 5, "label": " a "}),
        (Numbers, {"payload": "1\n2\n"}, [1, 2]),
        (Numbers, {}, []),
        (Login, {"payload/user": "a", "payload/password": " p "}, {"user": "a", "password": " p "}),
        (Tree, {"payload/name": "", "payload/left": ""}, {"name": "", "left": None}),
    ],
)
def test_what_is_typed(type_: type, given: dict[str, str], data: object) -> None:
    found = typed(type_, given)
    assert (found.errors, found.data) == ({}, data)


def test_parts_that_hold_secrets_are_not_filled_in() -> None:
    """Their stars would be scheduled in place of the secrets."""
    entry = entry_of(Login)
    login = Login("ann", Secret("hunter22"), [Secret("hunter21")])
    document = entry.adapter.dump_python(login, mode="json")
    shown = shown_values(fields_of(entry), document, PARIS)
    assert shown == {"payload/user": "ann", "payload/password": "", "payload/old": ""}


def test_what_is_missing_is_said_at_its_field() -> None:
    assert typed(Point, {}).errors == {"payload/x": "payload_missing"}
    assert typed(Login, {}).errors == {
        "payload/user": "payload_missing",
        "payload/password": "payload_missing",
    }


text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
lines = st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=5)
instants = st.datetimes(
    datetime(1971, 1, 1, tzinfo=None),  # noqa: DTZ001
    datetime(2200, 1, 1, tzinfo=None),  # noqa: DTZ001
    timezones=st.just(UTC),
)
points = st.builds(Point, x=st.integers(), label=st.none() | text.filter(bool))


@settings(deadline=None, max_examples=50)
@given(
    st.builds(
        Everything,
        text=text.filter(bool),
        maybe=st.none() | text.filter(bool),
        number=st.floats(allow_nan=False, allow_infinity=False),
        whole=st.integers(-(10**30), 10**30),
        money=st.decimals(-1000, 1000, places=3),
        on=st.booleans(),
        tri=st.none() | st.booleans(),
        color=st.sampled_from(Color),
        level=st.none() | st.sampled_from(Level),
        day=st.none() | st.dates(date(1000, 1, 1)),
        moment=st.none() | instants,
        pause=st.timedeltas(timedelta(), timedelta(days=3)),
        id=st.none() | st.uuids(),
        words=st.lists(lines),
        numbers=st.sets(st.integers()),
        pairs=st.lists(st.tuples(st.integers(), text)),
        points=st.lists(points),
        union=st.integers() | text,
        anything=st.recursive(st.none() | st.booleans() | text, st.lists),
        table=st.dictionaries(text, st.integers()),
        deep=st.builds(
            Deep,
            point=points,
            other=st.none() | points,
            more=st.builds(Deeper, deepest=points),
        ),
        tree=st.none() | st.builds(Tree, name=text, left=st.none()),
    )
)
def test_what_is_shown_and_sent_again_is_the_same(payload: Everything) -> None:
    entry = entry_of(Everything)
    document = entry.adapter.dump_python(payload, mode="json", by_alias=True)
    found = typed(Everything, shown_values(fields_of(entry), document, PARIS))
    assert found.errors == {}
    again = entry.adapter.validate_json(found.text)
    assert dict(again) == dict(payload)
