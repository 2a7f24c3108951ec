"""Reads of jobs, for all SQL stores: pages of them, their occurrences and their ticks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Sequence
from typing import Any, cast

from duetime.errors import UnreadableJob, UnreadableRow
from duetime.model.actions.action import Record
from duetime.model.jobs.change import Unfinished
from duetime.model.jobs.job_filter import JobFilter, page_of
from duetime.model.jobs.occurrence_filter import MOST_EXAMINED, OccurrenceFilter, newest_of
from duetime.model.jobs.serialize import unreadable_job
from duetime.model.jobs.view import JobState, JobView
from duetime.model.state import Outcome
from duetime.model.tenant import ANY, Scope
from duetime.store.base import Store
from duetime.store.flow import Mode, Rows, Statement, Steps, flow
from duetime.store.sql.flows import records
from duetime.store.sql.flows.lost_data import read_jobs, read_records
from duetime.store.sql.statements.bulk_rows import json_param
from duetime.store.sql.statements.filter_params import scope_params

MOST_JOBS = 2**31


class JobReadFlows(Store, ABC):
    """Flows that read jobs."""

    @flow(Mode.read)
    def jobs(self, wanted: JobFilter) -> Steps[list[JobView]]:
        try:
            views = yield from _views((yield Statement("jobs_page", _page_params(wanted))))
        except UnreadableRow:
            # The database has lost a part of a job, and cannot filter by it.
            views = page_of((yield from _views((yield from read_jobs(_any_of(wanted))))), wanted)
        if wanted.name is not None and any(view.unreadable for view in views):
            raise UnreadableJob(wanted.name)
        return views

    @flow(Mode.read)
    def occurrences(self, wanted: OccurrenceFilter) -> Steps[list[Record]]:
        params = _occurrence_params(wanted)
        if wanted.outcome is not None:
            return (yield from read_records(Statement("occurrences_by_outcome", params)))
        unfinished = yield from read_records(Statement("occurrences_unfinished", params))
        finished = yield from read_records(Statement("occurrences_finished", params))
        # One that finished between the reads is found twice.
        found = {record.id: record for record in (*unfinished, *finished)}
        return newest_of([*found.values()], wanted)

    @flow(Mode.read)
    def ticks(self, name: str, since: int, before: int) -> Steps[list[int]]:
        params = {"job_name": name, "since": since, "until": before}
        return [cast("int", row[0]) for row in (yield Statement("ticks", params))]


def _views(found: Rows) -> Steps[list[JobView]]:
    """Return the jobs of these rows with figures of their occurrences, in the same order."""
    jobs, unreadable = records.split_readable(found)
    unfinished = yield from unfinished_by_job(jobs)
    dead = {}
    if jobs:
        dead = dict(cast("Any", (yield Statement("jobs_dead_count", names_param(jobs)))))
    now = cast("int", found[0][1]) if found else 0
    views = {
        name: JobView(job, _running(unfinished[name]), dead.get(name, 0), now)
        for name, job in jobs.items()
    }
    for name, error in unreadable.items():
        views[name] = JobView(unreadable_job(name, error), None, 0, now, unreadable=True)
    return [views[name] for _, _, name in cast("Any", found)]


def _occurrence_params(wanted: OccurrenceFilter) -> dict[str, object]:
    follows_at, follows_id = wanted.follows or (None, None)
    return {
        "job_name": wanted.job,
        "limit": wanted.limit,
        "follows_at": follows_at,
        "follows_id": None if follows_id is None else str(follows_id),
        "outcome": None if wanted.outcome is None else wanted.outcome.value,
        "cancelled": wanted.outcome is Outcome.cancelled or None,
        "examined": MOST_EXAMINED,
    }


def _running(unfinished: Sequence[Unfinished]) -> Unfinished | None:
    return next((occurrence for occurrence in unfinished if occurrence.running), None)


def _page_params(wanted: JobFilter) -> dict[str, object]:
    return {
        "job_name": wanted.name,
        "kept": None if wanted.removed else True,
        "kind": wanted.kind,
        "queue": wanted.queue,
        "due_before": wanted.due_before,
        "search": wanted.search,
        "limit": wanted.limit,
        **scope_params(wanted.tenant),
        **_state_params(wanted),
        **_flag("declared", "undeclared", wanted.declared),
        **_flag("failing", "unfailing", wanted.failing),
        **_order_params(wanted),
    }


def _state_params(wanted: JobFilter) -> dict[str, object]:
    """Return what `state_of` decides by, as far as the state and `enabled` ask for it."""
    state, enabled = wanted.state, wanted.enabled
    retired = None if state is None else state is JobState.retired
    running = None if state not in LIVE_STATES else state is JobState.running
    paused = state is JobState.paused
    by_state = None if state in (None, JobState.retired) else not paused
    asked = (enabled, by_state)
    return {
        **_flag("retired", "unretired", retired),
        **_flag("running", "idle", running),
        "unpaused": True in asked or None,
        "paused": False in asked or None,
    }


LIVE_STATES = (JobState.scheduled, JobState.running)


def _flag(name: str, opposite: str, asked: bool | None) -> dict[str, object]:
    """Return the parameters of which one, or neither, selects a line of the statement."""
    return {name: asked or None, opposite: asked is False or None}


def _order_params(wanted: JobFilter) -> dict[str, object]:
    sort, follows = wanted.sort, wanted.follows
    if sort.by == "name":
        beyond = "before_name" if sort.descending else "beyond_name"
        name = None if follows is None else follows.name
        return {"names_back": sort.descending or None, beyond: name}
    field = "due" if sort.by == "next_due_at" else "failures"
    order: dict[str, object] = {f"{field}_sign": sort.sign}
    if follows is not None:
        order |= {f"follows_{field}": True, "follows_key": follows.key}
        order |= {"follows_name": follows.name}
    return order


def _any_of(wanted: JobFilter) -> dict[str, object]:
    """Return the parameters of all jobs of a tenant, or of one."""
    return {"job_name": wanted.name, "limit": MOST_JOBS, **scope_params(wanted.tenant)}


# -- steps that edits share --------------------------------------------------------------------


def unfinished_by_job(
    names: Iterable[str], tenant: Scope = ANY
) -> Steps[dict[str, tuple[Unfinished, ...]]]:
    found: dict[str, tuple[Unfinished, ...]] = dict.fromkeys(names, ())
    if found:
        params = names_param(found) | scope_params(tenant)
        for row in (yield Statement("jobs_unfinished", params)):
            name, occurrence = records.unfinished_occurrence(row)
            found[name] = (*found[name], occurrence)
    return found


def names_param(names: Iterable[str]) -> dict[str, object]:
    return {"names": json_param(names)}
