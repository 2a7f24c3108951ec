"""The verbs of an app as blocking methods: for code without an event loop, and safe beside one."""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, overload
from uuid import UUID

from duetime.api.actions import ActionVerbs
from duetime.api.api_keys import ApiKeyVerbs
from duetime.api.arguments import Delay, Parent, PayloadT, TenantArgument, to_action_id
from duetime.api.audit import AuditVerbs
from duetime.api.grants import GrantVerbs
from duetime.api.jobs import JobVerbs
from duetime.api.notifications import NotificationVerbs
from duetime.api.operation import blocking_verb
from duetime.api.queues import QueueVerbs
from duetime.api.setup import CurrentSetup
from duetime.api.wait import poll_intervals
from duetime.api.workers import WorkerVerbs
from duetime.errors import WaitTimeout
from duetime.model.actions.action import Action, Page
from duetime.model.audit import AuditEntry
from duetime.model.filter import MAX_PAGE_SIZE
from duetime.model.tenant import AMBIENT
from duetime.model.validation import seconds

if TYPE_CHECKING:
    from duetime.model.kept_report import KeptReport
    from duetime.model.transition import ParkedRow, Pending, Report, TransitionView
    from duetime.testing.driver import Testing
    from duetime.transitions.api import Transitions

T = TypeVar("T")
# The classes below have methods `list`.
list_ = list


class SyncJobs:
    """`app.sync.jobs`: the verbs of recurring jobs without `await`."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> JobVerbs:
        return self._setup.now.jobs

    list = blocking_verb(JobVerbs.list)
    get = blocking_verb(JobVerbs.get)
    put = blocking_verb(JobVerbs.put)
    remove = blocking_verb(JobVerbs.remove)
    restore = blocking_verb(JobVerbs.restore)
    pause = blocking_verb(JobVerbs.pause)
    resume = blocking_verb(JobVerbs.resume)
    bulk = blocking_verb(JobVerbs.bulk)
    trigger = blocking_verb(JobVerbs.trigger)
    runs = blocking_verb(JobVerbs.runs)
    preview = blocking_verb(JobVerbs.preview)
    backfill = blocking_verb(JobVerbs.backfill)


class SyncGrants:
    """`app.sync.grants`: which role may do what over HTTP."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> GrantVerbs:
        return self._setup.now.grants

    set = blocking_verb(GrantVerbs.set)
    list = blocking_verb(GrantVerbs.list)
    remove = blocking_verb(GrantVerbs.remove)


class SyncApiKeys:
    """`app.sync.api_keys`: keys for requests over HTTP."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> ApiKeyVerbs:
        return self._setup.now.api_keys

    create = blocking_verb(ApiKeyVerbs.create)
    list = blocking_verb(ApiKeyVerbs.list)
    revoke = blocking_verb(ApiKeyVerbs.revoke)


class SyncNotifications:
    """`app.sync.notifications`: subscriptions and notifications without `await`."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> NotificationVerbs:
        return self._setup.now.notifications

    add = blocking_verb(NotificationVerbs.add)
    subscriptions = blocking_verb(NotificationVerbs.subscriptions)
    get = blocking_verb(NotificationVerbs.get)
    change = blocking_verb(NotificationVerbs.change)
    mute = blocking_verb(NotificationVerbs.mute)
    remove = blocking_verb(NotificationVerbs.remove)
    test = blocking_verb(NotificationVerbs.test)
    confirm = blocking_verb(NotificationVerbs.confirm)
    unsubscribe = blocking_verb(NotificationVerbs.unsubscribe)
    linked = blocking_verb(NotificationVerbs.linked)
    list = blocking_verb(NotificationVerbs.list)
    unread = blocking_verb(NotificationVerbs.unread)
    read = blocking_verb(NotificationVerbs.read)


class SyncAudit:
    """`app.sync.audit`: who changed what."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> AuditVerbs:
        return self._setup.now.audit

    find = blocking_verb(AuditVerbs.find)

    def export(
        self,
        *,
        subject: UUID | str | None = None,
        by: str | None = None,
        verb: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Iterator[AuditEntry]:
        """Every entry that matches, newest first, read a page at a time. Entries that are written
        meanwhile are left out."""
        cursor: str | None = None
        while True:
            page = self.find(
                subject=subject,
                by=by,
                verb=verb,
                since=since,
                before=before,
                tenant=tenant,
                limit=MAX_PAGE_SIZE,
                cursor=cursor,
            )
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return


class SyncQueues:
    """`app.sync.queues`: what waits in the queues, and their pauses, without `await`."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> QueueVerbs:
        return self._setup.now.queues

    list = blocking_verb(QueueVerbs.list)
    pause = blocking_verb(QueueVerbs.pause)
    resume = blocking_verb(QueueVerbs.resume)


class SyncWorkers:
    """`app.sync.workers`: the workers that are alive, without `await`."""

    def __init__(self, setup: CurrentSetup) -> None:
        self._setup = setup

    @property
    def _verbs(self) -> WorkerVerbs:
        return self._setup.now.workers

    list = blocking_verb(WorkerVerbs.list)


class SyncTransitions:
    """`app.sync.transitions`: row transitions without `await`, for a blocking engine."""

    def __init__(self, transitions: Transitions) -> None:
        self._transitions = transitions

    def sweep(
        self, *, parked: bool = False, by: str | None = None, note: str | None = None
    ) -> Report:
        """Apply a batch of each transition. Call `check()` on the report to raise its errors,
        so that the run of a foreign queue fails."""
        self._transitions.refuse_async()
        return run_in_own_loop(self._transitions.sweep(parked=parked, by=by, note=note))

    def drain(
        self, *, parked: bool = False, by: str | None = None, note: str | None = None
    ) -> Report:
        """Sweep until no row is due any more: for each run of a foreign queue."""
        self._transitions.refuse_async()
        return run_in_own_loop(self._transitions.drain(parked=parked, by=by, note=note))

    def list(self) -> list_[TransitionView]:
        """Every registered transition."""
        return self._transitions.list()

    def pending(self) -> list_[Pending]:
        """How many rows wait, for each transition."""
        self._transitions.refuse_async()
        return run_in_own_loop(self._transitions.pending())

    def parked(
        self,
        model: type[Any] | str | None = None,
        column: str | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[ParkedRow]:
        """Rows that failed for good, and still have the time at which they did."""
        self._transitions.refuse_async()
        return run_in_own_loop(self._transitions.parked(model, column, limit=limit, cursor=cursor))

    def retry(
        self,
        model: type[Any] | str | None = None,
        column: str | None = None,
        *,
        ids: Iterable[Any] | None = None,
        by: str | None = None,
        note: str | None = None,
    ) -> int:
        """Let parked rows be tried again at once, as often as at first; returns how many."""
        self._transitions.refuse_async()
        return run_in_own_loop(self._transitions.retry(model, column, ids=ids, by=by, note=note))

    def last_report(self, app: str | None = None) -> KeptReport | None:
        """What an app last swept, by default this one, in whichever process."""
        return run_in_own_loop(self._transitions.last_report(app))


class SyncTesting:
    """`app.sync.testing`: drive the app in tests that are not async."""

    def __init__(self, testing: Testing) -> None:
        self._testing = testing

    def drain(self) -> int:
        """Run all actions that are due now, and those that become due thereby."""
        return run_in_own_loop(self._testing.drain())

    def advance(self, by: float | timedelta = 0, **units: float) -> int:
        """Move the FakeClock, running each action on the way at its due time."""
        return run_in_own_loop(self._testing.advance(by, **units))

    def reset(self, *, wipe: str | None = None) -> None:
        """Empty the store, and set the FakeClock back to its start."""
        run_in_own_loop(self._testing.reset(wipe=wipe))

    def scheduled(self, type_: type[Any] | None = None) -> list[Action]:
        """The unfinished actions of a payload type, or all, of every tenant, soonest first."""
        return run_in_own_loop(self._testing.scheduled(type_))

    def assert_scheduled(
        self, payload: object, *, at: datetime | None = None, count: int | None = None
    ) -> list[Action]:
        """Assert that actions of this payload, or of this payload type, are scheduled."""
        return run_in_own_loop(self._testing.assert_scheduled(payload, at=at, count=count))

    def assert_not_scheduled(self, payload: object) -> None:
        """Assert that no action of this payload, or of this payload type, is scheduled."""
        run_in_own_loop(self._testing.assert_not_scheduled(payload))


def run_in_own_loop(verb: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread with its own event loop, since the caller's thread may be
    running one already."""
    context = contextvars.copy_context()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(context.run, asyncio.run, verb).result()


class SyncDuetime:
    """`app.sync`: the verbs of the app without `await`."""

    def __init__(
        self,
        setup: CurrentSetup,
        transitions: Callable[[], Transitions],
        testing: Callable[[], Testing],
    ) -> None:
        self._setup = setup
        self.jobs = SyncJobs(setup)
        self.audit = SyncAudit(setup)
        self.grants = SyncGrants(setup)
        self.api_keys = SyncApiKeys(setup)
        self.queues = SyncQueues(setup)
        self.workers = SyncWorkers(setup)
        self.notifications = SyncNotifications(setup)
        self._transitions = transitions
        self._testing = testing

    @property
    def _verbs(self) -> ActionVerbs:
        return self._setup.now.actions

    @property
    def transitions(self) -> SyncTransitions:
        return SyncTransitions(self._transitions())

    @property
    def testing(self) -> SyncTesting:
        return SyncTesting(self._testing())

    schedule = blocking_verb(ActionVerbs.schedule)
    schedule_many = blocking_verb(ActionVerbs.schedule_many)
    cancel = blocking_verb(ActionVerbs.cancel)
    cancel_many = blocking_verb(ActionVerbs.cancel_many)
    reschedule = blocking_verb(ActionVerbs.reschedule)
    retry = blocking_verb(ActionVerbs.retry)
    retry_many = blocking_verb(ActionVerbs.retry_many)
    repeat = blocking_verb(ActionVerbs.repeat)
    bulk = blocking_verb(ActionVerbs.bulk)
    erase = blocking_verb(ActionVerbs.erase)
    get = blocking_verb(ActionVerbs.get)
    find = blocking_verb(ActionVerbs.find)
    groups = blocking_verb(ActionVerbs.groups)
    runs = blocking_verb(ActionVerbs.runs)
    why = blocking_verb(ActionVerbs.why)
    stats = blocking_verb(ActionVerbs.stats)
    series = blocking_verb(ActionVerbs.series)
    timeline = blocking_verb(ActionVerbs.timeline)
    _reason_not_run = blocking_verb(ActionVerbs.reason_not_run)

    @overload
    def wait(
        self,
        action: Action[PayloadT],
        *,
        timeout: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Action[PayloadT]: ...

    @overload
    def wait(
        self,
        action: UUID | str,
        *,
        timeout: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Action: ...

    def wait(
        self, action: Parent, *, timeout: Delay | None = None, tenant: TenantArgument = AMBIENT
    ) -> Action:
        """Return the action, given by itself or its id, once it has finished; WaitTimeout if it
        does not within `timeout`."""
        action_id = to_action_id(action)
        limit = math.inf if timeout is None else seconds("timeout", timeout)
        for pause in poll_intervals(limit):
            time.sleep(pause)
            found = self.get(action_id, tenant=tenant)
            if found.state.finished:
                return found
        raise WaitTimeout(action_id, limit, found.state, self._reason_not_run(found.kind))

    def close(self) -> None:
        """Close connections and threads; the next verb opens them again."""
        self._setup.now.runtime.store.close()
