"""The timeline of a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from duetime.model.actions.action import Record
from duetime.model.jobs.job import JobRecord
from duetime.model.state import State
from duetime.model.tenant import ANY, sees
from duetime.model.timeline import (
    StoredSpan,
    StoredTimeline,
    TimelineFilter,
    examined_rows,
    searched_lanes,
)
from duetime.store.base import Store
from duetime.store.flow import immediate
from duetime.store.memory.tables import Tables

T = TypeVar("T")


class MemoryTimeline(Store, ABC):
    _tables: Tables

    @abstractmethod
    def _now(self) -> int: ...

    @immediate
    def timeline(self, wanted: TimelineFilter) -> StoredTimeline:
        return StoredTimeline(
            self._now(),
            *_cut(self._finished_spans(wanted), wanted),
            *_cut(self._unfinished_spans(wanted), wanted),
            *_cut(self._ticking_jobs(wanted), wanted),
        )

    def _finished_spans(self, wanted: TimelineFilter) -> tuple[list[StoredSpan], bool]:
        """Return spans of the scope, and whether there are more that were not examined."""
        by_state: dict[str, list[Record]] = defaultdict(list)
        ended = self._tables.finished.values()
        for record in sorted(ended, key=lambda r: (r.finished_at or 0, r.id), reverse=True):
            if wanted.start <= (record.finished_at or 0) < wanted.end:
                by_state[record.state].append(record)
        found, capped = _search(by_state.values(), wanted, examined_rows(wanted, 1))
        newest_first = sorted(found, key=lambda r: (r.finished_at or 0, r.id), reverse=True)
        return [_span(record) for record in newest_first], capped

    def _unfinished_spans(self, wanted: TimelineFilter) -> tuple[list[StoredSpan], bool]:
        by_lane: dict[str, list[Record]] = defaultdict(list)
        rows = sorted(self._tables.unfinished.values(), key=lambda row: row.record.due_at or 0)
        for row in rows:
            due_at = row.record.due_at
            if due_at is not None and wanted.start <= due_at < wanted.end and row.lane is not None:
                by_lane[row.lane].append(row.record)
        lanes = searched_lanes({row.lane for row in rows if row.lane is not None}, wanted.tenant)
        groups = [by_lane[lane] for lane in lanes]
        found, capped = _search(groups, wanted, examined_rows(wanted, len(lanes)))
        return [_span(r) for r in sorted(found, key=lambda r: (r.due_at or 0, r.id))], capped

    def _ticking_jobs(self, wanted: TimelineFilter) -> tuple[list[JobRecord], bool]:
        jobs = self._tables.jobs.values() if wanted.with_jobs else ()
        due = [
            (job.next_due_at, job.name, job)
            for job in jobs
            if job.next_due_at is not None
            and job.next_due_at < wanted.end
            and sees(wanted.tenant, job.tenant)
        ]
        return [job for _, _, job in sorted(due, key=lambda entry: entry[:2])], False


def _search(
    groups: Iterable[Sequence[Record]], wanted: TimelineFilter, examined: int
) -> tuple[list[Record], bool]:
    """Return what is in scope of the first records of each group, and whether there may be more."""
    found = [group[:examined] for group in groups]
    capped = wanted.tenant is not ANY and any(len(group) == examined for group in found)
    visible = [r for group in found for r in group if sees(wanted.tenant, r.tenant)]
    return visible, capped


def _cut(found: tuple[Sequence[T], bool], wanted: TimelineFilter) -> tuple[Sequence[T], bool]:
    items, capped = found
    return items[: wanted.limit], capped or len(items) > wanted.limit


def _span(record: Record) -> StoredSpan:
    span = StoredSpan(*(getattr(record, name) for name in StoredSpan._fields))
    return span._replace(started_at=None) if record.state is State.scheduled else span
