"""Duetime, the app: declares handlers, offers the verbs and creates workers."""

from __future__ import annotations

import asyncio
import math
import os
import random
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from duetime.api.actions import ActionVerbs
from duetime.api.arguments import Delay, Parent, TenantArgument
from duetime.api.async_api import Jobs
from duetime.api.declarations import Declarations
from duetime.api.jobs import JobVerbs
from duetime.api.operation import async_verb
from duetime.api.requests import Request, make_request
from duetime.api.sync_api import SyncDuetime
from duetime.api.wait import poll_intervals
from duetime.config import Settings, load, whole
from duetime.errors import WaitTimeout
from duetime.events.bus import Events
from duetime.events.types import Event, TransitionApplied
from duetime.logs import get_log
from duetime.model.actions.action import Action
from duetime.model.actions.chain import On
from duetime.model.clock import Clock, SystemClock
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import Priority
from duetime.model.payloads.registry import Payloads
from duetime.model.tenant import AMBIENT, Ambient, acting
from duetime.model.validation import seconds
from duetime.registry.handlers import Handlers
from duetime.registry.runtime import AppRuntime, Companion
from duetime.store.base import Store
from duetime.store.flow import Flow
from duetime.store_factory import open_store
from duetime.telemetry.meters import Meters
from duetime.worker.claiming.slots import Queues
from duetime.worker.gc_tuning import tune_gc
from duetime.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from duetime.testing.driver import Testing
    from duetime.transitions.api import Transitions
    from duetime.worker.worker import Worker

log = get_log("duetime.worker")

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=Event)


class Duetime(Declarations):
    """Everything that must happen later, for one application.

    The constructor opens no connection; the first verb does. Settings come from arguments, then
    `DUETIME_<NAME>`, then TOML, then defaults.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        name: str | None = None,
        clock: Clock | None = None,
        store: Store | None = None,
        sessions: Callable[[], Any] | None = None,
        migrate: bool | None = None,
        prefix: str | None = None,
        schema: str | None = None,
        lease: float | timedelta | None = None,
        sweep: float | timedelta | None = None,
        poll: float | timedelta | None = None,
        poll_unheard: float | timedelta | None = None,
        grace: float | timedelta | None = None,
        preclaim: float | timedelta | None = None,
        concurrency: int | None = None,
        batch: int | None = None,
        retention: float | timedelta | None = None,
        retention_failed: float | timedelta | None = None,
        misfire_after: float | timedelta | None = None,
        max_payload: int | None = None,
        listen: bool | None = None,
        timeout: float | timedelta | None = None,
        pool_size: int | None = None,
        **unknown: object,
    ) -> None:
        self.settings: Settings = load(_only_settings({**locals(), **unknown}))
        self.clock: Clock = clock or SystemClock()
        self.store: Store = store or open_store(self.settings, self.clock)
        self._store_url = None if store is not None else self.settings.url
        payloads = Payloads()
        self.runtime = AppRuntime(
            self.store, payloads, Handlers(payloads), Events(), Meters(), self.clock
        )
        self._providers: dict[type[Any], Callable[..., Any]] = {}
        self._sessions = sessions
        new_id = TimeOrderedIds()
        self._verbs = ActionVerbs(
            self.runtime, new_id, self.settings.max_payload, sweep=self.settings.sweep
        )
        jobs = JobVerbs(self.runtime, new_id, self.settings)
        self.jobs = Jobs(jobs, self.runtime)
        self.sync = SyncDuetime(self._verbs, jobs, self.runtime, lambda: self.transitions)

    # -- the verbs -------------------------------------------------------------------

    schedule = async_verb(ActionVerbs.schedule)
    schedule_many = async_verb(ActionVerbs.schedule_many)
    cancel = async_verb(ActionVerbs.cancel)
    cancel_many = async_verb(ActionVerbs.cancel_many)
    reschedule = async_verb(ActionVerbs.reschedule)
    retry = async_verb(ActionVerbs.retry)
    retry_many = async_verb(ActionVerbs.retry_many)
    get = async_verb(ActionVerbs.get)
    find = async_verb(ActionVerbs.find)
    runs = async_verb(ActionVerbs.runs)
    stats = async_verb(ActionVerbs.stats)
    _reason_not_run = async_verb(ActionVerbs.reason_not_run)

    async def wait(
        self,
        action_id: UUID,
        *,
        timeout: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Action:
        """Return the action once it has finished; WaitTimeout if it does not within `timeout`."""
        limit = math.inf if timeout is None else seconds("timeout", timeout)
        for pause in poll_intervals(limit):
            await asyncio.sleep(pause)
            action = await self.get(action_id, tenant=tenant)
            if action.state.finished:
                return action
        raise WaitTimeout(action_id, limit, action.state, await self._reason_not_run(action.kind))

    def request(
        self,
        payload: object,
        *,
        at: datetime | None = None,
        delay: Delay | None = None,
        correlation_id: str | None = None,
        key: str | None = None,
        priority: Priority | str = Priority.normal,
        queue: str | None = None,
        tenant: str | Ambient | None = AMBIENT,
        by: str | None = None,
        after: Parent | None = None,
        on: On | None = None,
    ) -> Request:
        """An item of `schedule_many`."""
        return make_request(
            (payload, at, delay, correlation_id, key, priority, queue, tenant, by, after, on)
        )

    def acting(
        self, *, tenant: str | Ambient | None = AMBIENT, by: str | None = None
    ) -> AbstractContextManager[None]:
        """Default tenant and actor for every verb inside the `with`."""
        return acting(tenant=tenant, by=by)

    # -- running ---------------------------------------------------------------------

    def worker(self, *, concurrency: int | None = None, queues: Queues = None) -> Worker:
        """A worker that runs inside `async with`. It installs no signal handlers."""
        # Imported here: a process that only schedules does not need the worker's modules.
        from duetime.worker.worker import Worker

        settings = self.worker_settings(concurrency, queues)
        return Worker(self.runtime, settings, companions=self._companions())

    def _companions(self) -> Sequence[Companion]:
        # The property is not evaluated here: an app without transitions need not import SQLAlchemy.
        return self.transitions.companions if "transitions" in vars(self) else ()

    @cached_property
    def transitions(self) -> Transitions:
        """Row transitions of SQLAlchemy models: `register`, `sweep`, `runner`, `as_job`."""
        from duetime.transitions.api import Transitions
        from duetime.transitions.sweeper import TransitionPorts

        ports = TransitionPorts(
            events=self.runtime.events,
            meters=self.runtime.meters,
            insert_actions=self._insert_actions,
            check_store=self._check_store,
            chance=random.random,
            has_durable_subscribers=lambda: self.runtime.outbox.has_subscribers(TransitionApplied),
        )
        return Transitions(ports, self.clock, self._store_url, self.job)

    def _check_subscriber(self, event: type[Event]) -> None:
        if event is TransitionApplied and "transitions" in vars(self):
            self.transitions.check_durable_subscriber()

    def _insert_actions(
        self, session: object, payloads: Sequence[object], events: Sequence[Event]
    ) -> None:
        """Insert the actions of transitions, and those of durable subscribers, in the transaction
        that applies the transitions."""
        requests = [
            item if isinstance(item, Request | tuple) else self.request(item) for item in payloads
        ]
        if requests:
            self.sync.schedule_many(requests, connection=session)
        if self.runtime.outbox.has_subscribers(TransitionApplied):
            flow = Flow(lambda: self.runtime.outbox.insert(events))
            self.store.join(session).perform_blocking(flow)

    def _check_store(self, session: object) -> None:
        """Raise ConfigError unless the session leads to the store's database. Creates the store's
        tables first, before the session takes locks that would block their creation."""
        self.sync.find(limit=1)
        self.sync.find(limit=1, connection=session)

    def worker_settings(
        self, concurrency: int | None = None, queues: Queues = None
    ) -> WorkerSettings:
        """The settings of a worker of this app."""
        settings = self.settings
        return WorkerSettings(
            app=settings.name,
            concurrency=settings.concurrency
            if concurrency is None
            else whole("concurrency", concurrency),
            queues=queues,
            lease=settings.lease,
            sweep=settings.sweep,
            poll=settings.poll,
            poll_unheard=settings.poll_unheard,
            grace=settings.grace,
            preclaim=settings.preclaim,
            batch=settings.batch,
            retention=settings.retention,
            retention_failed=settings.retention_failed,
            max_result=settings.max_payload,
            misfire_after=settings.misfire_after,
        )

    async def run(self, *, concurrency: int | None = None, queues: Queues = None) -> None:
        """Run a worker until SIGTERM or SIGINT, then drain it; a second signal exits at once."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def on_signal() -> None:
            if stop.is_set():
                log.warning("second signal: exiting now; other workers take over unfinished runs")
                os._exit(1)
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, on_signal)
        try:
            async with self:
                worker = self.worker(concurrency=concurrency, queues=queues)
                # After the first worker has imported its modules, so that they are frozen too.
                tune_gc()
                async with worker:
                    await stop.wait()
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    @cached_property
    def testing(self) -> Testing:
        """Drive this app in tests: `advance`, `drain` and assertions."""
        from duetime.testing.driver import Testing

        return Testing(self)

    async def __aenter__(self) -> Duetime:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close connections and threads; the next verb opens them again."""
        await self.store.aclose()


def _only_settings(parameters: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name not in _NOT_SETTINGS}


_NOT_SETTINGS = frozenset({"self", "clock", "store", "sessions", "unknown", "__class__"})
