"""Frozen dataclasses, made as fast as others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


def maker(frozen: type[T]) -> Callable[..., T]:
    """Makes them of a value for each field, in the order of fields.

    A frozen dataclass sets its fields by a call for each, which takes several times as long as
    the rest. So a twin that has the same slots and is not frozen is filled, and then becomes one.
    """

    def become(twin: Any) -> None:
        twin.__class__ = frozen

    names = [field.name for field in fields(frozen)]  # type: ignore[arg-type]
    filled = {"__post_init__": become}
    return cast(
        "Callable[..., T]",
        make_dataclass(frozen.__name__, names, namespace=filled, slots=True, eq=False, repr=False),
    )


def filler(frozen: type[T], name: str) -> Callable[[Iterable[T], Iterable[object]], None]:
    """Sets a field of many that were made before it was known, and that nobody has seen yet."""
    put = vars(frozen)[name].__set__

    def fill(made: Iterable[T], values: Iterable[object]) -> None:
        deque(map(put, made, values), maxlen=0)

    return fill
