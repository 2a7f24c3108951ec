"""The verbs of jobs, written once: each checks its arguments and returns an Operation.

`async_api.py` and `sync_api.py` perform the operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from duetime.api.arguments import MAX_QUEUE_LENGTH, TenantArgument, to_actor, to_scope
from duetime.api.job_arguments import (
    DEFAULT_ALERT_AFTER,
    JobArguments,
    RecurrenceArgument,
    to_definition,
    to_job_name,
    to_range,
)
from duetime.api.operation import Operation
from duetime.config import Settings
from duetime.errors import ConfigError, InvalidArgument, JobNotFound, UnreadableJob
from duetime.events.types import Event, cancelled_events, job_events
from duetime.model.actions.action import Action, Page, Record
from duetime.model.clock import from_micros, to_micros
from duetime.model.filter import page_limit
from duetime.model.ids import NewId
from duetime.model.jobs.change import FoundJob, JobChange, JobEdit, JobEditResult
from duetime.model.jobs.edit import (
    backfill_job,
    pause_job,
    put_job,
    remove_job,
    restore_job,
    resume_job,
    trigger_job,
)
from duetime.model.jobs.job import Overlap, rule_of
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.name import MAX_JOB_NAME_LENGTH
from duetime.model.jobs.occurrence import Occurrence, as_occurrence, to_record
from duetime.model.jobs.selectors import ByName, JobFilter
from duetime.model.jobs.ticks import apply_ticks, backfill_ticks
from duetime.model.jobs.view import Job, JobView, as_job
from duetime.model.lane import Priority
from duetime.model.tenant import AMBIENT, ANY, SYSTEM, Ambient, Scope, current_tenant
from duetime.model.validation import check_count, check_name, check_optional, instant
from duetime.registry.runtime import AppRuntime
from duetime.store.flow import Flow, Mode, Steps
from duetime.store.settlement import Settlement, settle_descendants

Ticks = list[int]
TickTimes = list[datetime]
Records = list[Record]
Occurrences = list[Occurrence]
# The edit of a job, and the settlement of children that followed.
EditAndSettlement = tuple[JobEditResult, Settlement]

MAX_NOTE_LENGTH = 500
MAX_RUNS = 200
MAX_PREVIEW_TICKS = 1000
NO_CHANGE: EditAndSettlement = JobEditResult([], None, 0), Settlement([], [])
END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class JobVerbs:
    """Builds the operations of one app's jobs."""

    def __init__(self, runtime: AppRuntime, new_id: NewId, settings: Settings) -> None:
        self._store = runtime.store
        self._payloads = runtime.payloads
        self._declared = runtime.jobs
        self._new_id = new_id
        self._app = settings.name
        self._max_payload = settings.max_payload
        self._tick = partial(apply_ticks, new_id=new_id, misfire_after=settings.misfire_after)

    # -- reading ---------------------------------------------------------------------

    def list(
        self,
        *,
        removed: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Page[Job]]:
        """Jobs in the order of their names; `removed=True` includes removed jobs."""
        size = page_limit(limit)
        after = "" if cursor is None else check_name("cursor", cursor, MAX_JOB_NAME_LENGTH)
        wanted = JobFilter(tenant=to_scope(tenant), after=after, limit=size + 1, removed=removed)

        def page(views: list[JobView]) -> Page[Job]:
            jobs = [self._to_job(view) for view in views[:size]]
            return Page(jobs, jobs[-1].name if len(views) > size else None)

        return Operation(self._store.jobs(wanted), page, connection=connection)

    def get(
        self, name: str, *, tenant: TenantArgument = AMBIENT, connection: object = None
    ) -> Operation[Job]:
        """The job; JobNotFound if there is none or it was removed."""
        job, scope = to_job_name(name), to_scope(tenant)
        flow = Flow(lambda: self._find(job, scope), Mode.read)
        return Operation(flow, self._to_job, connection=connection)

    def runs(
        self,
        name: str,
        *,
        limit: int = 20,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Occurrences]:
        """The occurrences of the job: ticks, skipped ticks and triggers, newest first."""
        job, scope = to_job_name(name), to_scope(tenant)
        size = check_count("limit", limit, MAX_RUNS)

        def steps() -> Steps[Records]:
            yield from self._find(job, scope, removed=True)
            return (yield from self._store.occurrences(job, size).start())

        return Operation(
            Flow(steps, Mode.read),
            lambda records: [as_occurrence(record) for record in records],
            connection=connection,
        )

    def preview(
        self,
        name: str,
        count: int = 5,
        *,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[TickTimes]:
        """The next ticks of the recurrence, as if the job were neither paused nor retired."""
        job, scope = to_job_name(name), to_scope(tenant)
        wanted = check_count("count", count, MAX_PREVIEW_TICKS)

        def ticks(view: JobView) -> TickTimes:
            return rule_of(view.job).between(from_micros(view.now), END_OF_TIME, wanted)

        flow = Flow(lambda: self._find(job, scope), Mode.read)
        return Operation(flow, ticks, connection=connection)

    # -- changing --------------------------------------------------------------------

    def put(
        self,
        name: str,
        recurrence: RecurrenceArgument,
        *,
        payload: object,
        tz: str | None = None,
        misfire: str | Misfire = "once",
        overlap: Overlap | str = Overlap.skip,
        jitter: float | timedelta = 0,
        alert_after: int = DEFAULT_ALERT_AFTER,
        priority: Priority | str = Priority.normal,
        queue: str | None = None,
        tenant: str | Ambient | None = AMBIENT,
        by: str | None = None,
        version: int | None = None,
        connection: object = None,
    ) -> Operation[Job]:
        """Create a job at run time, or change one that was created so. Each tick schedules
        `payload`, whose kind must have a handler. With `version`, the edit raises StaleVersion
        unless the job still has that version; 0 means that the job must not exist yet."""
        entry, text = self._payloads.encode(payload, self._max_payload)
        arguments = JobArguments(
            name=name,
            recurrence=recurrence,
            tz=tz,
            misfire=misfire,
            overlap=overlap,
            jitter=jitter,
            alert_after=alert_after,
            priority=priority,
            tenant=current_tenant() if tenant is AMBIENT else tenant,
        )
        to_queue = entry.queue if queue is None else check_name("queue", queue, MAX_QUEUE_LENGTH)
        wanted, actor = to_definition(arguments, entry, text, to_queue, None), to_actor(by)
        self._refuse_declared(wanted.name)
        return self._edit(
            wanted.name,
            lambda found: put_job(found, wanted, self._app, actor, version, self._tick),
            connection,
            resend=version is None,
        )

    def pause(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        until: datetime | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Job]:
        """Stop the job's ticks until it is resumed or until the instant `until`. Occurrences that
        wait are cancelled; those that run or were triggered continue. Ticks that fall into the
        pause are not made up for."""
        job, actor, scope = to_job_name(name), to_actor(by), to_scope(tenant)
        end = None if until is None else to_micros(instant("until", until))
        checked_note = check_optional("note", note, MAX_NOTE_LENGTH)

        def decide(found: FoundJob) -> JobChange | None:
            if end is not None and end <= found.now:
                raise InvalidArgument("until", until, "give an instant in the future")
            return pause_job(found, scope, actor, checked_note, end, self._tick)

        return self._edit(job, decide, connection)

    def resume(
        self,
        name: str,
        *,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Job]:
        """Let the job tick again, from now on; a job that is not paused stays as it is."""
        job, actor, scope = to_job_name(name), to_actor(by), to_scope(tenant)
        return self._edit(job, lambda found: resume_job(found, scope, actor), connection)

    def trigger(
        self,
        name: str,
        *,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Action]:
        """Run the job once now, even while it is paused. If its occurrences must not overlap and
        one is unfinished, the run starts after that one. Returns the action."""
        job, actor, scope = to_job_name(name), to_actor(by), to_scope(tenant)

        def decide(found: FoundJob) -> JobChange | None:
            return trigger_job(found, scope, actor, self._new_id)

        def action(done: EditAndSettlement) -> Action:
            [occurrence] = done[0].changes[0].occurrences
            record = to_record(occurrence, done[0].now)
            settled = {child.id: child for child in done[1].settled}
            return self._payloads.action(settled.get(record.id, record))

        return Operation(
            Flow(lambda: self._change(job, decide), Mode.write),
            action,
            events=_events_of,
            connection=connection,
        )

    def remove(
        self,
        name: str,
        *,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[None]:
        """Remove the job: occurrences that wait are cancelled, those that run may finish, history
        stays. A job that code declares stays removed until it is restored."""
        job, actor, scope = to_job_name(name), to_actor(by), to_scope(tenant)

        def decide(found: FoundJob) -> JobChange | None:
            return remove_job(found, scope, actor, self._tick)

        return Operation(
            Flow(lambda: self._change(job, decide), Mode.write),
            lambda _: None,
            events=_events_of,
            connection=connection,
        )

    def restore(
        self,
        name: str,
        *,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Job]:
        """Bring a removed job back as it was; a job that was not removed stays as it is."""
        job, actor, scope = to_job_name(name), to_actor(by), to_scope(tenant)
        return self._edit(job, lambda found: restore_job(found, scope, actor), connection)

    def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        *,
        dry_run: bool = True,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[TickTimes]:
        """Return the past ticks with `start <= tick < end` that have no occurrence. Without
        `dry_run` their occurrences are inserted, and run one after another unless they may
        overlap."""
        job, actor, scope = to_job_name(name), to_actor(by), to_scope(tenant)
        first, last = to_range(start, end)

        def steps() -> Steps[tuple[Ticks, EditAndSettlement]]:
            view = yield from self._find(job, scope)
            known = yield from self._store.ticks(job, to_micros(first), to_micros(last)).start()
            ticks = {to_micros(tick) for tick in backfill_ticks(view, first, last)}
            missing = sorted(ticks - {*known})
            if dry_run:
                return missing, NO_CHANGE

            def decide(found: FoundJob) -> JobChange | None:
                return backfill_job(found, scope, missing, actor, self._new_id)

            return missing, (yield from self._change(job, decide))

        return Operation(
            Flow(steps, Mode.read if dry_run else Mode.write),
            lambda done: [from_micros(tick) for tick in done[0]],
            events=None if dry_run else lambda done: _events_of(done[1]),
            connection=connection,
        )

    # -- shared steps ----------------------------------------------------------------

    def _edit(
        self, name: str, decide: JobEdit, connection: object, *, resend: bool = True
    ) -> Operation[Job]:
        """Change one job; the result is the job after the change."""

        def steps() -> Steps[tuple[EditAndSettlement, JobView]]:
            done = yield from self._change(name, decide)
            (view,) = yield from self._store.jobs(_in_any_tenant(name)).start()
            return done, view

        return Operation(
            Flow(steps, Mode.write, resend=resend),
            lambda done: self._to_job(done[1]),
            events=lambda done: _events_of(done[0]),
            connection=connection,
        )

    def _change(self, name: str, decide: JobEdit) -> Steps[EditAndSettlement]:
        """Edit the job and settle the children of what the edit finished. Raises UnreadableJob
        rather than silently leaving an unreadable job unchanged."""
        edited = yield from self._store.edit_jobs(ByName((name,)), decide).start()
        if edited.unreadable:
            raise UnreadableJob(name)
        return edited, (yield from settle_descendants(self._store, _parents(edited)).start())

    def _find(self, name: str, tenant: Scope, *, removed: bool = False) -> Steps[JobView]:
        wanted = JobFilter(tenant=tenant, name=name, removed=removed)
        views = yield from self._store.jobs(wanted).start()
        if not views:
            raise JobNotFound(name, self._declared.names())
        return views[0]

    def _to_job(self, view: JobView) -> Job:
        definition = view.job.definition
        payload = self._payloads.shown(
            definition.kind, definition.payload_version, definition.payload
        )
        return as_job(view, payload)

    def _refuse_declared(self, name: str) -> None:
        if self._declared.get(name) is not None:
            raise ConfigError(
                f"job {name!r} is declared in code: change it there, or choose another name"
            )


def _in_any_tenant(name: str) -> JobFilter:
    return JobFilter(tenant=ANY, name=name, removed=True)


def _parents(edited: JobEditResult) -> Sequence[UUID]:
    """Occurrences that were cancelled, and those that new ones wait for: the latter may just
    have finished."""
    cancelled = [record.id for changed in edited.changes for record in changed.cancelled]
    inserted = {
        new.action.id: new.action for changed in edited.changes for new in changed.occurrences
    }
    awaited = [new.after for new in inserted.values() if new.after and new.after not in inserted]
    return [*cancelled, *awaited]


def _events_of(done: EditAndSettlement) -> Sequence[Event]:
    edited, settlement = done
    events: list[Event] = []
    for changed in edited.changes:
        events += job_events(changed.before, changed.after, changed.after.modified_by or SYSTEM)
        events += cancelled_events(changed.cancelled)
    return events + cancelled_events([], settlement.settled)
