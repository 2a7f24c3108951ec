"""JSON of results and progress is bounded while it is made."""

import itertools
import json
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

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
]


@pytest.mark.parametrize(("make", "wanted"), READ)
@pytest.mark.filterwarnings("error")
def test_what_is_within_the_limit_is_written_whole(
    make: Callable[[], object], wanted: object
) -> None:
    assert json.loads(bounded_json(make(), LIMIT)) == wanted


@pytest.mark.parametrize("value", [["x" * 10], {"k": [1, 2.5]}, Plain((None, True)), [[]], "é"])
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
