"""The timeline: what ran, what is scheduled, and the coming ticks of jobs, on one axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from duetime.errors import InvalidRecurrence
from duetime.model.clock import from_micros, maybe_nearest
from duetime.model.jobs.job import JobRecord, rule_of
from duetime.model.lane import lane_of, parse_lane, readable_lane
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY, Scope

MAX_LIMIT = 500
# Coming ticks of one job, and of all jobs together.
MAX_TICKS_OF_JOB = 200
MAX_TICKS = 5000
# Steps of searches that find no tick, for all jobs together: of a rule that leaves out very many
# ticks in a row, a timeline need not know them all.
PATIENCE_OF_TIMELINE = 200
# Rows that are searched for those of a tenant: of each finished state, and of all lanes together.
MAX_EXAMINED = 6000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineFilter:
    """What a timeline shows: `start` <= instant < `end`; jobs only `with_jobs`."""

    start: int
    end: int
    tenant: Scope
    limit: int
    with_jobs: bool = True
    examined: int = MAX_EXAMINED


def searched_lanes(lanes: Iterable[str], tenant: Scope) -> list[str]:
    """Return the lanes that may hold actions of the scope."""
    if tenant is ANY:
        return list(lanes)
    shard = parse_lane(lane_of("any", 0, tenant)).shard
    parsed = ((text, readable_lane(text)) for text in lanes)
    return [text for text, lane in parsed if lane is None or lane.shard == shard]


def examined_rows(wanted: TimelineFilter, groups: int) -> int:
    """Return how many rows of each group to search. Where all are shown, one more than the limit
    tells that there are more."""
    if wanted.tenant is ANY:
        return wanted.limit + 1
    return max(wanted.examined // max(groups, 1), 1)


class StoredSpan(NamedTuple):
    """An action of the timeline as a store returns it."""

    id: UUID
    kind: str
    queue: str
    tenant: str | None
    job: str | None
    state: State
    outcome: Outcome | None
    due_at: int | None
    started_at: int | None
    finished_at: int | None


@dataclass(frozen=True, slots=True)
class StoredTimeline:
    """The lists of a timeline at the store's time `now`, and whether they are capped."""

    now: int
    finished: Sequence[StoredSpan]
    finished_capped: bool
    unfinished: Sequence[StoredSpan]
    unfinished_capped: bool
    jobs: Sequence[JobRecord]
    jobs_capped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineAction:
    """An action on the timeline: its last run, or when it is due."""

    id: UUID
    kind: str
    queue: str
    tenant: str | None
    job: str | None
    state: State
    outcome: Outcome | None
    due_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingTicks:
    """The next ticks of a job on the timeline; `capped` if it has more of them there."""

    job: str
    kind: str
    queue: str
    tenant: str | None
    ticks: tuple[datetime, ...]
    capped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What ran between two instants, newest first; what is running or scheduled, soonest first; and
    the ticks to come, by job, the soonest first. A list is capped if it had to be cut."""

    start: datetime
    end: datetime
    at: datetime
    ran: tuple[TimelineAction, ...]
    ran_capped: bool
    scheduled: tuple[TimelineAction, ...]
    scheduled_capped: bool
    ticks: tuple[ComingTicks, ...]
    ticks_capped: bool


def timeline_of(wanted: TimelineFilter, found: StoredTimeline) -> Timeline:
    """Return the timeline with the ticks of its jobs."""
    ticks, all_shown = _coming_ticks(found.jobs, wanted)
    return Timeline(
        start=from_micros(wanted.start),
        end=from_micros(wanted.end),
        at=from_micros(found.now),
        ran=tuple(map(_action, found.finished)),
        ran_capped=found.finished_capped,
        scheduled=tuple(map(_action, found.unfinished)),
        scheduled_capped=found.unfinished_capped,
        ticks=ticks,
        ticks_capped=found.jobs_capped or not all_shown,
    )


def _action(span: StoredSpan) -> TimelineAction:
    fields = span._asdict()
    for name in ("due_at", "started_at", "finished_at"):
        fields[name] = maybe_nearest(fields[name])
    return TimelineAction(**fields)


def _coming_ticks(
    jobs: Iterable[JobRecord], wanted: TimelineFilter
) -> tuple[tuple[ComingTicks, ...], bool]:
    """Return the ticks of jobs, and whether that is all of them. The rule of a job may be of a
    newer version, and unreadable to this one: then only its stored next tick is shown."""
    shown: list[ComingTicks] = []
    left, patience = MAX_TICKS, PATIENCE_OF_TIMELINE
    for job in jobs:
        ticks, patience = _ticks_of(job, wanted, min(MAX_TICKS_OF_JOB, left) + 1, patience)
        kept = ticks[: min(MAX_TICKS_OF_JOB, left)]
        capped = len(ticks) > len(kept) or not patience
        if kept:
            shown.append(_ticks_to_show(job, kept, capped))
        elif capped:
            return tuple(shown), False
        left -= len(kept)
    return tuple(shown), True


def _ticks_of(
    job: JobRecord, wanted: TimelineFilter, limit: int, patience: int
) -> tuple[list[datetime], int]:
    """Return the ticks of a job, and how much patience is left to search for those of others."""
    if job.next_due_at is None:
        return [], patience
    start = max(job.next_due_at, wanted.start)
    if start >= wanted.end:
        return [], patience
    try:
        after, until = from_micros(start - 1), from_micros(wanted.end - 1)
        return rule_of(job).search(after, until, limit, patience)
    except InvalidRecurrence:
        next_due = from_micros(job.next_due_at)
        return [next_due] if job.next_due_at >= wanted.start else [], patience


def _ticks_to_show(job: JobRecord, ticks: Sequence[datetime], capped: bool) -> ComingTicks:
    definition = job.definition
    return ComingTicks(
        job=job.name,
        kind=definition.kind,
        queue=definition.queue,
        tenant=job.tenant,
        ticks=tuple(ticks),
        capped=capped,
    )
