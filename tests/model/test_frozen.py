"""Frozen dataclasses that are made the fast way are like any others."""

from copy import copy
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from duetime.model.fast_dataclass import maker


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    x: int
    y: int
    name: str = ""


to_point = maker(Point)


def test_what_is_made_is_one_of_them() -> None:
    made = to_point(1, 2, "a")
    assert type(made) is Point
    assert made == Point(x=1, y=2, name="a")
    assert {made} == {Point(x=1, y=2, name="a")}
    assert repr(made) == repr(Point(x=1, y=2, name="a"))
    assert replace(made, y=3) == Point(x=1, y=3, name="a")
    assert copy(made) == made


def test_what_is_made_cannot_be_changed() -> None:
    made = to_point(1, 2, "a")
    with pytest.raises(FrozenInstanceError):
        made.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del made.y


def test_every_field_must_be_given() -> None:
    with pytest.raises(TypeError):
        to_point(1, 2)
