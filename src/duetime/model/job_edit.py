"""What code and people do to a job, as pure functions of what was found under its lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from duetime.errors import ConfigError, JobNotFound, StaleVersion
from duetime.model.chain import SYSTEM
from duetime.model.clock import from_micros, maybe_micros
from duetime.model.ending import Finish
from duetime.model.ids import NewId
from duetime.model.job import Change, Definition, Found, JobRecord, Overlap, rule_of
from duetime.model.occurrence import occurrence
from duetime.model.state import State
from duetime.model.tenant import Scope, sees


def seeded(found: Found, wanted: Definition, app: str) -> Change | None:
    """What a worker that declares it makes of it: the definition is the code's, the
    administrative state the administrators'."""
    job = found.job
    if job is None:
        return Change(job=_new(wanted, app, SYSTEM, found.now, declared=True))
    if job.app != app or not job.declared:
        raise _taken(job, app)
    if job.definition == wanted and job.retired_at is None:
        return None
    returned = replace(job, retired_at=None)
    return Change(job=_redefined(returned, wanted, SYSTEM, found.now, rearm=returned != job))


def put(found: Found, wanted: Definition, app: str, by: str, version: int | None) -> Change | None:
    """Make a job at run time, or change one that was made so."""
    job = found.job
    if job is None:
        _refuse_stale(wanted.name, version, 0)
        return _audited("put", _new(wanted, app, by, found.now, declared=False), by)
    if job.declared or job.app != app or job.tenant != wanted.tenant:
        raise _taken(job, app)
    _refuse_stale(job.name, version, job.version)
    if job.definition == wanted and job.removed_at is None:
        return None
    back = replace(job, removed_at=None)
    return _audited("put", _redefined(back, wanted, by, found.now, rearm=back != job), by)


def paused(
    found: Found, tenant: Scope, by: str, note: str | None, until: int | None
) -> Change | None:
    """No tick comes any more, and those that wait are cancelled; what runs, runs on, and what
    was triggered by hand stays."""
    before = _visible(found, tenant)
    if before.paused(found.now) and (before.pause_note, before.paused_until) == (note, until):
        return None
    job = replace(
        before,
        paused_at=found.now,
        paused_by=by,
        pause_note=note,
        paused_until=until,
    )
    waiting = [one.id for one in found.unfinished if not one.running and one.tick is not None]
    return _audited("pause", _edited(job, by, found.now), by, cancel=tuple(waiting))


def resumed(found: Found, tenant: Scope, by: str) -> Change | None:
    """Ticks that fell in the pause are not made up."""
    job = _visible(found, tenant)
    if not job.paused(found.now):
        return None
    return _audited("resume", _edited(unpaused(job), by, found.now), by)


def unpaused(job: JobRecord) -> JobRecord:
    return replace(job, paused_at=None, paused_by=None, pause_note=None, paused_until=None)


def triggered(found: Found, tenant: Scope, by: str, new_id: NewId) -> Change:
    """Once now, or, unless they may overlap, when all that is unfinished has come to its end.
    Neither the schedule nor a pause is changed."""
    job = _visible(found, tenant)
    after = None if job.definition.overlap is Overlap.allow else found.last
    return Change(
        job=job,
        occurrences=(occurrence(job, new_id(), after=after, triggered_by=by),),
        verb="trigger",
        by=by,
    )


def removed(found: Found, tenant: Scope, by: str) -> Change:
    """What waits is cancelled, what runs comes to its end, and history stays."""
    job = replace(_visible(found, tenant), removed_at=found.now)
    waiting = tuple(one.id for one in found.unfinished if not one.running)
    return _audited("remove", _edited(job, by, found.now), by, cancel=waiting)


def restored(found: Found, tenant: Scope, by: str) -> Change | None:
    job = found.job
    if job is None or not sees(tenant, job.tenant):
        raise JobNotFound(found.name)
    if job.removed_at is None:
        return None
    return _audited("restore", _edited(replace(job, removed_at=None), by, found.now), by)


def retired(found: Found) -> Change | None:
    """No live worker declares it any more."""
    job = found.job
    if job is None or job.retired_at is not None or job.removed_at is not None:
        return None
    return Change(job=replace(job, retired_at=found.now, next_due_at=None))


def backfilled(
    found: Found, tenant: Scope, ticks: Sequence[int], by: str, new_id: NewId
) -> Change | None:
    """Occurrences of ticks of the past, one after another unless they may overlap."""
    job = _visible(found, tenant)
    last, made = found.last, []
    for tick in ticks:
        after = None if job.definition.overlap is Overlap.allow else last
        made.append(occurrence(job, new_id(), tick=tick, after=after, triggered_by=by))
        last = made[-1].action.id
    return Change(job=job, occurrences=tuple(made), verb="backfill", by=by) if made else None


def ended(job: JobRecord, end: Finish, now: int) -> JobRecord:
    """An occurrence came to its end. Failures are counted until a success; being cancelled is
    neither."""
    after = replace(
        job,
        last_started_at=end.started_at,
        last_finished_at=now,
        last_outcome=end.outcome,
        triggered_by=end.triggered_by,
    )
    if end.state is State.succeeded:
        return replace(after, consecutive_failures=0, last_error=None)
    if end.state is State.failed:
        failures = job.consecutive_failures + 1
        return replace(after, consecutive_failures=failures, last_error=end.error)
    return after


def armed(job: JobRecord, now: int) -> JobRecord:
    """With its next tick; the past is past, whichever way the store's clock was moved."""
    over = job.removed_at is not None or job.retired_at is not None
    if over or (job.paused(now) and job.paused_until is None):
        return replace(job, next_due_at=None)
    after = max(now, job.last_tick or now, (job.paused_until or now) - 1)
    return replace(job, next_due_at=maybe_micros(rule_of(job).next(from_micros(after))))


def _new(wanted: Definition, app: str, by: str, now: int, *, declared: bool) -> JobRecord:
    job = JobRecord(
        definition=wanted, app=app, declared=declared, version=1, created_at=now, created_by=by
    )
    return armed(job, now)


def _redefined(job: JobRecord, wanted: Definition, by: str, now: int, *, rearm: bool) -> JobRecord:
    """A rule that stays the same keeps its next tick."""
    before = job.definition
    same = (before.recurrence, before.tz) == (wanted.recurrence, wanted.tz) and not rearm
    # A tick that has come is not for this edit to drop: by the new rule, it is or is not one.
    same = same or (job.next_due_at is not None and job.next_due_at <= now)
    edited = _edited(replace(job, definition=wanted), by, now)
    return replace(edited, next_due_at=job.next_due_at) if same else edited


def _edited(job: JobRecord, by: str, now: int) -> JobRecord:
    edited = replace(job, version=job.version + 1, modified_at=now, modified_by=by)
    return armed(edited, now)


def _audited(verb: str, job: JobRecord, by: str, *, cancel: tuple[UUID, ...] = ()) -> Change:
    return Change(job=job, cancel=cancel, verb=verb, by=by)


def _visible(found: Found, tenant: Scope) -> JobRecord:
    job = found.job
    if job is None or job.removed_at is not None or not sees(tenant, job.tenant):
        raise JobNotFound(found.name)
    return job


def _refuse_stale(name: str, given: int | None, found: int) -> None:
    if given is not None and given != found:
        raise StaleVersion(name, given, found)


def _taken(job: JobRecord, app: str) -> ConfigError:
    how = "declared in code" if job.declared else "made by put at run time"
    whose = "" if job.app == app else f" of the app {job.app!r}"
    return ConfigError(f"job {job.name!r} is {how}{whose}: change it there, or choose another name")
