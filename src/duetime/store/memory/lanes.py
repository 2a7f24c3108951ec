"""The lanes of a MemoryStore: its unfinished actions by lane, the free ones by due time."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.actions.claim import LaneHead, Span

FIRST_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Row:
    """An unfinished action, with what only its store knows of it. One that waits for its
    parent stands in no lane."""

    record: Record
    lane: str | None
    stop_by: str | None = None


@dataclass(slots=True)
class _Shelf:
    """One lane. Those that run have left `free`, so that a claim never steps over them."""

    free: list[tuple[int, UUID]] = field(default_factory=list)
    held: set[UUID] = field(default_factory=set)


class Lanes:
    """Finds what is due without looking at anything else."""

    def __init__(self) -> None:
        self._shelves: dict[str, _Shelf] = {}

    def add(self, row: Row) -> None:
        if row.lane is None:
            return
        shelf = self._shelves.setdefault(row.lane, _Shelf())
        if _is_free(row.record):
            insort(shelf.free, _entry(row.record))
        else:
            shelf.held.add(row.record.id)

    def remove(self, row: Row) -> None:
        if row.lane is None:
            return
        shelf = self._shelves[row.lane]
        if _is_free(row.record):
            del shelf.free[bisect_left(shelf.free, _entry(row.record))]
        else:
            shelf.held.remove(row.record.id)
        if not shelf.free and not shelf.held:
            del self._shelves[row.lane]

    def due(self, span: Span, now: int) -> Iterator[UUID]:
        """The free actions of a span, by due time."""
        free = self._free(span.lane)
        start = bisect_left(free, (span.since, FIRST_ID))
        end = bisect_left(free, (now + span.ahead + 1, FIRST_ID))
        return (free[place][1] for place in range(start, end))

    def held(self) -> Iterator[UUID]:
        for shelf in self._shelves.values():
            yield from shelf.held

    def heads(self) -> list[LaneHead]:
        return [
            LaneHead(lane, shelf.free[0][0] if shelf.free else None)
            for lane, shelf in sorted(self._shelves.items())
        ]

    def head(self, lane: str, since: int) -> LaneHead:
        free = self._free(lane)
        place = bisect_left(free, (since, FIRST_ID))
        return LaneHead(lane, free[place][0] if place < len(free) else None)

    def _free(self, lane: str) -> list[tuple[int, UUID]]:
        shelf = self._shelves.get(lane)
        return shelf.free if shelf else []


def _is_free(record: Record) -> bool:
    return record.token is None and record.due_at is not None


def _entry(record: Record) -> tuple[int, UUID]:
    return record.due_at or 0, record.id
