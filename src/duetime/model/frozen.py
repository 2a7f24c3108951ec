"""Frozen dataclasses, made as fast as others."""

from __future__ import annotations

from collections.abc import Callable
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
