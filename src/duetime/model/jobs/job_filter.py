"""Which jobs a read shows, in which order, and where its next page begins."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from duetime.model.jobs.view import JobState, JobView, state_of
from duetime.model.page_cursor import seal, unseal
from duetime.model.tenant import Scope, sees

JobSortField = Literal["name", "next_due_at", "consecutive_failures"]
# Jobs without a next tick come last, whichever way they are sorted.
NO_TICK = 2**62


class JobSort(NamedTuple):
    """The order of a page; jobs of the same value follow each other by name."""

    by: JobSortField = "name"
    descending: bool = False

    @property
    def sign(self) -> int:
        return -1 if self.descending else 1

    def key(self, view: JobView) -> int:
        """Return the value by which a job is sorted, smallest first; 0 if that is its name."""
        if self.by == "consecutive_failures":
            return self.sign * view.job.consecutive_failures
        due = view.job.next_due_at
        if self.by == "next_due_at":
            return NO_TICK if due is None else self.sign * due
        return 0


class JobPosition(NamedTuple):
    """Where a page ended: the sort key and the name of its last job."""

    key: int
    name: str


BY_NAME = JobSort()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Matches jobs by every field that is not None; `search` is a part of the name. Shows the next
    `limit` of them in the order of `sort` after `follows`."""

    tenant: Scope
    name: str | None = None
    removed: bool = False
    state: JobState | None = None
    enabled: bool | None = None
    failing: bool | None = None
    declared: bool | None = None
    kind: str | None = None
    queue: str | None = None
    due_before: int | None = None
    search: str | None = None
    sort: JobSort = BY_NAME
    follows: JobPosition | None = None
    limit: int = 1

    @property
    def criteria(self) -> JobFilter:
        """What all pages of a list have in common."""
        return replace(self, follows=None, limit=0)


def page_of(views: Iterable[JobView], wanted: JobFilter) -> list[JobView]:
    """Return the page of these jobs, as every store does."""
    found = sorted((view for view in views if fits(view, wanted)), key=lambda view: view.job.name)
    if wanted.sort == JobSort("name", descending=True):
        found.reverse()
    ordered = sorted(found, key=wanted.sort.key)
    return [view for view in ordered if _is_after(view, wanted)][: wanted.limit]


def fits(view: JobView, wanted: JobFilter) -> bool:
    job, definition = view.job, view.job.definition
    facts: list[tuple[object, object]] = [
        (wanted.name, job.name),
        (wanted.state, state_of(view)),
        (wanted.enabled, not job.paused(view.now)),
        (wanted.failing, job.failing),
        (wanted.declared, job.declared),
        (wanted.kind, definition.kind),
        (wanted.queue, definition.queue),
    ]
    due = wanted.due_before is None or _is_due(job.next_due_at, wanted.due_before)
    return (
        all(asked is None or asked == fact for asked, fact in facts)
        and (wanted.removed or job.removed_at is None)
        and (wanted.search is None or wanted.search in job.name)
        and due
        and sees(wanted.tenant, job.tenant)
    )


def _is_due(next_due_at: int | None, before: int) -> bool:
    return next_due_at is not None and next_due_at < before


def _is_after(view: JobView, wanted: JobFilter) -> bool:
    if wanted.follows is None:
        return True
    position = JobPosition(wanted.sort.key(view), view.job.name)
    if wanted.sort.by == "name" and wanted.sort.descending:
        return position < wanted.follows
    return position > wanted.follows


def to_job_cursor(last: JobView, wanted: JobFilter) -> str:
    """Return the cursor of the page after a job."""
    position = json.dumps([wanted.sort.key(last), last.job.name]).encode()
    return seal(position, wanted.criteria)


def from_job_cursor(cursor: str, wanted: JobFilter) -> JobPosition:
    return JobPosition(*json.loads(unseal(cursor, wanted.criteria)))
