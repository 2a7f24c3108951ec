"""JSON of results and progress is bounded while it is made."""

import itertools
import json
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_serializer

from duetime.model.payloads.bounded import TooLarge, bounded_json

LIMIT = 100_000
# The JSON of a value takes a few times its bytes while it is made.
MOST_MEMORY = 40 * LIMIT


class Box(BaseModel):
    """A model with anything in it."""

    content: Any = Field(serialization_alias="inside")


class Counted(BaseModel):
    """A model with an iterator in it."""

    numbers: Iterable[int]


@dataclass
class Plain:
    """A dataclass with anything in it."""

    content: object


class Pair(NamedTuple):
    """A named tuple."""

    first: int
    second: object


class Color(Enum):
    """An enum, whose members are JSON."""

    red = "r"


class Text(str):
    """A text of a user's own type, whose length is not to be trusted."""

    def __len__(self) -> int:
        return 0


class Data(bytes):
    """Bytes of a user's own type."""


class Number(int):
    """A number of a user's own type."""


class Long(Enum):
    """An enum whose members are long texts."""

    letters = "x" * (LIMIT // 10)
    more = ["y" * (LIMIT // 10)]


class Word(StrEnum):
    """An enum whose members are texts themselves."""

    letters = "x" * (LIMIT // 10)


class Open(BaseModel):
    """A model that takes more than its fields."""

    model_config = ConfigDict(extra="allow")


class Foreign:
    """What pydantic cannot write by itself."""


class Knowing(BaseModel):
    """A model that writes what pydantic cannot."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    thing: Foreign

    @field_serializer("thing")
    def write(self, thing: Foreign) -> str:
        return type(thing).__name__


def laughs() -> object:
    """A few lists whose JSON would have 2 ** 60 entries."""
    value: list[object] = ["ha"]
    for _ in range(60):
        value = [value, value]
    return value


ENDLESS: dict[str, Callable[[], object]] = {
    "iterator": itertools.count,
    "generator": lambda: (n for n in itertools.count()),
    "empty parts": lambda: itertools.repeat([]),
    "empty texts": lambda: itertools.repeat(""),
    "in a dict": lambda: {"a": [1, {"b": itertools.count()}]},
    "in a tuple": lambda: (1, itertools.count()),
    "in an iterator": lambda: iter([itertools.count()]),
    "in a dataclass": lambda: Plain(itertools.count()),
    "in a model": lambda: Box(content=itertools.count()),
    "in a typed model": lambda: Counted(numbers=itertools.count()),
    "in a named tuple": lambda: Pair(1, itertools.count()),
    "map": lambda: map(str, itertools.count()),
    "laughs": laughs,
    "one text many times": lambda: ["x" * LIMIT] * 1_000,
    "one number many times": lambda: [10 ** (LIMIT // 100)] * 10_000,
    "an own text many times": lambda: [Text("x" * LIMIT)] * 1_000,
    "own bytes many times": lambda: [Data(b"x" * LIMIT)] * 1_000,
    "an own number many times": lambda: [Number(10 ** (LIMIT // 100))] * 10_000,
    "a bytearray many times": lambda: [bytearray(b"x" * LIMIT)] * 1_000,
    "a member many times": lambda: [Long.letters] * 10_000,
    "a member of parts many times": lambda: [Long.more] * 10_000,
    "a text as a member many times": lambda: [Word.letters] * 10_000,
    "a path many times": lambda: [Path("x" * LIMIT)] * 1_000,
    "a key many times": lambda: [{"x" * LIMIT: 1}] * 1_000,
    "an own text as a key many times": lambda: [{Text("x" * LIMIT): 1}] * 1_000,
    "bytes as a key many times": lambda: [{b"x" * LIMIT: 1}] * 1_000,
    "a member as a key many times": lambda: [{Long.letters: 1}] * 10_000,
    "a path as a key many times": lambda: [{Path("x" * LIMIT): 1}] * 1_000,
    "what nobody can write": lambda: itertools.repeat(Foreign()),
    "more than fields many times": lambda: [Open.model_validate({"a": "x" * LIMIT})] * 1_000,
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_value_is_refused_before_it_takes_memory(name: str) -> None:
    value = ENDLESS[name]()
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match=r"100,000 are allowed.*max_payload"):
            bounded_json(value, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()


READ: list[tuple[Callable[[], object], object]] = [
    (lambda: iter([1, "a", None]), [1, "a", None]),
    (lambda: {"a": iter("ab"), "b": {1: 2.5}}, {"a": ["a", "b"], "b": {"1": 2.5}}),
    (lambda: Plain(iter([Plain(1)])), {"content": [{"content": 1}]}),
    (lambda: Box(content=iter([1])), {"inside": [1]}),
    (lambda: Counted(numbers=iter([1, 2])), {"numbers": [1, 2]}),
    (lambda: Pair(1, iter([2])), [1, [2]]),
    (lambda: deque([1, {2}]), [1, [2]]),
    (lambda: [Color.red, UUID(int=0), b"x"], ["r", str(UUID(int=0)), "x"]),
    (lambda: {UUID(int=0): 1, None: 2, Color.red: 3}, {str(UUID(int=0)): 1, "None": 2, "r": 3}),
    (lambda: list(range(1000)), list(range(1000))),
    (lambda: [Text("a"), Data(b"b"), bytearray(b"c"), Number(1)], ["a", "b", "c", 1]),
    (lambda: {Text("a"): Path("b"), b"c": Decimal("1.5"), 5: 6}, {"a": "b", "c": "1.5", "5": 6}),
    (lambda: Knowing(thing=Foreign()), {"thing": "Foreign"}),
    (lambda: Open.model_validate({"a": iter([1])}), {"a": [1]}),
]


@pytest.mark.parametrize(("make", "wanted"), READ)
@pytest.mark.filterwarnings("error")
def test_what_is_within_the_limit_is_written_whole(
    make: Callable[[], object], wanted: object
) -> None:
    assert json.loads(bounded_json(make(), LIMIT)) == wanted


SIZES: list[object] = [
    ["x" * 10],
    {"k": [1, 2.5]},
    Plain((None, True)),
    [[]],
    "é",
    [Text("é"), Data(b"x"), bytearray("é", "utf-8"), Path("a"), Word.letters, Long.more],
    {Text("a"): 1, b"b": 2, 3: 3, Path("é"): 4, None: 5, Long.letters: 6},
    [Decimal("1.5"), UUID(int=0), timedelta(0)],
]


@pytest.mark.parametrize("value", SIZES)
def test_the_limit_is_exact(value: object) -> None:
    size = len(bounded_json(value, LIMIT).encode())
    assert bounded_json(value, size)
    with pytest.raises(TooLarge):
        bounded_json(value, size - 1)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(ValueError, match="contains itself"):
        bounded_json(value, LIMIT)


def test_an_iterator_that_raises_ends_the_reading() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise KeyError("no more")

    with pytest.raises(KeyError):
        bounded_json([failing()], LIMIT)
