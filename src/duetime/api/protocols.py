"""Protocols for the reading and the writing half of `app.jobs`, for code that needs only one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from duetime.api.arguments import (
    AnyPayload,
    MisfireArgument,
    OverlapArgument,
    PriorityArgument,
    TenantArgument,
)
from duetime.api.job_arguments import DEFAULT_ALERT_AFTER, RecurrenceArgument
from duetime.api.job_list_arguments import JobSortArgument, JobStateArgument, OutcomeArgument
from duetime.model.actions.action import Action, Page
from duetime.model.actions.retry import Retry
from duetime.model.jobs.bulk import BulkVerb, JobBulk
from duetime.model.jobs.job import Overlap
from duetime.model.jobs.occurrence import Occurrence
from duetime.model.jobs.view import Job
from duetime.model.lane import Priority
from duetime.model.tenant import AMBIENT, Ambient


class JobReader(Protocol):
    """The verbs of `app.jobs` that only read."""

    async def get(
        self, name: str, *, tenant: TenantArgument = AMBIENT, connection: object = None
    ) -> Job: ...

    async def list(
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
    ) -> Page[Job]: ...

    async def runs(
        self,
        name: str,
        *,
        limit: int = 20,
        before: UUID | str | datetime | None = None,
        outcome: OutcomeArgument | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Occurrences: ...

    async def preview(
        self,
        name: str,
        count: int = 5,
        *,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> TickTimes: ...


class JobWriter(Protocol):
    """The verbs of `app.jobs` that change jobs; each call is audited with its actor."""

    async def put(
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
    ) -> Job: ...

    async def pause(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        until: datetime | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Job: ...

    async def resume(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Job: ...

    async def bulk(
        self,
        verb: BulkVerb,
        names: Sequence[str],
        *,
        by: str | None = None,
        note: str | None = None,
        until: datetime | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> JobBulk: ...

    async def trigger(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Action: ...

    async def remove(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> None: ...

    async def restore(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Job: ...

    async def backfill(
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
    ) -> TickTimes: ...


# Outside the classes, where `list` names a verb.
Occurrences = list[Occurrence]
TickTimes = list[datetime]
