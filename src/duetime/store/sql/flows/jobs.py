"""Jobs, for every SQL store: read, changed under their locks, and told of their occurrences."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from duetime.errors import UnreadableJob
from duetime.model.actions.action import Record
from duetime.model.actions.completion import Finish
from duetime.model.actions.state_changes import cancelled
from duetime.model.ids import NewId
from duetime.model.jobs.change import (
    Change,
    Changed,
    Decide,
    Edited,
    Found,
    JobEnd,
    NewOccurrence,
    Unfinished,
)
from duetime.model.jobs.edit import ended
from duetime.model.jobs.job import JobRecord, told
from duetime.model.jobs.occurrence import due_of, in_turn, relinked
from duetime.model.jobs.selectors import (
    Ahead,
    Due,
    JobFilter,
    Named,
    Orphaned,
    Returned,
    Seeding,
    Which,
)
from duetime.model.jobs.view import JobView
from duetime.store.base import Store
from duetime.store.flow import Mode, Rows, Statement, Steps, flow
from duetime.store.sql.flows import job_records as job_rows
from duetime.store.sql.flows import records as rows
from duetime.store.sql.flows.actions import audit_add
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.flows.job_records import HeldJobs
from duetime.store.sql.flows.wakes import wake, wake_jobs
from duetime.store.sql.statements.bulk_rows import dump


@dataclass(frozen=True, slots=True)
class Step:
    """A decision about one job, not written yet."""

    found: Found
    change: Change


@dataclass(frozen=True, slots=True)
class Left:
    """Jobs that were left alone: others hold them, or nobody here can read them."""

    busy: frozenset[str]
    unread: frozenset[str]

    def __or__(self, other: Left) -> Left:
        return Left(self.busy | other.busy, self.unread | other.unread)


# The store's clock, what was decided, and about what nothing could be.
Decided = tuple[int, list[Step], Left]


class JobFlows(Store, ABC):
    _ids: NewId

    # -- reading ---------------------------------------------------------------------

    @flow(Mode.read)
    def jobs(self, wanted: JobFilter) -> Steps[list[JobView]]:
        found = yield Statement("jobs_page", _page(wanted))
        jobs = job_rows.jobs(found)
        if found and wanted.name is not None and wanted.name not in jobs:
            raise UnreadableJob(wanted.name)
        unfinished = yield from _unfinished(jobs)
        dead = {}
        if jobs:
            dead = dict(cast("Any", (yield Statement("jobs_dead", _names(jobs)))))
        now = cast("int", found[0][1]) if found else 0
        return [
            JobView(job, _running(unfinished[name]), dead.get(name, 0), now)
            for name, job in jobs.items()
        ]

    @flow(Mode.read)
    def occurrences(self, name: str, limit: int) -> Steps[list[Record]]:
        params = {"job_name": name, "limit": limit}
        open_ = yield Statement("occurrences_unfinished", params)
        over = yield Statement("occurrences_finished", params)
        found = {record.id: record for record in map(rows.record, [*open_, *over])}
        newest = sorted(found.values(), key=lambda one: (one.created_at, one.id), reverse=True)
        return newest[:limit]

    @flow(Mode.read)
    def ticks(self, name: str, since: int, before: int) -> Steps[list[int]]:
        params = {"job_name": name, "since": since, "until": before}
        return [cast("int", row[0]) for row in (yield Statement("ticks", params))]

    # -- changing --------------------------------------------------------------------

    @flow(resend=True)
    def edit_jobs(self, which: Which, decide: Decide) -> Steps[Edited]:
        now, steps, left = yield from self._decided(which, decide)
        while lost := (yield from _add_jobs(steps)):
            # Somebody else made these meanwhile: decide again, with them there.
            kept = [one for one in steps if one.found.name not in lost]
            now, again, more = yield from self._decided(_among(which, lost), decide)
            steps, left = [*kept, *again], left | more
        known = [one.change.job for one in steps if one.found.job is not None]
        if known:
            yield Statement("jobs_set", {"rows": job_rows.job_rows(known)})
        made = yield from _occur([o for one in steps for o in one.change.occurrences], now)
        gone = yield from _cancel(steps, now)
        yield from self._note_jobs(steps, now)
        changes = [_changed(one, made, gone) for one in steps]
        if isinstance(which, Due):
            # Every worker knows when ticks come; whoever dealt with one tells nobody.
            ((following, now),) = cast("Any", (yield Statement("next_tick", _but(which))))
            return Edited(changes, following, now, unread=left.unread)
        yield from wake_jobs((one.after for one in changes), now)
        return Edited(changes, None, now, left.busy, left.unread)

    def _decided(self, which: Which, decide: Decide) -> Steps[Decided]:
        found = yield _select(which)
        jobs: dict[str, JobRecord | None] = dict(job_rows.jobs(found))
        unread, busy = frozenset(job_rows.names(found) - jobs.keys()), frozenset[str]()
        if isinstance(which, Named | Seeding):
            names = {*which.names} - job_rows.names(found)
            busy = (yield from _busy(names)) if isinstance(which, Seeding) else busy
            jobs |= dict.fromkeys(sorted(names - busy))
        unfinished = yield from _unfinished(jobs)
        now = cast("int", found[0][1]) if found else (yield from clock())
        youngest = yield from _is_youngest(which)
        left = yield from _left(which, jobs)
        there = [
            Found(name, jobs[name], unfinished[name], now, youngest, name in left)
            for name in sorted(jobs)
        ]
        decided = ((one, decide(one)) for one in there)
        steps = [Step(one, change) for one, change in decided if change is not None]
        return now, steps, Left(busy, unread)

    # -- being told of ends ----------------------------------------------------------

    def _hold_jobs(self, finishes: Sequence[Finish], impatient: bool) -> Steps[HeldJobs]:
        """The jobs of these; `impatient`, only those that nobody holds."""
        names = sorted({one.job for one in finishes if one.job is not None})
        if not names:
            return HeldJobs({}, 0, frozenset())
        found = yield Statement("jobs_free" if impatient else "jobs_named", _names(names))
        rest = {*names} - job_rows.names(found)
        busy = (yield from _busy(rest)) if impatient else frozenset()
        now = cast("int", found[0][1]) if found else 0
        return HeldJobs(job_rows.jobs(found), now, busy)

    def _end_jobs(self, finishes: Sequence[Finish], jobs: HeldJobs) -> Steps[list[JobEnd]]:
        """What the ends of their occurrences make of jobs, one by one."""
        ends: list[JobEnd] = []
        after = dict(jobs.by_name)
        for one in finishes:
            if one.job in after:
                ends.append(JobEnd(after[one.job], ended(after[one.job], one, jobs.now)))
                after[one.job] = ends[-1].after
        if ends:
            last = {one.after.name: one.after for one in ends}
            yield Statement("jobs_set", {"rows": job_rows.job_rows(last.values())})
        return ends

    # -- being brought back ----------------------------------------------------------

    def _in_turn(self, back: Sequence[Record]) -> Steps[list[Record]]:
        """As they are to be brought back: occurrences wait for their turn, under their job's
        lock."""
        names = sorted({one.job for one in back if one.job is not None})
        if not names:
            return list(back)
        jobs = job_rows.jobs((yield Statement("jobs_named", _names(names))))
        unfinished = yield from _unfinished(jobs)
        queues = {
            name: in_turn([one for one in back if one.job == name], job, unfinished[name])
            for name, job in jobs.items()
        }
        turns = {one.id: one for queue in queues.values() for one in queue}
        return [turns.get(one.id, one) for one in back]

    # -- their steps -----------------------------------------------------------------

    def _note_jobs(self, steps: Sequence[Step], now: int) -> Steps[None]:
        """Audit what somebody did, one statement for each verb and actor."""
        acts: dict[tuple[str, str], list[Mapping[str, object]]] = {}
        for one in steps:
            if one.change.verb is not None:
                acts.setdefault((one.change.verb, one.change.by), []).append(self._act(one))
        for (verb, by), entries in acts.items():
            yield audit_add(verb, by, now, entries, subject="job")

    def _act(self, step: Step) -> Mapping[str, object]:
        return {
            "id": str(self._ids()),
            "tenant": step.change.job.tenant,
            "subject_id": step.found.name,
            "before": json.dumps(told(step.found.job)),
            "after": json.dumps(told(step.change.job)),
        }


def _select(which: Which) -> Statement:
    match which:
        case Named(names):
            return Statement("jobs_named", _names(names))
        case Seeding(names):
            return Statement("jobs_free", _names(names))
        case Due(_, limit):
            return Statement("jobs_due", _but(which) | {"limit": limit})
        case Orphaned(app, alive, limit):
            return Statement("jobs_orphaned", {"app": app, "alive": alive, "limit": limit})
        case Returned(app, worker, _, limit):
            return Statement("jobs_returned", {"app": app, "worker": worker, "limit": limit})

        case Ahead(app, ahead, after, limit):
            params = {"app": app, "ahead": ahead, "beyond_name": after, "limit": limit}
            return Statement("jobs_ahead", params)


def _but(due: Due) -> dict[str, object]:
    return {"app": due.app, "names": dump(sorted(due.but)) if due.but else None}


def _among(which: Which, names: Iterable[str]) -> Named | Seeding:
    """Some of those that were asked for by name."""
    some = tuple(sorted(names))
    return replace(which, names=some) if isinstance(which, Seeding) else Named(some)


def _is_youngest(which: Which) -> Steps[bool]:
    """Asked when the jobs are held: whoever seeds later will see what is seeded now."""
    if not isinstance(which, Seeding | Returned):
        return True
    return not (yield Statement("younger", {"worker": which.worker, "alive": which.alive}))


def _left(which: Which, jobs: Mapping[str, JobRecord | None]) -> Steps[set[str]]:
    """Those of other apps, of which no worker lives any more."""
    if not isinstance(which, Seeding):
        return set()
    others = {name: job.app for name, job in jobs.items() if job and job.app != which.app}
    if not others:
        return set()
    alive = {row[0] for row in (yield Statement("apps_alive", {"alive": which.alive}))}
    return {name for name, app in others.items() if app not in alive}


def _busy(names: Iterable[str]) -> Steps[frozenset[str]]:
    """Of those that were not to be had, the ones that are there."""
    some = set(names)
    there = (yield Statement("jobs_there", _names(some))) if some else ()
    return frozenset(cast("str", row[0]) for row in there)


def _page(wanted: JobFilter) -> dict[str, object]:
    return {
        "beyond_name": wanted.after,
        "job_name": wanted.name,
        "kept": None if wanted.removed else True,
        "tenant": wanted.tenant if isinstance(wanted.tenant, str) else None,
        "untenanted": wanted.tenant is None or None,
        "limit": wanted.limit,
    }


def _names(names: Iterable[str]) -> dict[str, object]:
    return {"names": dump(names)}


def _unfinished(names: Iterable[str]) -> Steps[dict[str, tuple[Unfinished, ...]]]:
    found: dict[str, tuple[Unfinished, ...]] = dict.fromkeys(names, ())
    if found:
        for row in (yield Statement("jobs_unfinished", _names(found))):
            name, one = job_rows.unfinished(row)
            found[name] = (*found[name], one)
    return found


def _running(unfinished: Sequence[Unfinished]) -> Unfinished | None:
    return next((one for one in unfinished if one.running), None)


def _add_jobs(steps: Sequence[Step]) -> Steps[set[str]]:
    """Store the new ones; which of their names were taken meanwhile."""
    new = [one.change.job for one in steps if one.found.job is None]
    if not new:
        return set()
    added = yield Statement("jobs_add", {"rows": job_rows.job_rows(new)})
    return {job.name for job in new} - {cast("str", row[0]) for row in added}


def _occur(asked: Sequence[NewOccurrence], now: int) -> Steps[dict[UUID, NewOccurrence]]:
    """Store those whose tick was not dealt with before, by their ids."""
    fresh = yield from _fresh(asked)
    run = [one for one in fresh if one.skipped is None]
    skipped = [one for one in fresh if one.skipped is not None]
    if run:
        yield Statement("occur", {"rows": job_rows.occurrence_rows(run), "now": now})
    if skipped:
        yield Statement("skip", {"rows": job_rows.occurrence_rows(skipped), "now": now})
    yield from wake([(one.action.lane, due_of(one, now)) for one in run], now)
    return {one.action.id: one for one in fresh}


def _fresh(asked: Sequence[NewOccurrence]) -> Steps[list[NewOccurrence]]:
    ticks = [one for one in asked if one.tick is not None]
    if not ticks:
        return list(asked)
    added: Rows = yield Statement("ticks_add", {"rows": job_rows.tick_rows(ticks)})
    known = {cast("tuple[str, int]", tuple(row)) for row in added}
    return relinked(asked, lambda one: one.tick is None or (one.job, one.tick) in known)


def _cancel(steps: Sequence[Step], now: int) -> Steps[dict[UUID, Record]]:
    """Only what nobody claims in this very moment."""
    gone: dict[UUID, Record] = {}
    for one in steps:
        if one.change.cancel:
            params = {"ids": dump(map(str, one.change.cancel))}
            found = map(rows.record, (yield Statement("lock_waiting", params)))
            records = [cancelled(record, one.change.by, now) for record in found]
            if records:
                params = {"ids": dump(str(record.id) for record in records)}
                yield Statement("cancel_history", params | {"by": one.change.by, "now": now})
                yield Statement("cancel", params)
            gone |= {record.id: record for record in records}
    return gone


def _changed(
    step: Step, made: Mapping[UUID, NewOccurrence], gone: Mapping[UUID, Record]
) -> Changed:
    asked = (one.action.id for one in step.change.occurrences)
    return Changed(
        step.found.job,
        step.change.job,
        tuple(made[one] for one in asked if one in made),
        tuple(gone[one] for one in step.change.cancel if one in gone),
    )
