"""The verbs of an app as coroutines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

from duetime.api.api_keys import ApiKeyVerbs
from duetime.api.arguments import TenantArgument
from duetime.api.audit import AuditVerbs
from duetime.api.grants import GrantVerbs
from duetime.api.jobs import JobVerbs
from duetime.api.operation import async_verb
from duetime.api.queues import QueueVerbs
from duetime.api.setup import CurrentSetup
from duetime.api.workers import WorkerVerbs
from duetime.model.audit import AuditEntry
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.tenant import AMBIENT


class Audit:
    """`app.audit`: who changed what."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> AuditVerbs:
        return self._setup.now.audit

    find = async_verb(AuditVerbs.find)

    async def export(
        self,
        *,
        subject: UUID | str | None = None,
        by: str | None = None,
        verb: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> AsyncIterator[AuditEntry]:
        """Every entry that matches, newest first, read a page at a time. Entries that are written
        meanwhile are left out."""
        cursor: str | None = None
        while True:
            page = await self.find(
                subject=subject,
                by=by,
                verb=verb,
                since=since,
                before=before,
                tenant=tenant,
                limit=MAX_PAGE_SIZE,
                cursor=cursor,
            )
            for entry in page.items:
                yield entry
            cursor = page.next_cursor
            if cursor is None:
                return


class Grants:
    """`app.grants`: which role may do what over HTTP."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> GrantVerbs:
        return self._setup.now.grants

    set = async_verb(GrantVerbs.set)
    list = async_verb(GrantVerbs.list)
    remove = async_verb(GrantVerbs.remove)


class ApiKeys:
    """`app.api_keys`: keys for requests over HTTP."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> ApiKeyVerbs:
        return self._setup.now.api_keys

    create = async_verb(ApiKeyVerbs.create)
    list = async_verb(ApiKeyVerbs.list)
    revoke = async_verb(ApiKeyVerbs.revoke)


class Jobs:
    """`app.jobs`: the verbs of recurring jobs."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> JobVerbs:
        return self._setup.now.jobs

    list = async_verb(JobVerbs.list)
    get = async_verb(JobVerbs.get)
    put = async_verb(JobVerbs.put)
    remove = async_verb(JobVerbs.remove)
    restore = async_verb(JobVerbs.restore)
    pause = async_verb(JobVerbs.pause)
    resume = async_verb(JobVerbs.resume)
    bulk = async_verb(JobVerbs.bulk)
    trigger = async_verb(JobVerbs.trigger)
    runs = async_verb(JobVerbs.runs)
    preview = async_verb(JobVerbs.preview)
    backfill = async_verb(JobVerbs.backfill)


class Queues:
    """`app.queues`: what waits in the queues, and their pauses."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> QueueVerbs:
        return self._setup.now.queues

    list = async_verb(QueueVerbs.list)
    pause = async_verb(QueueVerbs.pause)
    resume = async_verb(QueueVerbs.resume)


class Workers:
    """`app.workers`: the workers that are alive."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> WorkerVerbs:
        return self._setup.now.workers

    list = async_verb(WorkerVerbs.list)
