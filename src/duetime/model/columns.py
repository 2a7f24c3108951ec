"""Columns of many rows, and the fast making of frozen dataclasses from them.

A value that all rows share is stored once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, make_dataclass
from itertools import repeat
from operator import is_
from typing import Any, TypeVar, cast, overload

T = TypeVar("T")


class ConstantColumn(Sequence[T]):
    """A column in which every row has the same value."""

    def __init__(self, value: T, length: int) -> None:
        self.value = value
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> ConstantColumn[T]: ...
    def __getitem__(self, index: int | slice) -> T | ConstantColumn[T]:
        selected = range(self._length)[index]
        return (
            self.value if isinstance(selected, int) else ConstantColumn(self.value, len(selected))
        )

    def __iter__(self) -> Iterator[T]:
        return repeat(self.value, self._length)

    def __contains__(self, value: object) -> bool:
        return self.count(value) > 0

    def count(self, value: Any) -> int:
        return self._length if value is self.value or value == self.value else 0


def map_columns(convert: Callable[..., T], *columns: Sequence[Any]) -> Sequence[T]:
    """Apply `convert` to the rows of the columns; only once if all columns are constant."""
    if all(map(is_constant, columns)):
        return ConstantColumn(convert(*(column[0] for column in columns)), len(columns[0]))
    return [*map(convert, *columns)]


def to_columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
    """Return the rows as columns by name; empty columns if there are no rows."""
    if isinstance(rows, ConstantColumn):
        values = zip(names, rows.value, strict=True)
        return {name: ConstantColumn(value, len(rows)) for name, value in values}
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, columns, strict=True))


def is_constant(column: Sequence[object]) -> bool:
    """Return whether all rows have the same value.

    Values other than strings must be the same object. Equality is not enough: two datetimes in the
    hour that a clock change repeats are equal, True equals 1, and comparing payloads would call
    users' code.
    """
    if isinstance(column, ConstantColumn) or not column:
        return len(column) > 0
    first = column[0]
    if isinstance(first, str):
        return column.count(first) == len(column)
    return all(map(is_, column, repeat(first)))


def is_empty(column: Sequence[object]) -> bool:
    """Return whether all rows are None; the first row decides for most columns."""
    return (not column or column[0] is None) and column.count(None) == len(column)


def fast_constructor(frozen: type[T]) -> Callable[..., T]:
    """Return a constructor that takes a value for each field, in field order.

    A frozen dataclass sets each field by a function call, which takes several times as long as
    the rest. The constructor fills an unfrozen twin with the same slots, then changes its class.
    """

    def become(twin: Any) -> None:
        twin.__class__ = frozen

    names = [field.name for field in fields(frozen)]  # type: ignore[arg-type]
    namespace = {"__post_init__": become}
    # A class can be changed only into one of the same bases: Generic, or none.
    bases = getattr(frozen, "__orig_bases__", ())
    return cast(
        "Callable[..., T]",
        make_dataclass(
            frozen.__name__,
            names,
            bases=bases,
            namespace=namespace,
            slots=True,
            eq=False,
            repr=False,
        ),
    )


def bulk_setter(frozen: type[T], name: str) -> Callable[[Iterable[T], Iterable[object]], None]:
    """Return a function that sets one field of many instances that no caller has seen yet."""
    set_field = vars(frozen)[name].__set__

    def fill(instances: Iterable[T], values: Iterable[object]) -> None:
        deque(map(set_field, instances, values), maxlen=0)

    return fill
