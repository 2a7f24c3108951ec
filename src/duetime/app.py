"""Duetime: the app that users hold. Declares handlers, offers the verbs, makes workers."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import random
import signal
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from duetime.api.actions import Client
from duetime.api.arguments import Delay, Parent, Request, TenantArgument, make_request
from duetime.api.async_api import Jobs, awaited
from duetime.api.declarations import Declaring
from duetime.api.jobs import JobClient
from duetime.api.sync_api import SyncDuetime, pauses
from duetime.config import Settings, load, whole
from duetime.errors import WaitTimeout
from duetime.events.bus import (
    Events,
)
from duetime.events.types import (
    Event,
    TransitionApplied,
)
from duetime.model.actions.action import Action
from duetime.model.actions.chain import On
from duetime.model.clock import Clock, SystemClock
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import Priority
from duetime.model.payloads.registry import Payloads
from duetime.model.tenant import AMBIENT, Ambient, acting
from duetime.model.validation import seconds
from duetime.registry.handlers import Handlers
from duetime.registry.runtime import (
    Companion,
    Parts,
)
from duetime.store.base import Store
from duetime.store.flow import Flow
from duetime.store_factory import open_store
from duetime.telemetry.meters import Meters
from duetime.worker.claiming.slots import Queues
from duetime.worker.gc_tuning import quieten
from duetime.worker.settings import (
    WorkerSettings,
)

if TYPE_CHECKING:
    from duetime.testing.driver import Testing
    from duetime.transitions.api import Transitions
    from duetime.worker.worker import Worker

log = logging.getLogger("duetime.worker")

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=Event)


class Duetime(Declaring):
    """Everything that must happen later, for one application.

    Constructing it opens nothing; the first verb does. Settings come from arguments, then
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
        given = {**locals(), **unknown}
        arguments = {k: v for k, v in given.items() if k not in _NOT_SETTINGS}
        self.settings: Settings = load(arguments)
        self.clock: Clock = clock or SystemClock()
        self.store: Store = store or open_store(self.settings, self.clock)
        self._store_url = None if store is not None else self.settings.url
        payloads = Payloads()
        self.parts = Parts(self.store, payloads, Handlers(payloads), Events(), Meters(), self.clock)
        self._providers: dict[type[Any], Callable[..., Any]] = {}
        self._sessions = sessions
        new_id = TimeOrderedIds()
        self._client = Client(
            self.parts, new_id, self.settings.max_payload, sweep=self.settings.sweep
        )
        jobs = JobClient(self.parts, new_id, self.settings)
        self.jobs = Jobs(jobs, self.parts)
        self.sync = SyncDuetime(self._client, jobs, self.parts, lambda: self.transitions)

    # -- the verbs -------------------------------------------------------------------

    schedule = awaited(Client.schedule)
    schedule_many = awaited(Client.schedule_many)
    cancel = awaited(Client.cancel)
    cancel_many = awaited(Client.cancel_many)
    reschedule = awaited(Client.reschedule)
    retry = awaited(Client.retry)
    retry_many = awaited(Client.retry_many)
    get = awaited(Client.get)
    find = awaited(Client.find)
    runs = awaited(Client.runs)
    stats = awaited(Client.stats)
    _lacking = awaited(Client.lacking)

    async def wait(
        self,
        action_id: UUID,
        *,
        timeout: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Action:
        """The finished action; WaitTimeout if it is not finished in time."""
        limit = math.inf if timeout is None else seconds("timeout", timeout)
        for pause in pauses(limit):
            await asyncio.sleep(pause)
            action = await self.get(action_id, tenant=tenant)
            if action.state.finished:
                return action
        raise WaitTimeout(action_id, limit, action.state, await self._lacking(action.kind))

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
        """One item of `schedule_many`."""
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
        """A worker, running inside `async with`. It installs no signal handlers."""
        # Not above: who only schedules needs none of it.
        from duetime.worker.worker import Worker

        settings = self.worker_settings(concurrency, queues)
        return Worker(self.parts, settings, companions=self._companions())

    def _companions(self) -> Sequence[Companion]:
        # Not asked for, so that an app without transitions does not import SQLAlchemy.
        return self.transitions.companions if "transitions" in vars(self) else ()

    @cached_property
    def transitions(self) -> Transitions:
        """Row transitions of SQLAlchemy models: `register`, `sweep`, `runner`, `as_job`."""
        from duetime.transitions.api import Transitions
        from duetime.transitions.sweeper import Ports

        ports = Ports(
            events=self.parts.events,
            meters=self.parts.meters,
            write_along=self._write_along,
            admit=self._admit,
            chance=random.random,
            durable=lambda: self.parts.outbox.wants(TransitionApplied),
        )
        return Transitions(ports, self.clock, self._store_url, self.job)

    def _admit_subscriber(self, event: type[Event]) -> None:
        if event is TransitionApplied and "transitions" in vars(self):
            self.transitions.refuse_durable()

    def _write_along(
        self, session: object, payloads: Sequence[object], events: Sequence[Event]
    ) -> None:
        """Part of the transaction that applies transitions: their actions, and those of durable
        subscribers."""
        asked = [one if isinstance(one, Request | tuple) else self.request(one) for one in payloads]
        if asked:
            self.sync.schedule_many(asked, connection=session)
        if self.parts.outbox.wants(TransitionApplied):
            kept = Flow(lambda: self.parts.outbox.keep(events))
            self.store.join(session).perform_blocking(kept)

    def _admit(self, session: object) -> None:
        """ConfigError unless the session leads to the store's database; its tables are made
        before anybody holds a lock that would keep them from being made."""
        self.sync.find(limit=1)
        self.sync.find(limit=1, connection=session)

    def worker_settings(
        self, concurrency: int | None = None, queues: Queues = None
    ) -> WorkerSettings:
        """What a worker of this app lives by."""
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
        """Run a worker until SIGTERM or SIGINT, then stop in order; a second signal exits."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def asked() -> None:
            if stop.is_set():
                log.warning("a second signal: what still runs is left to other workers")
                os._exit(1)
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, asked)
        try:
            async with self:
                worker = self.worker(concurrency=concurrency, queues=queues)
                # Not sooner: the first worker brings modules, which are to be set aside, too.
                quieten()
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
        """Let go of connections and threads; the app may be used again."""
        await self.store.aclose()


_NOT_SETTINGS = frozenset({"self", "clock", "store", "sessions", "unknown", "__class__"})
