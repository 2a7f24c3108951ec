"""The verbs that read jobs: each checks its arguments and returns an Operation."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from duetime.api.arguments import MAX_RUNS, TenantArgument, to_scope
from duetime.api.job_arguments import to_job_name
from duetime.api.job_list_arguments import (
    JobSortArgument,
    JobStateArgument,
    OutcomeArgument,
    to_before,
    to_job_filter,
    to_outcome,
)
from duetime.api.operation import Operation
from duetime.errors import ActionNotFound, InvalidArgument, JobNotFound
from duetime.model.actions.action import Page, Record
from duetime.model.clock import from_micros, to_micros
from duetime.model.filter import page_limit
from duetime.model.jobs.job import rule_of
from duetime.model.jobs.job_filter import JobFilter, from_job_cursor, to_job_cursor
from duetime.model.jobs.occurrence import Occurrence, as_occurrence
from duetime.model.jobs.occurrence_filter import OccurrenceFilter
from duetime.model.jobs.view import Job, JobView, as_job
from duetime.model.tenant import AMBIENT, ANY, Scope, sees
from duetime.model.validation import check_count
from duetime.registry.runtime import AppRuntime
from duetime.store.flow import Flow, Mode, Steps

TickTimes = list[datetime]
Records = list[Record]
Occurrences = list[Occurrence]

MAX_PREVIEW_TICKS = 1000
LOWEST_ID = UUID(int=0)
END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class JobReads:
    """Builds the operations that read one app's jobs."""

    def __init__(self, runtime: AppRuntime) -> None:
        self.runtime = runtime
        self._store = runtime.store
        self._payloads = runtime.payloads
        self._declared = runtime.jobs

    def list(
        self,
        *,
        state: JobStateArgument | None = None,
        enabled: bool | None = None,
        failing: bool | None = None,
        declared: bool | None = None,
        kind: str | None = None,
        queue: str | None = None,
        due_before: datetime | None = None,
        q: str | None = None,
        sort: JobSortArgument = "name",
        removed: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Page[Job]]:
        """The jobs that match, a page at a time. `due_before` is about the next tick, `q` a part
        of the name. `removed=True` includes removed jobs. A minus before `sort` turns it round."""
        size = page_limit(limit)
        wanted = to_job_filter(
            state=state,
            enabled=enabled,
            failing=failing,
            declared=declared,
            kind=kind,
            queue=queue,
            due_before=due_before,
            q=q,
            sort=sort,
            removed=removed,
            limit=size + 1,
            tenant=tenant,
        )
        if cursor is not None:
            wanted = replace(wanted, follows=from_job_cursor(cursor, wanted))

        def page(views: list[JobView]) -> Page[Job]:
            more = len(views) > size
            jobs = [self._to_job(view) for view in views[:size]]
            return Page(jobs, to_job_cursor(views[size - 1], wanted) if more else None)

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
        before: UUID | str | datetime | None = None,
        outcome: OutcomeArgument | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Occurrences]:
        """The occurrences of the job: ticks, skipped ticks and triggers, newest first. `before` is
        an instant of their creation, or the id of the last occurrence of the previous page.
        `outcome` is looked for among the newest 20,000 finished ones."""
        job, scope = to_job_name(name), to_scope(tenant)
        wanted = OccurrenceFilter(
            job=job,
            limit=check_count("limit", limit, MAX_RUNS),
            outcome=None if outcome is None else to_outcome(outcome),
        )
        last = to_before(before)

        def steps() -> Steps[Records]:
            yield from self._find(job, scope, removed=True)
            follows = yield from self._position(job, last)
            return (yield from self._store.occurrences(replace(wanted, follows=follows)).start())

        return Operation(
            Flow(steps, Mode.read),
            lambda records: [as_occurrence(record) for record in records],
            connection=connection,
        )

    def _position(self, job: str, last: UUID | datetime | None) -> Steps[tuple[int, UUID] | None]:
        """Return what the occurrences to read were created before."""
        if last is None:
            return None
        if isinstance(last, datetime):
            return to_micros(last), LOWEST_ID
        try:
            record = yield from self._store.get(last, ANY).start()
        except ActionNotFound:
            record = None
        if record is None or record.job != job:
            raise InvalidArgument("before", str(last), "give the id of an occurrence of this job")
        return record.created_at, record.id

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

    def _find(self, name: str, tenant: Scope, *, removed: bool = False) -> Steps[JobView]:
        wanted = JobFilter(tenant=tenant, name=name, removed=removed)
        views = yield from self._store.jobs(wanted).start()
        if not views:
            visible = [job.name for job in self._declared if sees(tenant, job.tenant)]
            raise JobNotFound(name, visible)
        return views[0]

    def _to_job(self, view: JobView) -> Job:
        definition = view.job.definition
        payload = self._payloads.shown(
            definition.kind, definition.payload_version, definition.payload
        )
        return as_job(view, payload)
