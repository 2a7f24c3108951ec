"""Columns of many rows: what stands in all of them is kept once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from operator import is_
from typing import Any, TypeVar, overload

T = TypeVar("T")


class Repeated(Sequence[T]):
    """The same value so many times."""

    def __init__(self, value: T, times: int) -> None:
        self.value = value
        self._times = times

    def __len__(self) -> int:
        return self._times

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Repeated[T]: ...
    def __getitem__(self, place: int | slice) -> T | Repeated[T]:
        within = range(self._times)[place]
        return self.value if isinstance(within, int) else Repeated(self.value, len(within))

    def __iter__(self) -> Iterator[T]:
        return repeat(self.value, self._times)

    def __contains__(self, value: object) -> bool:
        return self.count(value) > 0

    def count(self, value: Any) -> int:
        return self._times if value is self.value or value == self.value else 0


def each(convert: Callable[..., T], *columns: Sequence[Any]) -> Sequence[T]:
    """A column made of others, row by row: once, where each of them has one value for all rows."""
    if all(map(is_alike, columns)):
        return Repeated(convert(*(column[0] for column in columns)), len(columns[0]))
    return [*map(convert, *columns)]


def unzipped(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
    """The columns of rows, also of none."""
    if isinstance(rows, Repeated):
        alike = zip(names, rows.value, strict=True)
        return {name: Repeated(value, len(rows)) for name, value in alike}
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, columns, strict=True))


def is_alike(column: Sequence[object]) -> bool:
    """Whether the same stands in all rows. What is not text must be the same object: where clocks
    go back two hours are equal, True equals 1, and whoever compares actions compares what users
    put into them."""
    if isinstance(column, Repeated) or not column:
        return len(column) > 0
    first = column[0]
    if isinstance(first, str):
        return column.count(first) == len(column)
    return all(map(is_, column, repeat(first)))


def is_empty(column: Sequence[object]) -> bool:
    """Whether nothing stands in any row; the first tells it of most columns."""
    return (not column or column[0] is None) and column.count(None) == len(column)
