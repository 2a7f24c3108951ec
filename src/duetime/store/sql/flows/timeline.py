"""The timeline, for all SQL stores: a few bounded reads by index."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from duetime.model.jobs.job import JobRecord
from duetime.model.state import FINISHED, State
from duetime.model.tenant import ANY
from duetime.model.timeline import (
    StoredSpan,
    StoredTimeline,
    TimelineFilter,
    examined_rows,
    searched_lanes,
)
from duetime.store.base import Store
from duetime.store.flow import Mode, Row, Rows, Statement, Steps, flow
from duetime.store.sql.flows import records
from duetime.store.sql.statements.bulk_rows import json_param

T = TypeVar("T")


class TimelineFlows(Store, ABC):
    @flow(Mode.read)
    def timeline(self, wanted: TimelineFilter) -> Steps[StoredTimeline]:
        ahead = yield from self.look_ahead().start()
        lanes = searched_lanes((head.lane for head in ahead.lanes), wanted.tenant)
        finished = yield from _finished(wanted)
        unfinished = yield from _unfinished(wanted, lanes)
        jobs = (yield from _ticking(wanted)) if wanted.with_jobs else ([], False)
        return StoredTimeline(ahead.now, *finished, *unfinished, *jobs)


def _finished(wanted: TimelineFilter) -> Steps[tuple[Sequence[StoredSpan], bool]]:
    examined = examined_rows(wanted, 1)
    spans: list[StoredSpan] = []
    capped = False
    for state in sorted(FINISHED):
        params = {"state": state.value, "since": wanted.start, "examined": examined}
        found = yield Statement("timeline_finished", _scope_params(wanted) | params)
        spans += _spans(found)
        capped |= _is_full(found, examined, wanted)
    newest_first = sorted(spans, key=lambda s: (s.finished_at or 0, s.id), reverse=True)
    return _cut(newest_first, capped, wanted)


def _unfinished(
    wanted: TimelineFilter, lanes: Sequence[str]
) -> Steps[tuple[Sequence[StoredSpan], bool]]:
    examined = examined_rows(wanted, len(lanes))
    rows = json_param({"lane": lane, "since": wanted.start} for lane in lanes)
    params = {"rows": rows, "examined": examined}
    found = yield Statement("timeline_unfinished", _scope_params(wanted) | params)
    soonest_first = sorted(_spans(found), key=lambda s: (s.due_at or 0, s.id))
    return _cut(soonest_first, _is_full(found, examined, wanted), wanted)


def _ticking(wanted: TimelineFilter) -> Steps[tuple[Sequence[JobRecord], bool]]:
    found = yield Statement("timeline_jobs", _scope_params(wanted))
    jobs, _ = records.split_readable(found)
    ordered = sorted(jobs.values(), key=lambda job: (job.next_due_at or 0, job.name))
    return _cut(ordered, len(found) > wanted.limit, wanted)


def _scope_params(wanted: TimelineFilter) -> dict[str, object]:
    return {
        "until": wanted.end,
        "tenant": wanted.tenant if isinstance(wanted.tenant, str) else None,
        "untenanted": wanted.tenant is None or None,
        "limit": wanted.limit + 1,
    }


def _is_full(found: Rows, examined: int, wanted: TimelineFilter) -> bool:
    """Return whether as many rows were searched as may be, so that there may be more in scope."""
    return wanted.tenant is not ANY and cast("int", found[0][0]) >= examined


def _cut(items: Sequence[T], capped: bool, wanted: TimelineFilter) -> tuple[Sequence[T], bool]:
    return items[: wanted.limit], capped or len(items) > wanted.limit


def _spans(found: Rows) -> list[StoredSpan]:
    """Read rows of `_spans_in_scope.sql`; a row without an id only has the number."""
    return [_span(row) for row in found if row[1] is not None]


def _span(row: Row) -> StoredSpan:
    _, id_, kind, queue, tenant, job, state, outcome, *instants = cast("Any", row)
    shown = (instant if isinstance(instant, int) else None for instant in instants)
    return StoredSpan(
        UUID(id_), kind, queue, tenant, job, State(state), records.outcome(outcome), *shown
    )
