"""The lanes of a MemoryStore: unfinished actions by lane, free ones ordered by due time."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from duetime.model.actions.action import Record
from duetime.model.actions.claim import LaneHead, LaneSpan

FIRST_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """An unfinished action with its lane and its stop request. A waiting child is in no lane."""

    record: Record
    lane: str | None
    stop_by: str | None = None


@dataclass(slots=True)
class _LaneIndex:
    """The index of a lane. Running actions are not in `free`: a claim need not skip them."""

    free: list[tuple[int, UUID]] = field(default_factory=list)
    running: set[UUID] = field(default_factory=set)


class Lanes:
    """Finds due actions without reading any others."""

    def __init__(self) -> None:
        self._lanes: dict[str, _LaneIndex] = {}

    def add(self, row: MemoryRow) -> None:
        if row.lane is None:
            return
        lane_index = self._lanes.setdefault(row.lane, _LaneIndex())
        if _is_free(row.record):
            insort(lane_index.free, _entry(row.record))
        else:
            lane_index.running.add(row.record.id)

    def remove(self, row: MemoryRow) -> None:
        if row.lane is None:
            return
        lane_index = self._lanes[row.lane]
        if _is_free(row.record):
            del lane_index.free[bisect_left(lane_index.free, _entry(row.record))]
        else:
            lane_index.running.remove(row.record.id)
        if not lane_index.free and not lane_index.running:
            del self._lanes[row.lane]

    def due(self, span: LaneSpan, now: int) -> Iterator[UUID]:
        """Return the free actions of a span, by due time."""
        free = self._free(span.lane)
        start = bisect_left(free, (span.since, FIRST_ID))
        end = bisect_left(free, (now + span.ahead + 1, FIRST_ID))
        return (free[index][1] for index in range(start, end))

    def running(self) -> Iterator[UUID]:
        for lane_index in self._lanes.values():
            yield from lane_index.running

    def heads(self) -> list[LaneHead]:
        return [
            LaneHead(lane, lane_index.free[0][0] if lane_index.free else None)
            for lane, lane_index in sorted(self._lanes.items())
        ]

    def head(self, lane: str, since: int) -> LaneHead:
        free = self._free(lane)
        first = bisect_left(free, (since, FIRST_ID))
        return LaneHead(lane, free[first][0] if first < len(free) else None)

    def _free(self, lane: str) -> list[tuple[int, UUID]]:
        lane_index = self._lanes.get(lane)
        return lane_index.free if lane_index else []


def _is_free(record: Record) -> bool:
    return record.token is None and record.due_at is not None


def _entry(record: Record) -> tuple[int, UUID]:
    return record.due_at or 0, record.id
