"""The verbs of jobs, written once: each checks its arguments and returns an Operation.

`async_api.py` and `sync_api.py` perform the operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from duetime.api.action_meters import ActionMeters
from duetime.api.arguments import (
    MAX_QUEUE_LENGTH,
    AnyPayload,
    MisfireArgument,
    OverlapArgument,
    PriorityArgument,
    TenantArgument,
    to_act,
    to_scope,
)
from duetime.api.job_arguments import (
    DEFAULT_ALERT_AFTER,
    JobArguments,
    RecurrenceArgument,
    to_bulk_verb,
    to_definition,
    to_job_name,
    to_job_names,
    to_range,
    to_stored_retry,
)
from duetime.api.job_reads import JobReads, TickTimes
from duetime.api.operation import Operation
from duetime.config import Settings
from duetime.errors import InvalidArgument, JobNameTaken, UnreadableJob
from duetime.events.types import Event, cancelled_events, job_events
from duetime.model.act import Act
from duetime.model.actions.action import Action
from duetime.model.actions.retry import Retry
from duetime.model.clock import from_micros, to_micros
from duetime.model.ids import NewId
from duetime.model.jobs.bulk import BulkEdit, BulkVerb, JobBulk
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
from duetime.model.jobs.job import JobDefinition, Overlap
from duetime.model.jobs.job_filter import JobFilter
from duetime.model.jobs.occurrence import to_record
from duetime.model.jobs.selectors import ByName
from duetime.model.jobs.ticks import apply_ticks, backfill_ticks
from duetime.model.jobs.view import Job, JobView
from duetime.model.lane import Priority
from duetime.model.tenant import AMBIENT, ANY, SYSTEM, Ambient, Scope, current_tenant
from duetime.model.trace import current_trace, in_trace, keep_trace
from duetime.model.validation import check_name, instant
from duetime.registry.runtime import AppRuntime
from duetime.store.flow import Flow, Mode, Steps
from duetime.store.settlement import Settlement, settle_descendants

Ticks = list[int]
# The edit of a job, and the settlement of children that followed.
EditAndSettlement = tuple[JobEditResult, Settlement]

NO_CHANGE: EditAndSettlement = JobEditResult([], None, 0), Settlement([], [])


class JobVerbs(JobReads):
    """Builds the operations of one app's jobs."""

    def __init__(self, runtime: AppRuntime, new_id: NewId, settings: Settings) -> None:
        super().__init__(runtime)
        self._new_id = new_id
        self._counted = ActionMeters(runtime.meters)
        self._app = settings.name
        self._max_payload = settings.max_payload
        self._tick = partial(apply_ticks, new_id=new_id, misfire_after=settings.misfire_after)

    # -- changing --------------------------------------------------------------------

    def put(
        self,
        name: str,
        recurrence: RecurrenceArgument,
        *,
        payload: AnyPayload,
        tz: str | None = None,
        starts_at: datetime | None = None,
        ends_at: datetime | None = None,
        misfire: MisfireArgument = "once",
        misfire_after: float | timedelta | None = None,
        overlap: OverlapArgument = Overlap.skip,
        jitter: float | timedelta = 0,
        alert_after: int = DEFAULT_ALERT_AFTER,
        priority: PriorityArgument = Priority.normal,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: float | timedelta | None = None,
        tenant: str | Ambient | None = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        version: int | None = None,
        connection: object = None,
    ) -> Operation[Job]:
        """Create a job at run time, or change one that was created so. Each tick schedules
        `payload`, whose handler may have another `retry` and `timeout`. With `version`, raises
        StaleVersion unless the job still has that version; 0: unless there is no such job."""
        arguments = JobArguments(
            name=name,
            recurrence=recurrence,
            tz=tz,
            starts_at=starts_at,
            ends_at=ends_at,
            misfire=misfire,
            misfire_after=misfire_after,
            overlap=overlap,
            jitter=jitter,
            alert_after=alert_after,
            priority=priority,
            retry=to_stored_retry(retry),
            timeout=timeout,
            tenant=current_tenant() if tenant is AMBIENT else tenant,
        )
        wanted = self._definition(arguments, payload, queue)
        return self._put(wanted, to_act(by, note), version, connection)

    def _put(
        self, wanted: JobDefinition, act: Act, version: int | None, connection: object
    ) -> Operation[Job]:
        return self._edit(
            wanted.name,
            lambda found: put_job(found, wanted, self._app, act, version, self._tick),
            connection,
            resend=version is None,
        )

    def _definition(
        self, arguments: JobArguments, payload: object, queue: str | None
    ) -> JobDefinition:
        entry, text = self._payloads.encode(payload, self._max_payload)
        to_queue = entry.queue if queue is None else check_name("queue", queue, MAX_QUEUE_LENGTH)
        wanted = to_definition(arguments, entry, text, to_queue)
        self._refuse_declared(wanted.name, wanted.tenant)
        return wanted

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
        job, act, scope = to_job_name(name), to_act(by, note), to_scope(tenant)
        return self._edit(job, self._pausing(act, scope, until), connection, tenant=scope)

    def resume(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Job]:
        """Let the job tick again, from now on; a job that is not paused stays as it is."""
        job, act, scope = to_job_name(name), to_act(by, note), to_scope(tenant)
        return self._edit(job, self._resuming(act, scope), connection, tenant=scope)

    def bulk(
        self,
        verb: BulkVerb,
        names: Sequence[str],
        *,
        by: str | None = None,
        note: str | None = None,
        until: datetime | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[JobBulk]:
        """Pause or resume many jobs in one transaction, each audited by itself. Tells what became
        of each name; `until` is for "pause"."""
        wanted, act, scope = to_job_names(names), to_act(by, note), to_scope(tenant)
        edit = self._resuming(act, scope)
        if to_bulk_verb(verb, until) == "pause":
            edit = self._pausing(act, scope, until)

        def steps() -> Steps[tuple[EditAndSettlement, JobBulk]]:
            bulk = BulkEdit(edit)
            done = yield from self._change_all(ByName(tuple(sorted(wanted)), scope), bulk.decide)
            changed = [change.after.name for change in done[0].changes]
            return done, bulk.result(wanted, changed, done[0].unreadable)

        return Operation(
            Flow(steps, Mode.write),
            lambda done: done[1],
            events=lambda done: _events_of(done[0]),
            connection=connection,
            notifies=True,
        )

    def _pausing(self, act: Act, scope: Scope, until: datetime | None) -> JobEdit:
        end = None if until is None else to_micros(instant("until", until))

        def decide(found: FoundJob) -> JobChange | None:
            if end is not None and end <= found.now:
                raise InvalidArgument("until", until, "give an instant in the future")
            return pause_job(found, scope, act, end, self._tick)

        return decide

    def _resuming(self, act: Act, scope: Scope) -> JobEdit:
        return lambda found: resume_job(found, scope, act)

    def trigger(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Action]:
        """Run the job once now, even while it is paused. If its occurrences must not overlap and
        one is unfinished, the run starts after that one. Returns the action."""
        job, act, scope = to_job_name(name), to_act(by, note), to_scope(tenant)

        def decide(found: FoundJob) -> JobChange | None:
            return trigger_job(found, scope, act, self._new_id)

        def action(done: EditAndSettlement) -> Action:
            [occurrence] = done[0].changes[0].occurrences
            record = to_record(occurrence, done[0].now)
            settled = {child.id: child for child in done[1].settled}
            return self._payloads.action(settled.get(record.id, record))

        return Operation(
            Flow(partial(self._change, job, keep_trace(decide), scope), Mode.write),
            action,
            lambda done: self._counted.occurred(done[0].changes),
            _events_of,
            connection=connection,
        )

    def remove(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[None]:
        """Remove the job: occurrences that wait are cancelled, those that run may finish, history
        stays. A job that code declares stays removed until it is restored."""
        job, act, scope = to_job_name(name), to_act(by, note), to_scope(tenant)

        def decide(found: FoundJob) -> JobChange | None:
            return remove_job(found, scope, act, self._tick)

        return Operation(
            Flow(lambda: self._change(job, decide, scope), Mode.write),
            lambda _: None,
            events=_events_of,
            connection=connection,
        )

    def restore(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Job]:
        """Bring a removed job back as it was; a job that was not removed stays as it is."""
        job, act, scope = to_job_name(name), to_act(by, note), to_scope(tenant)
        return self._edit(
            job, lambda found: restore_job(found, scope, act), connection, tenant=scope
        )

    def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        *,
        dry_run: bool = True,
        by: str | None = None,
        note: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[TickTimes]:
        """Return the past ticks with `start <= tick < end` that have no occurrence. Without
        `dry_run` their occurrences are inserted, and run one after another unless they may
        overlap."""
        job, act, scope = to_job_name(name), to_act(by, note), to_scope(tenant)
        first, last = to_range(start, end)

        trace = current_trace()

        def steps() -> Steps[tuple[Ticks, EditAndSettlement]]:
            view = yield from self._find(job, scope)
            known = yield from self._store.ticks(job, to_micros(first), to_micros(last)).start()
            ticks = {to_micros(tick) for tick in backfill_ticks(view, first, last)}
            missing = sorted(ticks - {*known})
            if dry_run:
                return missing, NO_CHANGE

            def decide(found: FoundJob) -> JobChange | None:
                with in_trace(trace):
                    return backfill_job(found, scope, missing, act, self._new_id)

            return missing, (yield from self._change(job, decide, scope))

        return Operation(
            Flow(steps, Mode.read if dry_run else Mode.write),
            lambda done: [from_micros(tick) for tick in done[0]],
            lambda done: self._counted.occurred(done[1][0].changes),
            None if dry_run else lambda done: _events_of(done[1]),
            connection=connection,
        )

    # -- shared steps ----------------------------------------------------------------

    def _edit(
        self,
        name: str,
        decide: JobEdit,
        connection: object,
        *,
        tenant: Scope = ANY,
        resend: bool = True,
    ) -> Operation[Job]:
        """Change one job; the result is the job after the change."""

        def steps() -> Steps[tuple[EditAndSettlement, JobView]]:
            done = yield from self._change(name, decide, tenant)
            (view,) = yield from self._store.jobs(_in_any_tenant(name)).start()
            return done, view

        return Operation(
            Flow(steps, Mode.write, resend=resend),
            lambda done: self._to_job(done[1]),
            events=lambda done: _events_of(done[0]),
            connection=connection,
            notifies=True,
        )

    def _change(self, name: str, decide: JobEdit, tenant: Scope) -> Steps[EditAndSettlement]:
        """Edit the job. Raises UnreadableJob rather than silently leaving an unreadable job
        unchanged."""
        done = yield from self._change_all(ByName((name,), tenant), decide)
        if done[0].unreadable:
            raise UnreadableJob(name)
        return done

    def _change_all(self, which: ByName, decide: JobEdit) -> Steps[EditAndSettlement]:
        """Edit the jobs, and settle the children of what the edit finished."""
        edited = yield from self._store.edit_jobs(which, decide).start()
        return edited, (yield from settle_descendants(self._store, _parents(edited)).start())

    def _refuse_declared(self, name: str, tenant: str | None) -> None:
        declared = self._declared.get(name)
        if declared is not None:
            raise JobNameTaken(name, "declared in code" if declared.tenant == tenant else None)


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
