"""Edits of jobs: pure functions from a job found under its lock to the change to store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from duetime.errors import (
    DuetimeError,
    InvalidArgument,
    InvalidRecurrence,
    JobNameTaken,
    JobNotFound,
    StaleVersion,
)
from duetime.model.act import Act
from duetime.model.actions.completion import Finish
from duetime.model.clock import from_micros, maybe_micros
from duetime.model.ids import NewId
from duetime.model.jobs.change import FoundJob, JobChange, JobUpdate
from duetime.model.jobs.job import JobDefinition, JobRecord, Overlap, rule_of, rule_of_definition
from duetime.model.jobs.occurrence import new_occurrence, skip
from duetime.model.state import State
from duetime.model.tenant import SYSTEM, Scope, sees

# Applies the ticks that have come. Every edit does so first, so that none of them is forgotten.
ApplyTicks = Callable[[FoundJob], JobChange | None]

# A tick further ahead of the clock than this was stored while the clock was wrong.
MAX_CLOCK_LEAD_MICROS = 3_600_000_000


def seed_job(
    found: FoundJob, wanted: JobDefinition, app: str, apply_ticks: ApplyTicks
) -> JobChange | None:
    """Write a declared job: the definition comes from the newest worker's code, while pauses and
    removals by people stay."""
    job = found.job
    if job is None:
        return JobChange(job=_new(wanted, app, SYSTEM, found.now, declared=True))
    if (job.app != app and not found.adoptable) or not job.declared:
        raise _name_taken(job, app)
    if not found.by_newest_worker:
        wanted = job.definition
    in_future = _armed_in_future(job, found.now)
    active = job.app == app and job.retired_at is None
    if job.definition == wanted and active and not in_future:
        return None
    change = _apply_due_ticks(found, job, apply_ticks)
    rearm = in_future or job.retired_at is not None
    active_job = replace(change.job, retired_at=None, app=app)
    return replace(change, job=_redefined(active_job, wanted, SYSTEM, found.now, rearm=rearm))


def put_job(
    found: FoundJob,
    wanted: JobDefinition,
    app: str,
    act: Act,
    version: int | None,
    apply_ticks: ApplyTicks,
) -> JobChange | None:
    """Create a job at run time, or change a job that was created at run time."""
    job = found.job
    if job is None:
        _refuse_stale(wanted.name, version, 0)
        _refuse_exhausted(wanted, found.now)
        new = _new(wanted, app, act.by, found.now, declared=False)
        return JobChange(job=new, verb="put", act=act)
    if job.tenant != wanted.tenant:
        raise JobNameTaken(job.name)
    if job.declared or job.app != app:
        raise _name_taken(job, app)
    was_removed = job.removed_at is not None
    if not (was_removed and version == 0):
        _refuse_stale(job.name, version, job.version)
    if job.definition == wanted and not was_removed:
        return None
    _refuse_exhausted(wanted, found.now)
    change = _apply_due_ticks(found, job, apply_ticks)
    before = _recreated(change.job) if was_removed else change.job
    after = _redefined(before, wanted, act.by, found.now, rearm=was_removed)
    return replace(change, job=after, verb="put", act=act)


def _recreated(job: JobRecord) -> JobRecord:
    """Re-created under its old name: history kept, pause and failure state cleared."""
    return replace(
        job.unpaused(),
        removed_at=None,
        consecutive_failures=0,
        last_error=None,
        failing_since=None,
        alert_token=None,
    )


def pause_job(
    found: FoundJob,
    tenant: Scope,
    act: Act,
    until: int | None,
    apply_ticks: ApplyTicks,
) -> JobChange | None:
    """Stop the ticks and cancel waiting occurrences of ticks. Running occurrences go on, and
    occurrences triggered by hand stay. A pause by another actor replaces the one before."""
    before = _visible(found, tenant)
    pause = (before.paused_by, before.pause_note, before.paused_until)
    if before.paused(found.now) and pause == (act.by, act.note, until):
        return None
    change = _skip_pending_ticks(found, before, apply_ticks, f"paused by {act.by}")
    job = replace(
        change.job,
        paused_at=found.now,
        paused_by=act.by,
        pause_note=act.note,
        paused_until=until,
    )
    waiting = tuple(
        occurrence.id
        for occurrence in found.unfinished
        if not occurrence.running and occurrence.tick is not None
    )
    after = _edited(job, act.by, found.now)
    return replace(change, job=after, cancel=waiting, verb="pause", act=act)


def resume_job(found: FoundJob, tenant: Scope, act: Act) -> JobChange | None:
    """End a pause. Ticks that fell in the pause do not run."""
    job = _visible(found, tenant)
    if not job.paused(found.now):
        return None
    return JobChange(job=_edited(job.unpaused(), act.by, found.now), verb="resume", act=act)


def trigger_job(found: FoundJob, tenant: Scope, act: Act, new_id: NewId) -> JobChange:
    """Add an occurrence that is due now or, unless occurrences may overlap, after all unfinished
    ones. The schedule and a pause stay as they are."""
    job = _visible(found, tenant)
    after = None if job.definition.overlap is Overlap.allow else found.queue_tail
    return JobChange(
        job=job,
        occurrences=(new_occurrence(job, new_id(), after=after, triggered_by=act.by),),
        verb="trigger",
        act=act,
    )


def remove_job(found: FoundJob, tenant: Scope, act: Act, apply_ticks: ApplyTicks) -> JobChange:
    """Remove a job: waiting occurrences are cancelled, running ones finish, history stays."""
    change = _skip_pending_ticks(
        found, _visible(found, tenant), apply_ticks, f"removed by {act.by}"
    )
    waiting = tuple(occurrence.id for occurrence in found.unfinished if not occurrence.running)
    job = _edited(replace(change.job, removed_at=found.now), act.by, found.now)
    return replace(change, job=job, cancel=waiting, verb="remove", act=act)


def restore_job(found: FoundJob, tenant: Scope, act: Act) -> JobChange | None:
    """Bring a removed job back."""
    job = found.job
    if job is None or not sees(tenant, job.tenant):
        raise JobNotFound(found.name)
    if job.removed_at is None:
        return None
    after = _edited(replace(job, removed_at=None), act.by, found.now)
    return JobChange(job=after, verb="restore", act=act)


def retire_job(found: FoundJob, apply_ticks: ApplyTicks) -> JobChange | None:
    """Retire a job that no live worker declares."""
    job = found.job
    if job is None or job.retired_at is not None or job.removed_at is not None:
        return None
    why = "retired, as no live worker declares it"
    change = _skip_pending_ticks(found, job, apply_ticks, why)
    return replace(change, job=replace(change.job, retired_at=found.now, next_due_at=None))


def rearm_job(found: FoundJob) -> JobChange | None:
    """Arm a job again if it was armed while the store's clock was ahead."""
    job = found.job
    if job is None or not _armed_in_future(job, found.now):
        return None
    return JobChange(job=arm(job, found.now))


def backfill_job(
    found: FoundJob, tenant: Scope, ticks: Sequence[int], act: Act, new_id: NewId
) -> JobChange | None:
    """Add occurrences of past ticks, one after another unless they may overlap."""
    job = _visible(found, tenant)
    tail, added = found.queue_tail, []
    for tick in ticks:
        after = None if job.definition.overlap is Overlap.allow else tail
        added.append(new_occurrence(job, new_id(), tick=tick, after=after, triggered_by=act.by))
        tail = added[-1].action.id
    return JobChange(job=job, occurrences=tuple(added), verb="backfill", act=act) if added else None


def finish_occurrence(job: JobRecord, end: Finish, now: int) -> JobRecord:
    """Return the job after an occurrence finished. Failures are counted until a success, and each
    occurrence once, however often it is retried by hand; a cancellation counts as neither."""
    health = _health(job, end, now)
    return replace(
        job,
        # The start of a run that was lost is unknown.
        last_started_at=job.last_started_at if end.started_at is None else end.started_at,
        last_finished_at=now,
        last_outcome=end.outcome,
        triggered_by=end.triggered_by,
        consecutive_failures=health.failures,
        last_error=health.error,
        failing_since=health.failing_since,
        alert_token=health.alert_token,
    )


class _Health(NamedTuple):
    failures: int
    error: str | None
    failing_since: int | None
    alert_token: str | None


def _health(job: JobRecord, end: Finish, now: int) -> _Health:
    since, token = job.failing_since, job.alert_token
    if end.state is State.succeeded:
        return _Health(0, None, None, token if since is None else str(end.token))
    if end.state is not State.failed:
        return _Health(job.consecutive_failures, job.last_error, since, token)
    failures = job.consecutive_failures + (not end.retried)
    if since is None and failures >= job.definition.alert_after:
        return _Health(failures, end.error, now, str(end.token))
    return _Health(failures, end.error, since, token)


def replayed_alert(job: JobRecord, end: Finish) -> JobUpdate | None:
    """Return the alert that this completion raised or cleared when it was first sent: its reply
    may be lost. None if it did neither."""
    if job.alert_token != str(end.token):
        return None
    return JobUpdate(replace(job, failing_since=0 if job.failing_since is None else None), job)


def arm(job: JobRecord, now: int) -> JobRecord:
    """Return the job with its next tick, which is in the future however the store's clock moved."""
    over = job.removed_at is not None or job.retired_at is not None
    if over or (job.paused(now) and job.paused_until is None):
        return replace(job, next_due_at=None)
    last = job.last_tick if job.last_tick and job.last_tick - now < MAX_CLOCK_LEAD_MICROS else now
    after = max(now, last, (job.paused_until or now) - 1)
    try:
        following = rule_of(job).wake(from_micros(after))
    except DuetimeError:
        # A worker that can read the rule computes the next tick from here on.
        return replace(job, next_due_at=after)
    return replace(job, next_due_at=maybe_micros(following))


def _new(wanted: JobDefinition, app: str, by: str, now: int, *, declared: bool) -> JobRecord:
    job = JobRecord(
        definition=wanted, app=app, declared=declared, version=1, created_at=now, created_by=by
    )
    return arm(job, now)


def _redefined(
    job: JobRecord, wanted: JobDefinition, by: str, now: int, *, rearm: bool
) -> JobRecord:
    """Return the job with a new definition; an unchanged rule keeps its next tick."""
    before = job.definition
    same = _schedule(before) == _schedule(wanted) and not rearm
    edited = _edited(replace(job, definition=wanted), by, now)
    return replace(edited, next_due_at=job.next_due_at) if same else edited


def _schedule(definition: JobDefinition) -> tuple[object, ...]:
    """Return the fields that say when the job ticks."""
    return definition.recurrence, definition.tz, definition.starts_at, definition.ends_at


def _edited(job: JobRecord, by: str, now: int) -> JobRecord:
    edited = replace(job, version=job.version + 1, modified_at=now, modified_by=by)
    return arm(edited, now)


def _apply_due_ticks(found: FoundJob, job: JobRecord, apply_ticks: ApplyTicks) -> JobChange:
    """Apply the ticks that came before this edit, by the rule that was in force."""
    try:
        return apply_ticks(found) or JobChange(job=job)
    except DuetimeError:
        # A rule that cannot be read has no ticks.
        return JobChange(job=job)


def _skip_pending_ticks(
    found: FoundJob, job: JobRecord, apply_ticks: ApplyTicks, why: str
) -> JobChange:
    """Apply the due ticks as skipped: their occurrences would wait, and this edit cancels
    waiting ones."""
    change = _apply_due_ticks(found, job, apply_ticks)
    reason = f"skipped: {why} before it started"
    skipped = tuple(skip(occurrence, reason) for occurrence in change.occurrences)
    return replace(change, occurrences=skipped)


def _armed_in_future(job: JobRecord, now: int) -> bool:
    """Whether the job is armed for later than its rule says, because the clock was ahead."""
    due = job.next_due_at
    if due is None or due - now < MAX_CLOCK_LEAD_MICROS:
        return False
    by_rule = arm(job, now).next_due_at
    return by_rule is not None and by_rule < due


def _visible(found: FoundJob, tenant: Scope) -> JobRecord:
    job = found.job
    if job is None or job.removed_at is not None or not sees(tenant, job.tenant):
        raise JobNotFound(found.name)
    return job


def _refuse_stale(name: str, expected: int | None, stored: int) -> None:
    if expected is not None and expected != stored:
        raise StaleVersion(name, expected, stored)


def _refuse_exhausted(wanted: JobDefinition, now: int) -> None:
    if rule_of_definition(wanted).wake(from_micros(now)) is not None:
        return
    endless = replace(wanted, ends_at=None)
    if wanted.ends_at is not None and rule_of_definition(endless).wake(from_micros(now)):
        remedy = "no tick is left before it; give a later instant"
        raise InvalidArgument("ends_at", from_micros(wanted.ends_at), remedy)
    remedy = "its last tick has passed; give a rule that still has ticks to come"
    raise InvalidRecurrence("recurrence", wanted.recurrence, remedy)


def _name_taken(job: JobRecord, app: str) -> JobNameTaken:
    how = "declared in code" if job.declared else "made by put at run time"
    whose = "" if job.app == app else f" of the app {job.app!r}"
    return JobNameTaken(job.name, how + whose)
