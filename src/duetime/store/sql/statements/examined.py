"""Pages made of the rows that statements have examined, each in the order of its index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from duetime.model.filter import Position, Sort

FIRST_ID, LAST_ID = UUID(int=0), UUID(int=2**128 - 1)


class ExaminedRow(NamedTuple):
    """A row that matches, or the last one that was examined of a range that may have more."""

    position: Position
    fits: bool
    last: bool


@dataclass(frozen=True, slots=True)
class Reached:
    """Matches in order, and the position up to which all have been examined; None at the end."""

    matches: Sequence[Position]
    end: Position | None

    def page(self, limit: int) -> Reached:
        """Return the first `limit` matches, and where the next page begins."""
        if len(self.matches) <= limit:
            return self
        return Reached(self.matches[:limit], self.matches[limit - 1])


def in_order_of_ids(rows: Iterable[ExaminedRow], sort: Sort) -> Reached:
    """Return the matches up to the nearest end of a range: beyond it, rows may be missing."""
    listed = sorted(rows, key=lambda row: row.position, reverse=sort.descending)
    ends = [row.position for row in listed if row.last]
    end = ends[0] if ends else None
    return Reached(_up_to(end, listed, sort), end)


def in_order_of_times(rows: Iterable[ExaminedRow], sort: Sort, after: Position | None) -> Reached:
    """Return the matches after a position, up to before the nearest time at which a range ended:
    others may have that time, too."""
    listed = sorted(rows, key=lambda row: row.position, reverse=sort.descending)
    times = [row.position.value for row in listed if row.last]
    end = _before(times[0], sort) if times else None
    follows = (row for row in listed if is_beyond(row.position, after, sort))
    return Reached(_up_to(end, follows, sort), end)


def after_time(time: int, sort: Sort) -> Position:
    """Return the position after everything at a time."""
    return Position(time, FIRST_ID if sort.descending else LAST_ID)


def time_after(end: Position | None, sort: Sort) -> int:
    """Return the time that follows the end of a range, which `in_order_of_times` returned."""
    if end is None:
        raise ValueError("a range without an end has no time after it")
    return nearest_time(end, sort)


def nearest_time(position: Position, sort: Sort) -> int:
    """Return the first time at which something may follow a position."""
    if position.id != after_time(position.value, sort).id:
        return position.value
    return position.value - 1 if sort.descending else position.value + 1


def is_beyond(position: Position, other: Position | None, sort: Sort) -> bool:
    """Return whether a position comes after another one, or after the beginning."""
    if other is None:
        return True
    return position < other if sort.descending else position > other


def _before(time: int, sort: Sort) -> Position:
    """Return the position before everything at a time."""
    return after_time(time + 1 if sort.descending else time - 1, sort)


def _up_to(end: Position | None, rows: Iterable[ExaminedRow], sort: Sort) -> list[Position]:
    fitting = (row.position for row in rows if row.fits)
    return [found for found in fitting if end is None or not is_beyond(found, end, sort)]
