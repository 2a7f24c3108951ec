"""Instances of `fast_constructor` behave like any other frozen dataclass."""

from copy import copy
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from duetime.model.columns import fast_constructor


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    x: int
    y: int
    name: str = ""


to_point = fast_constructor(Point)


def test_the_instance_has_the_class_and_its_methods() -> None:
    point = to_point(1, 2, "a")
    assert type(point) is Point
    assert point == Point(x=1, y=2, name="a")
    assert {point} == {Point(x=1, y=2, name="a")}
    assert repr(point) == repr(Point(x=1, y=2, name="a"))
    assert replace(point, y=3) == Point(x=1, y=3, name="a")
    assert copy(point) == point


def test_the_instance_is_frozen() -> None:
    point = to_point(1, 2, "a")
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.y


def test_every_field_must_be_given() -> None:
    with pytest.raises(TypeError):
        to_point(1, 2)
