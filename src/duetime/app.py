"""Duetime, the app: declares handlers, offers the verbs and creates workers."""

from __future__ import annotations

import asyncio
import importlib
import math
import os
import pkgutil
import random
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload
from uuid import UUID

from duetime.admin.mounting import Administered
from duetime.api.actions import ActionVerbs
from duetime.api.arguments import (
    AnyPayload,
    Delay,
    Parent,
    PayloadT,
    PriorityArgument,
    TenantArgument,
    to_act,
    to_action_id,
)
from duetime.api.async_api import (
    ApiKeys,
    AppNotifications,
    Audit,
    Grants,
    Jobs,
    Queues,
    Workers,
)
from duetime.api.fixed_attributes import HasFixedAttributes
from duetime.api.operation import async_verb
from duetime.api.registrar import Declare, Registrar, Site
from duetime.api.requests import Request, make_request
from duetime.api.router import IncludesRouters
from duetime.api.setup import CurrentSetup, make_setup
from duetime.api.sync_api import SyncDuetime
from duetime.api.transition_host import HostsTransitions
from duetime.api.wait import poll_intervals
from duetime.config import (
    NotificationSettings,
    Settings,
    TraceMode,
    load,
    refuse_unknown_arguments,
    whole,
)
from duetime.errors import WaitTimeout
from duetime.events.bus import Events
from duetime.events.types import Event, TransitionApplied
from duetime.logs import get_log
from duetime.model.actions.action import Action
from duetime.model.actions.chain import On
from duetime.model.clock import Clock, SystemClock
from duetime.model.lane import Priority
from duetime.model.notifications.subscription import ChannelRules
from duetime.model.payloads.registry import Payloads
from duetime.model.tenant import AMBIENT, Ambient, acting
from duetime.model.validation import seconds
from duetime.notifications.delivering import DeliversNotifications
from duetime.registry.handlers import Handlers
from duetime.registry.middleware import Middleware
from duetime.registry.runtime import AppRuntime, Companion
from duetime.store.base import Store
from duetime.store_factory import open_store
from duetime.telemetry.meters import Meters
from duetime.telemetry.tracing import Tracing
from duetime.worker.claiming.slots import QueuesArgument
from duetime.worker.gc_tuning import tune_gc
from duetime.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from duetime.notifications.config import Notifications
    from duetime.testing.driver import Testing
    from duetime.transitions.api import Transitions
    from duetime.worker.worker import Worker

log = get_log("duetime.worker")

Snapshot = Mapping[str, object]

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=Event)


class Duetime(
    IncludesRouters, Administered, HasFixedAttributes, HostsTransitions, DeliversNotifications
):
    """Everything that must happen later, for one application.

    The constructor opens no connection; the first verb does. Settings come from arguments, then
    `DUETIME_<NAME>`, then TOML, then defaults.
    """

    @refuse_unknown_arguments
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
        retention_figures: float | timedelta | None = None,
        misfire_after: float | timedelta | None = None,
        max_payload: int | None = None,
        listen: bool | None = None,
        timeout: float | timedelta | None = None,
        pool_size: int | None = None,
        keep_tracebacks: bool | None = None,
        retention_audit: float | timedelta | None = None,
        route_prefix: str | None = None,
        tag: str | None = None,
        required_role: str | None = None,
        base_url: str | None = None,
        trusted_proxies: str | Sequence[str] | None = None,
        cors_origins: str | Sequence[str] | None = None,
        environment: str | None = None,
        environment_color: str | None = None,
        telemetry_tenant: bool | None = None,
        trace: TraceMode | None = None,
        notifications: Notifications | None = None,
        **notification_settings: Unpack[NotificationSettings],
    ) -> None:
        settings = load(_only_settings(locals()) | notification_settings)
        channels = self._configure_delivery(settings, notifications)
        self._assemble(settings, clock or SystemClock(), store, sessions, channels)

    def _assemble(
        self,
        settings: Settings,
        clock: Clock,
        store: Store | None,
        sessions: Callable[[], Any] | None,
        channels: ChannelRules,
    ) -> None:
        runtime = _make_runtime(settings, clock, store, sessions, channels)
        store_url = None if store else settings.url
        self._setup = CurrentSetup(make_setup(runtime, settings, store_url))
        self._registrar = self._make_registrar(runtime, settings.max_payload)
        self._provide_itself()
        self.jobs = Jobs(self._setup)
        self.notifications = AppNotifications(self._setup)
        self.sync = SyncDuetime(self._setup, lambda: self.transitions, lambda: self.testing)

    @classmethod
    def connect(
        cls, url: str, *, token: str | Callable[[], str] | None = None, timeout: Delay = 30
    ) -> Duetime:
        """The verbs of an app whose HTTP API is mounted at `url`, for programs that do not reach
        its store. `token` is an API key or a provider's token, or returns one. A verb is given up
        after `timeout` seconds. It needs the extra `client`, and opens no connection by itself."""
        from duetime.remote.app import RemoteDuetime

        return RemoteDuetime(url, token, timeout)

    def _provide_itself(self) -> None:
        """Provide the app to handlers of routers, which have none at hand."""

        async def this_app() -> Duetime:
            return self

        self.provide(Duetime, this_app)

    @property
    def clock(self) -> Clock:
        """The clock of the app, its store, its workers and its handlers."""
        return self._setup.now.runtime.clock

    @property
    def store(self) -> Store:
        """The store of the app."""
        return self._setup.now.runtime.store

    @property
    def runtime(self) -> AppRuntime:
        """The services that the app uses now."""
        return self._setup.now.runtime

    @property
    def settings(self) -> Settings:
        """The app's settings."""
        return self._setup.now.settings

    @property
    def _verbs(self) -> ActionVerbs:
        return self._setup.now.actions

    # -- declaring -------------------------------------------------------------------

    def discover(self, package: str) -> None:
        """Import a package and its submodules, so that their declarations take effect. Routers in
        it must be included."""
        root = importlib.import_module(package)
        for found in pkgutil.walk_packages(getattr(root, "__path__", []), f"{package}."):
            # A __main__ module is a program: importing it would run it.
            if found.name.rpartition(".")[2] != "__main__":
                importlib.import_module(found.name)

    def _make_registrar(self, runtime: AppRuntime, max_payload: int) -> Registrar:
        return Registrar(
            payloads=runtime.payloads,
            handlers=runtime.handlers,
            jobs=runtime.jobs,
            events=runtime.events,
            # Of the app's own store, also while a test overrides it: declarations outlive the test.
            transaction_factory=runtime.transactions.find,
            max_payload=max_payload,
            check_durable=self._check_durable,
            keep_durable=runtime.outbox.add,
            durable=runtime.subscriber_kinds,
        )

    def _declare(self, site: Site, declare: Declare) -> None:
        declare(self._registrar)
        self.runtime.declarations.notify()

    def _add_middleware(self, site: Site, function: Middleware) -> None:
        self.runtime.handlers.add_middleware(function)

    # -- the verbs -------------------------------------------------------------------

    schedule = async_verb(ActionVerbs.schedule)
    schedule_many = async_verb(ActionVerbs.schedule_many)
    cancel = async_verb(ActionVerbs.cancel)
    cancel_many = async_verb(ActionVerbs.cancel_many)
    reschedule = async_verb(ActionVerbs.reschedule)
    retry = async_verb(ActionVerbs.retry)
    retry_many = async_verb(ActionVerbs.retry_many)
    repeat = async_verb(ActionVerbs.repeat)
    bulk = async_verb(ActionVerbs.bulk)
    erase = async_verb(ActionVerbs.erase)
    get = async_verb(ActionVerbs.get)
    find = async_verb(ActionVerbs.find)
    groups = async_verb(ActionVerbs.groups)
    runs = async_verb(ActionVerbs.runs)
    why = async_verb(ActionVerbs.why)
    stats = async_verb(ActionVerbs.stats)
    series = async_verb(ActionVerbs.series)
    timeline = async_verb(ActionVerbs.timeline)
    _reason_not_run = async_verb(ActionVerbs.reason_not_run)

    @overload
    async def wait(
        self,
        action: Action[PayloadT],
        *,
        timeout: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Action[PayloadT]: ...

    @overload
    async def wait(
        self,
        action: UUID | str,
        *,
        timeout: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Action: ...

    async def wait(
        self,
        action: Parent,
        *,
        timeout: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Action:
        """Return the action, given by itself or its id, once it has finished; WaitTimeout if it
        does not within `timeout`."""
        action_id = to_action_id(action)
        limit = math.inf if timeout is None else seconds("timeout", timeout)
        for pause in poll_intervals(limit):
            await asyncio.sleep(pause)
            found = await self.get(action_id, tenant=tenant)
            if found.state.finished:
                return found
        raise WaitTimeout(action_id, limit, found.state, await self._reason_not_run(found.kind))

    def request(
        self,
        payload: AnyPayload,
        *,
        at: datetime | None = None,
        delay: Delay | None = None,
        correlation_id: str | None = None,
        key: str | None = None,
        priority: PriorityArgument = Priority.normal,
        queue: str | None = None,
        tenant: str | Ambient | None = AMBIENT,
        by: str | None = None,
        after: Parent | None = None,
        on: On | None = None,
        expires: datetime | None = None,
    ) -> Request:
        """An item of `schedule_many`."""
        return make_request(
            (payload, at, delay, correlation_id, key, priority, queue, tenant, by, after, on,
             expires)
        )  # fmt: skip

    def acting(
        self, *, tenant: str | Ambient | None = AMBIENT, by: str | None = None
    ) -> AbstractContextManager[None]:
        """Default tenant and actor for every verb inside the `with`."""
        return acting(tenant=tenant, by=by)

    # -- running ---------------------------------------------------------------------

    def worker(self, *, concurrency: int | None = None, queues: QueuesArgument = None) -> Worker:
        """A worker that runs inside `async with`. It installs no signal handlers."""
        # Imported here: a process that only schedules does not need the worker's modules.
        from duetime.worker.worker import Worker

        settings = self.worker_settings(concurrency, queues)
        return Worker(self.runtime, self._with_delivery(settings), companions=self._companions())

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
            app=lambda: self.settings.name,
            clock=lambda: self.clock,
            store=lambda: self.store,
            to_act=to_act,
            audit=self._audit_transition,
            row_parked=self._row_parked,
            running=self.runtime.running,
            has_durable_subscribers=lambda: self.runtime.outbox.has_subscribers(TransitionApplied),
        )
        return Transitions(ports, self._setup.own.store_url, self.job)

    def worker_settings(
        self, concurrency: int | None = None, queues: QueuesArgument = None
    ) -> WorkerSettings:
        """The settings of a worker of this app."""
        settings = self.settings
        slots = settings.concurrency if concurrency is None else whole("concurrency", concurrency)
        return WorkerSettings(
            app=settings.name,
            concurrency=slots,
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
            retention_figures=settings.retention_figures,
            max_result=settings.max_payload,
            keep_tracebacks=settings.keep_tracebacks,
            retention_audit=settings.retention_audit,
            misfire_after=settings.misfire_after,
        )

    async def run(self, *, concurrency: int | None = None, queues: QueuesArgument = None) -> None:
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

    @property
    def audit(self) -> Audit:
        """The audit log: `find` shows who changed what."""
        return Audit(self._setup)

    @property
    def grants(self) -> Grants:
        """Grants: which role may do what over HTTP."""
        return Grants(self._setup)

    @property
    def api_keys(self) -> ApiKeys:
        """API keys: credentials for requests over HTTP."""
        return ApiKeys(self._setup)

    @property
    def queues(self) -> Queues:
        """The queues: `list`, `pause`, `resume`."""
        return Queues(self._setup)

    @property
    def workers(self) -> Workers:
        """The workers that are alive: `list`."""
        return Workers(self._setup)

    @cached_property
    def testing(self) -> Testing:
        """Drive this app in tests: `advance`, `drain` and assertions."""
        from duetime.testing.driver import Testing

        return Testing(self)

    async def __aenter__(self) -> Duetime:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close connections and threads; the next verb opens them again."""
        await self.runtime.store.aclose()


def _only_settings(parameters: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name not in _NOT_SETTINGS}


def _make_runtime(
    settings: Settings,
    clock: Clock,
    store: Store | None,
    sessions: Callable[[], Any] | None,
    channels: ChannelRules,
) -> AppRuntime:
    payloads = Payloads()
    return AppRuntime(
        open_store(settings, clock) if store is None else store,
        payloads,
        Handlers(payloads),
        Events(),
        Meters(tenants=settings.telemetry_tenant),
        clock,
        sessions=sessions,
        channels=channels,
        tracing=Tracing(settings.telemetry_tenant, settings.trace == "continue"),
    )


_NOT_SETTINGS = frozenset(
    {"self", "clock", "store", "sessions", "notifications", "notification_settings", "__class__"}
)
