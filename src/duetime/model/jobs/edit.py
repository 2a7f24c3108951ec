"""What code and people do to a job, as pure functions of what was found under its lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from duetime.errors import ConfigError, DuetimeError, InvalidRecurrence, JobNotFound, StaleVersion
from duetime.model.actions.completion import Finish
from duetime.model.clock import from_micros, maybe_micros
from duetime.model.ids import NewId
from duetime.model.jobs.change import Change, Found, JobEnd
from duetime.model.jobs.job import Definition, JobRecord, Overlap, rule_in, rule_of
from duetime.model.jobs.occurrence import occurrence, skipped
from duetime.model.state import State
from duetime.model.tenant import SYSTEM, Scope, sees

# How ticks that have come are dealt with: whatever is edited, none of them may be forgotten.
Tick = Callable[[Found], Change | None]

# A last tick further ahead of the clock than this was made by a clock that was wrong.
ASTRAY = 3_600_000_000


def seeded(found: Found, wanted: Definition, app: str, tick: Tick) -> Change | None:
    """What a worker that declares it makes of it: the definition is the youngest code's, the
    administrative state the administrators'."""
    job = found.job
    if job is None:
        return Change(job=_new(wanted, app, SYSTEM, found.now, declared=True))
    if (job.app != app and not found.left) or not job.declared:
        raise _taken(job, app)
    if not found.youngest:
        wanted = job.definition
    astray = _astray(job, found.now)
    kept = job.app == app and job.retired_at is None
    if job.definition == wanted and kept and not astray:
        return None
    came = _caught_up(found, job, tick)
    rearm = astray or job.retired_at is not None
    back = replace(came.job, retired_at=None, app=app)
    return replace(came, job=_redefined(back, wanted, SYSTEM, found.now, rearm=rearm))


def put(
    found: Found, wanted: Definition, app: str, by: str, version: int | None, tick: Tick
) -> Change | None:
    """Make a job at run time, or change one that was made so."""
    job = found.job
    if job is None:
        _refuse_stale(wanted.name, version, 0)
        _refuse_over(wanted, found.now)
        new = _new(wanted, app, by, found.now, declared=False)
        return Change(job=new, verb="put", by=by)
    if job.declared or job.app != app or job.tenant != wanted.tenant:
        raise _taken(job, app)
    gone = job.removed_at is not None
    if not (gone and version == 0):
        _refuse_stale(job.name, version, job.version)
    if job.definition == wanted and not gone:
        return None
    _refuse_over(wanted, found.now)
    came = _caught_up(found, job, tick)
    back = _reborn(came.job) if gone else came.job
    after = _redefined(back, wanted, by, found.now, rearm=gone)
    return replace(came, job=after, verb="put", by=by)


def _reborn(job: JobRecord) -> JobRecord:
    """Made anew under an old name: with its history, without what was on its mind."""
    return replace(
        job.unpaused(),
        removed_at=None,
        consecutive_failures=0,
        last_error=None,
        failing_since=None,
        told_by=None,
    )


def paused(
    found: Found, tenant: Scope, by: str, note: str | None, until: int | None, tick: Tick
) -> Change | None:
    """No tick comes any more, and those that wait are cancelled; what runs, runs on, and what
    was triggered by hand stays."""
    before = _visible(found, tenant)
    if before.paused(found.now) and (before.pause_note, before.paused_until) == (note, until):
        return None
    came = _overtaken(found, before, tick, f"paused by {by}")
    job = replace(
        came.job,
        paused_at=found.now,
        paused_by=by,
        pause_note=note,
        paused_until=until,
    )
    waiting = [one.id for one in found.unfinished if not one.running and one.tick is not None]
    after = _edited(job, by, found.now)
    return replace(came, job=after, cancel=tuple(waiting), verb="pause", by=by)


def resumed(found: Found, tenant: Scope, by: str) -> Change | None:
    """Ticks that fell in the pause are not made up."""
    job = _visible(found, tenant)
    if not job.paused(found.now):
        return None
    return Change(job=_edited(job.unpaused(), by, found.now), verb="resume", by=by)


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


def removed(found: Found, tenant: Scope, by: str, tick: Tick) -> Change:
    """What waits is cancelled, what runs comes to its end, and history stays."""
    came = _overtaken(found, _visible(found, tenant), tick, f"removed by {by}")
    waiting = tuple(one.id for one in found.unfinished if not one.running)
    job = _edited(replace(came.job, removed_at=found.now), by, found.now)
    return replace(came, job=job, cancel=waiting, verb="remove", by=by)


def restored(found: Found, tenant: Scope, by: str) -> Change | None:
    job = found.job
    if job is None or not sees(tenant, job.tenant):
        raise JobNotFound(found.name)
    if job.removed_at is None:
        return None
    back = _edited(replace(job, removed_at=None), by, found.now)
    return Change(job=back, verb="restore", by=by)


def retired(found: Found, tick: Tick) -> Change | None:
    """No live worker declares it any more."""
    job = found.job
    if job is None or job.retired_at is not None or job.removed_at is not None:
        return None
    came = _overtaken(found, job, tick, "retired, as no live worker declares it")
    return replace(came, job=replace(came.job, retired_at=found.now, next_due_at=None))


def realigned(found: Found) -> Change | None:
    """Armed by its rule again, if a clock that was ahead had armed it."""
    job = found.job
    if job is None or not _astray(job, found.now):
        return None
    return Change(job=armed(job, found.now))


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
    """An occurrence came to its end. Failures are counted until a success, each occurrence once
    however often it is retried by hand; being cancelled is neither."""
    health = _health(job, end, now)
    return replace(
        job,
        # Of one that was lost, nobody can tell any more.
        last_started_at=job.last_started_at if end.started_at is None else end.started_at,
        last_finished_at=now,
        last_outcome=end.outcome,
        triggered_by=end.triggered_by,
        consecutive_failures=health.failures,
        last_error=health.error,
        failing_since=health.failing_since,
        told_by=health.told_by,
    )


class _Health(NamedTuple):
    failures: int
    error: str | None
    failing_since: int | None
    told_by: str | None


def _health(job: JobRecord, end: Finish, now: int) -> _Health:
    since, told_by = job.failing_since, job.told_by
    if end.state is State.succeeded:
        return _Health(0, None, None, told_by if since is None else str(end.token))
    if end.state is not State.failed:
        return _Health(job.consecutive_failures, job.last_error, since, told_by)
    failures = job.consecutive_failures + (not end.retried)
    if since is None and failures >= job.definition.alert_after:
        return _Health(failures, end.error, now, str(end.token))
    return _Health(failures, end.error, since, told_by)


def retold(job: JobRecord, end: Finish) -> JobEnd | None:
    """What this end, sent once more, told of the job when it was new: its reply may be lost."""
    if job.told_by != str(end.token):
        return None
    return JobEnd(replace(job, failing_since=0 if job.failing_since is None else None), job)


def armed(job: JobRecord, now: int) -> JobRecord:
    """With its next tick; the past is past, whichever way the store's clock was moved."""
    over = job.removed_at is not None or job.retired_at is not None
    if over or (job.paused(now) and job.paused_until is None):
        return replace(job, next_due_at=None)
    last = job.last_tick if job.last_tick and job.last_tick - now < ASTRAY else now
    after = max(now, last, (job.paused_until or now) - 1)
    try:
        following = rule_of(job).wake(from_micros(after))
    except DuetimeError:
        # Whoever can read its rule will find the next tick from here on.
        return replace(job, next_due_at=after)
    return replace(job, next_due_at=maybe_micros(following))


def _new(wanted: Definition, app: str, by: str, now: int, *, declared: bool) -> JobRecord:
    job = JobRecord(
        definition=wanted, app=app, declared=declared, version=1, created_at=now, created_by=by
    )
    return armed(job, now)


def _redefined(job: JobRecord, wanted: Definition, by: str, now: int, *, rearm: bool) -> JobRecord:
    """A rule that stays the same keeps its next tick."""
    before = job.definition
    same = (before.recurrence, before.tz) == (wanted.recurrence, wanted.tz) and not rearm
    edited = _edited(replace(job, definition=wanted), by, now)
    return replace(edited, next_due_at=job.next_due_at) if same else edited


def _edited(job: JobRecord, by: str, now: int) -> JobRecord:
    edited = replace(job, version=job.version + 1, modified_at=now, modified_by=by)
    return armed(edited, now)


def _caught_up(found: Found, job: JobRecord, tick: Tick) -> Change:
    """With the ticks that came before this edit, by the rule that was in force."""
    try:
        return tick(found) or Change(job=job)
    except DuetimeError:
        # By a rule that cannot be read no tick comes.
        return Change(job=job)


def _overtaken(found: Found, job: JobRecord, tick: Tick, why: str) -> Change:
    """Those would have to wait, and what waits is cancelled."""
    came = _caught_up(found, job, tick)
    reason = f"skipped: {why} before it started"
    return replace(came, occurrences=tuple(skipped(one, reason) for one in came.occurrences))


def _astray(job: JobRecord, now: int) -> bool:
    """Armed for later than its rule says: by a clock that was ahead."""
    due = job.next_due_at
    if due is None or due - now < ASTRAY:
        return False
    right = armed(job, now).next_due_at
    return right is not None and right < due


def _visible(found: Found, tenant: Scope) -> JobRecord:
    job = found.job
    if job is None or job.removed_at is not None or not sees(tenant, job.tenant):
        raise JobNotFound(found.name)
    return job


def _refuse_stale(name: str, given: int | None, found: int) -> None:
    if given is not None and given != found:
        raise StaleVersion(name, given, found)


def _refuse_over(wanted: Definition, now: int) -> None:
    if rule_in(wanted).wake(from_micros(now)) is None:
        remedy = "its last tick has passed; give a rule that still has ticks to come"
        raise InvalidRecurrence("recurrence", wanted.recurrence, remedy)


def _taken(job: JobRecord, app: str) -> ConfigError:
    how = "declared in code" if job.declared else "made by put at run time"
    whose = "" if job.app == app else f" of the app {job.app!r}"
    return ConfigError(f"job {job.name!r} is {how}{whose}: change it there, or choose another name")
