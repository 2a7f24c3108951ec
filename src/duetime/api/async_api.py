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
from duetime.api.notifications import NotificationVerbs
from duetime.api.operation import async_verb
from duetime.api.queues import QueueVerbs
from duetime.api.setup import CurrentSetup
from duetime.api.subscription_arguments import (
    Patterns,
    SeverityName,
    SubscriptionArguments,
    Topics,
    to_terms,
)
from duetime.api.workers import WorkerVerbs
from duetime.model.audit import AuditEntry
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.tenant import AMBIENT, ANY, Scope


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


class AppNotifications:
    """`app.notifications`: who hears of what, and the notifications in the app."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> NotificationVerbs:
        return self._setup.now.notifications

    def subscribe(
        self,
        topics: Topics,
        *,
        email: str | None = None,
        webhook: str | None = None,
        in_app: bool = False,
        via: str | None = None,
        to: str | None = None,
        jobs: Patterns = (),
        kinds: Patterns = (),
        queues: Patterns = (),
        language: str = "en",
        zone: str = "UTC",
        minimum: SeverityName = "info",
        quiet: str | None = None,
        show_errors: bool = True,
        tenant: Scope = ANY,
    ) -> None:
        """Declare a subscription in code: workers and `duetime serve` store it when they start. A
        process that does not run a worker needs no declaration. Give `topics` as for `add`; one of
        `email`, `webhook`, `in_app=True` and `via` (with `to`) says where. Without `tenant`, it
        hears of the rows of all tenants."""
        arguments = SubscriptionArguments(
            topics=topics,
            email=email,
            webhook=webhook,
            in_app=in_app,
            via=via,
            to=to,
            jobs=jobs,
            kinds=kinds,
            queues=queues,
            language=language,
            zone=zone,
            minimum=minimum,
            quiet=quiet,
            show_errors=show_errors,
        )
        runtime = self._setup.own.runtime
        terms = to_terms(arguments, tenant, runtime.channels)
        if terms not in runtime.subscribed:
            runtime.subscribed.append(terms)

    add = async_verb(NotificationVerbs.add)
    subscriptions = async_verb(NotificationVerbs.subscriptions)
    get = async_verb(NotificationVerbs.get)
    change = async_verb(NotificationVerbs.change)
    mute = async_verb(NotificationVerbs.mute)
    remove = async_verb(NotificationVerbs.remove)
    test = async_verb(NotificationVerbs.test)
    confirm = async_verb(NotificationVerbs.confirm)
    unsubscribe = async_verb(NotificationVerbs.unsubscribe)
    linked = async_verb(NotificationVerbs.linked)
    list = async_verb(NotificationVerbs.list)
    unread = async_verb(NotificationVerbs.unread)
    read = async_verb(NotificationVerbs.read)


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
