"""Jobs, for all SQL stores: editing them under their locks, and recording the end of their
occurrences."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from duetime.model.act import Act
from duetime.model.actions.action import Record
from duetime.model.actions.completion import Finish
from duetime.model.actions.state_changes import to_cancelled
from duetime.model.ids import NewId
from duetime.model.jobs.change import (
    AppliedJobChange,
    FoundJob,
    JobChange,
    JobEdit,
    JobEditResult,
    JobUpdate,
    NewOccurrence,
)
from duetime.model.jobs.edit import finish_occurrence
from duetime.model.jobs.job import JobRecord, audit_snapshots
from duetime.model.jobs.occurrence import due_at_of, queue_up, relink
from duetime.model.jobs.selectors import (
    ArmedTooFarAhead,
    ByName,
    DueJobs,
    JobSearch,
    JobSelector,
    OrphanedJobs,
    Reappeared,
    ToSeed,
)
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.store.flow import Rows, Statement, Steps, flow, wake, wake_jobs
from duetime.store.sql.flows import records
from duetime.store.sql.flows.audit import audit_row, insert_audit
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.flows.job_reads import names_param, unfinished_by_job
from duetime.store.sql.flows.records import LockedJobs
from duetime.store.sql.statements import bulk_rows
from duetime.store.sql.statements.bulk_rows import json_param
from duetime.store.sql.statements.filter_params import scope_params


@dataclass(frozen=True, slots=True)
class JobDecision:
    """An edit's change of a job, not written yet."""

    found: FoundJob
    change: JobChange


@dataclass(frozen=True, slots=True)
class SkippedJobs:
    """Jobs that were not edited: another transaction has locked them, or this version cannot read
    them."""

    busy: frozenset[str]
    unreadable: frozenset[str]

    def __or__(self, other: SkippedJobs) -> SkippedJobs:
        return SkippedJobs(self.busy | other.busy, self.unreadable | other.unreadable)


# The store's clock, the decisions, and the jobs about which none could be made.
Decisions = tuple[int, list[JobDecision], SkippedJobs]


class JobFlows(Store, ABC):
    """Flows that edit jobs."""

    _ids: NewId

    # -- changing --------------------------------------------------------------------

    @flow(resend=True)
    def edit_jobs(self, which: JobSelector, decide: JobEdit) -> Steps[JobEditResult]:
        now, decisions, skipped_jobs = yield from self._decide_all(which, decide)
        while lost := (yield from _insert_jobs(decisions)):
            # Another transaction has inserted these meanwhile: decide again about them.
            kept = [decision for decision in decisions if decision.found.name not in lost]
            now, repeated, also_skipped = yield from self._decide_all(
                _narrowed(which, lost), decide
            )
            decisions, skipped_jobs = [*kept, *repeated], skipped_jobs | also_skipped
        known = [decision.change.job for decision in decisions if decision.found.job is not None]
        if known:
            yield Statement("jobs_update", {"rows": bulk_rows.job_rows(known)})
        occurrences = [o for decision in decisions for o in decision.change.occurrences]
        inserted = yield from _insert_occurrences(occurrences, now)
        cancelled_by_id = yield from _cancel_occurrences(decisions, now)
        yield from self._audit_jobs(decisions, now)
        changes = [_applied_change(decision, inserted, cancelled_by_id) for decision in decisions]
        if isinstance(which, DueJobs):
            # Every worker knows when ticks are due, so applying ticks wakes none.
            ((following, now),) = cast("Any", (yield Statement("next_tick", _search_params(which))))
            return JobEditResult(changes, following, now, unreadable=skipped_jobs.unreadable)
        yield from wake_jobs((change.after for change in changes), now)
        return JobEditResult(changes, None, now, skipped_jobs.busy, skipped_jobs.unreadable)

    def _decide_all(self, which: JobSelector, decide: JobEdit) -> Steps[Decisions]:
        found = yield _lock_statement(which)
        jobs: dict[str, JobRecord | None] = dict(records.readable_jobs(found))
        unreadable, busy = frozenset(records.job_names(found) - jobs.keys()), frozenset[str]()
        if isinstance(which, ByName | ToSeed):
            names = {*which.names} - records.job_names(found)
            busy = (yield from _locked_elsewhere(names)) if isinstance(which, ToSeed) else busy
            jobs |= dict.fromkeys(sorted(names - busy))
        tenant = which.tenant if isinstance(which, ByName) else ANY
        unfinished = yield from unfinished_by_job(jobs, tenant)
        now = cast("int", found[0][1]) if found else (yield from clock())
        youngest = yield from _is_youngest(which)
        abandoned = yield from _abandoned(which, jobs)
        found_jobs = [
            FoundJob(name, jobs[name], unfinished[name], now, youngest, name in abandoned)
            for name in sorted(jobs)
        ]
        decided = ((job, decide(job)) for job in found_jobs)
        decisions = [JobDecision(job, change) for job, change in decided if change is not None]
        return now, decisions, SkippedJobs(busy, unreadable)

    # -- finished occurrences --------------------------------------------------------

    def _lock_jobs(self, finishes: Sequence[Finish], skip_busy_jobs: bool) -> Steps[LockedJobs]:
        """Lock the jobs of these occurrences; with `skip_busy_jobs`, only those that no other
        transaction has locked."""
        names = sorted({finish.job for finish in finishes if finish.job is not None})
        statement = "jobs_try_lock" if skip_busy_jobs else "jobs_lock"
        found = yield Statement(statement, names_param(names))
        rest = {*names} - records.job_names(found)
        busy = (yield from _locked_elsewhere(rest)) if skip_busy_jobs else frozenset()
        now = cast("int", found[0][1]) if found else 0
        return LockedJobs(records.readable_jobs(found), now, busy)

    def _finish_jobs(self, finishes: Sequence[Finish], jobs: LockedJobs) -> Steps[list[JobUpdate]]:
        """Apply finished occurrences to their jobs, one after the other, and store the jobs."""
        ends: list[JobUpdate] = []
        after = dict(jobs.by_name)
        for finish in finishes:
            if finish.job in after:
                job = after[finish.job]
                ends.append(JobUpdate(job, finish_occurrence(job, finish, jobs.now)))
                after[finish.job] = ends[-1].after
        if ends:
            last = {update.after.name: update.after for update in ends}
            yield Statement("jobs_update", {"rows": bulk_rows.job_rows(last.values())})
        return ends

    # -- retried occurrences ---------------------------------------------------------

    def _queue_occurrences(self, retried: Sequence[Record]) -> Steps[list[Record]]:
        """Return records to retry, with occurrences queued as their job's overlap rule demands.
        Locks these jobs."""
        names = sorted({record.job for record in retried if record.job is not None})
        if not names:
            return list(retried)
        jobs = records.readable_jobs((yield Statement("jobs_lock", names_param(names))))
        unfinished = yield from unfinished_by_job(jobs)
        queues = {
            name: queue_up([r for r in retried if r.job == name], job, unfinished[name])
            for name, job in jobs.items()
        }
        queued = {record.id: record for queue in queues.values() for record in queue}
        return [queued.get(record.id, record) for record in retried]

    # -- auditing --------------------------------------------------------------------

    def _audit_jobs(self, decisions: Sequence[JobDecision], now: int) -> Steps[None]:
        """Write audit entries of changes by users, a statement for each verb and act."""
        entries_by_verb: dict[tuple[str, Act], list[Mapping[str, object]]] = {}
        for decision in decisions:
            if decision.change.verb is not None:
                entries_by_verb.setdefault((decision.change.verb, decision.change.act), []).append(
                    self._job_audit_entry(decision)
                )
        for (verb, act), entries in entries_by_verb.items():
            yield insert_audit(verb, act, now, entries, subject="job")

    def _job_audit_entry(self, decision: JobDecision) -> Mapping[str, object]:
        job = decision.change.job
        snapshots = audit_snapshots(decision.found.job, job)
        return audit_row(self._ids(), job.tenant, decision.found.name, *snapshots)


def _lock_statement(which: JobSelector) -> Statement:
    match which:
        case ByName(names, tenant):
            return Statement("jobs_lock", names_param(names) | scope_params(tenant))
        case ToSeed(names):
            return Statement("jobs_try_lock", names_param(names))
        case DueJobs(_, limit):
            return Statement("jobs_due", _search_params(which) | {"limit": limit})
        case OrphanedJobs(_, alive, limit):
            params: dict[str, object] = {"alive": alive, "limit": limit}
            return Statement("jobs_orphaned", _search_params(which) | params)
        case Reappeared(_, worker, _, limit):
            params = {"worker": worker, "limit": limit}
            return Statement("jobs_reappeared", _search_params(which) | params)
        case ArmedTooFarAhead(_, ahead, after, limit):
            params = {"ahead": ahead, "beyond_name": after, "limit": limit}
            return Statement("jobs_armed_too_far", _search_params(which) | params)


def _search_params(which: JobSearch) -> dict[str, object]:
    excluded = json_param(sorted(which.excluded_names)) if which.excluded_names else None
    return {"app": which.app, "names": excluded}


def _narrowed(which: JobSelector, names: Iterable[str]) -> ByName | ToSeed:
    """Return a selector of only these jobs."""
    ordered = tuple(sorted(names))
    if isinstance(which, ByName | ToSeed):
        return replace(which, names=ordered)
    return ByName(ordered)


def _is_youngest(which: JobSelector) -> Steps[bool]:
    """Return whether no live worker of the app is younger.

    It is read after locking the jobs, so a worker that seeds later sees what is seeded now.
    """
    if not isinstance(which, ToSeed | Reappeared):
        return True
    return not (yield Statement("younger_worker", {"worker": which.worker, "alive": which.alive}))


def _abandoned(which: JobSelector, jobs: Mapping[str, JobRecord | None]) -> Steps[set[str]]:
    """Return the names of jobs of other apps that have no live worker."""
    if not isinstance(which, ToSeed):
        return set()
    others = {name: job.app for name, job in jobs.items() if job and job.app != which.app}
    if not others:
        return set()
    alive = {row[0] for row in (yield Statement("apps_alive", {"alive": which.alive}))}
    return {name for name, app in others.items() if app not in alive}


def _locked_elsewhere(names: Iterable[str]) -> Steps[frozenset[str]]:
    """Return which of the jobs that could not be locked exist: other transactions lock them."""
    missing = set(names)
    existing = (yield Statement("jobs_existing", names_param(missing))) if missing else ()
    return frozenset(cast("str", row[0]) for row in existing)


def _insert_jobs(decisions: Sequence[JobDecision]) -> Steps[set[str]]:
    """Insert new jobs; return the names that other transactions have inserted meanwhile."""
    new = [decision.change.job for decision in decisions if decision.found.job is None]
    if not new:
        return set()
    added = yield Statement("jobs_add", {"rows": bulk_rows.job_rows(new)})
    return {job.name for job in new} - {cast("str", row[0]) for row in added}


def _insert_occurrences(
    occurrences: Sequence[NewOccurrence], now: int
) -> Steps[dict[UUID, NewOccurrence]]:
    """Insert the occurrences whose tick was not applied before; return them by id."""
    fresh = yield from _without_known_ticks(occurrences)
    run = [o for o in fresh if o.skipped is None]
    skipped = [o for o in fresh if o.skipped is not None]
    if run:
        yield Statement("occurrences_add", {**bulk_rows.occurrence_params(run), "now": now})
    if skipped:
        yield Statement(
            "occurrences_skip", {"rows": bulk_rows.occurrence_rows(skipped), "now": now}
        )
    yield from wake([(o.action.lane, due_at_of(o, now)) for o in run], now)
    return {o.action.id: o for o in fresh}


def _without_known_ticks(occurrences: Sequence[NewOccurrence]) -> Steps[list[NewOccurrence]]:
    ticks = [o for o in occurrences if o.tick is not None]
    if not ticks:
        return list(occurrences)
    added: Rows = yield Statement("ticks_add", {"rows": bulk_rows.tick_rows(ticks)})
    known = {cast("tuple[str, int]", tuple(row)) for row in added}
    return relink(occurrences, lambda o: o.tick is None or (o.job, o.tick) in known)


def _cancel_occurrences(decisions: Sequence[JobDecision], now: int) -> Steps[dict[UUID, Record]]:
    """Cancel the occurrences that the changes name, unless they have been claimed."""
    cancelled_by_id: dict[UUID, Record] = {}
    for decision in decisions:
        by = decision.change.act.by
        if decision.change.cancel:
            params = {"ids": json_param(map(str, decision.change.cancel))}
            found = map(records.record, (yield Statement("lock_scheduled_ids", params)))
            cancelled = [to_cancelled(record, by, now) for record in found]
            if cancelled:
                params = {"ids": json_param(str(record.id) for record in cancelled)}
                yield Statement("cancel_history", params | {"by": by, "now": now})
                yield Statement("delete_scheduled", params)
            cancelled_by_id |= {record.id: record for record in cancelled}
    return cancelled_by_id


def _applied_change(
    decision: JobDecision,
    inserted: Mapping[UUID, NewOccurrence],
    cancelled_by_id: Mapping[UUID, Record],
) -> AppliedJobChange:
    ids = (occurrence.action.id for occurrence in decision.change.occurrences)
    return AppliedJobChange(
        decision.found.job,
        decision.change.job,
        tuple(inserted[id_] for id_ in ids if id_ in inserted),
        tuple(cancelled_by_id[id_] for id_ in decision.change.cancel if id_ in cancelled_by_id),
    )
