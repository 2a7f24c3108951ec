"""Adds declarations to the registries of an app, or of a router that checks them first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any

from duetime.api.arguments import Delay
from duetime.api.event_arguments import Names, Tenants, to_event_filter
from duetime.api.job_arguments import JobArguments, to_definition
from duetime.errors import ConfigError, DuetimeError, shown
from duetime.events.bus import Events
from duetime.events.filter import EventFilter
from duetime.events.outbox import subscriber_kind
from duetime.events.types import Event
from duetime.model.actions.retry import Retry
from duetime.model.payloads.codec import written_alone
from duetime.model.payloads.registry import Payloads, PayloadType, Upgrade
from duetime.model.validation import positive_seconds
from duetime.registry.handlers import FactoryLookup, Handlers, job_payload_type, payload_type
from duetime.registry.jobs import DeclaredJobs
from duetime.registry.middleware import Middleware

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Site:
    """Where a declaration is: its line, and the local variables that annotations may name."""

    file: str
    line: int
    scope: Mapping[str, Any]

    @classmethod
    def of_caller(cls) -> Site:
        """Return the site from which the method that calls this was called."""
        frame = sys._getframe(2)
        return cls(frame.f_code.co_filename, frame.f_lineno, dict(frame.f_locals))

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class KindArguments:
    """The arguments of `Payloads.check`, by name."""

    kind: str | None
    aliases: Iterable[str]
    version: int | None
    upgrades: Mapping[int, Upgrade] | None
    queue: str | None


@dataclass(frozen=True, slots=True)
class HandlerArguments:
    """The arguments that handlers, jobs and durable subscribers share."""

    scope: Mapping[str, Any]
    queue: str | None
    retry: Retry | None
    timeout: Delay | None
    transactional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterArguments:
    """Which events a subscriber wants."""

    kind: Names | None
    job: Names | None
    tenant: Tenants


@dataclass(eq=False, slots=True)
class RouterDeclarations:
    """What a router declares, for the apps that include it. `middleware` is for its handlers."""

    declarations: list[tuple[Site, Declare]] = field(default_factory=list)
    middleware: list[Middleware] = field(default_factory=list)


def _accept_event(event: type[Event]) -> None:
    """Accept any event for durable subscribers."""


def _not_stored(event: type[Event], kind: PayloadType, wanted: EventFilter) -> None:
    """Forget a durable subscriber: a router has no store."""


@dataclass(slots=True, kw_only=True)
class Registrar:
    """The registries of an app or a router, and what applies to the handlers added to them.

    Without a `transaction_factory` these are a router's: what depends on the app is accepted, and
    checked when an app includes the router. A method that raises has added nothing.
    """

    payloads: Payloads
    handlers: Handlers
    jobs: DeclaredJobs
    events: Events
    transaction_factory: FactoryLookup | None = None
    max_payload: int = sys.maxsize
    check_durable: Callable[[type[Event]], None] = _accept_event
    keep_durable: Callable[[type[Event], PayloadType, EventFilter], None] = _not_stored
    durable: dict[Any, Any] = field(default_factory=dict)
    providers: dict[type[Any], Function] = field(default_factory=dict)
    middleware: tuple[Middleware, ...] = ()
    included: dict[RouterDeclarations, Site] = field(default_factory=dict)

    def add_payload(self, type_: type[Any], kind: KindArguments) -> None:
        self.payloads.add(type_, **vars(kind))

    def add_provider(self, type_: type[Any], make: Function) -> None:
        if not callable(type_):
            raise ConfigError(
                f"provide({shown(type_)}, ...) is not a type: handlers ask for it by annotation"
            )
        if not callable(make):
            name = getattr(type_, "__name__", type_)
            raise ConfigError(
                f"provide({name}, {shown(make)}): give a function that makes it, such as "
                "`lambda: value`"
            )
        self.providers[type_] = make

    def add_handler(
        self, function: Function, kind: KindArguments, arguments: HandlerArguments
    ) -> None:
        type_ = payload_type(function, arguments.scope)
        entry = self.payloads.check(type_, **vars(kind))
        self._add_handler(entry, function, arguments)
        self.payloads.keep(entry)

    def add_job(
        self, function: Function, job: JobArguments, payload: object, arguments: HandlerArguments
    ) -> None:
        self.jobs.refuse_taken(job.name)
        type_ = self._job_payload_type(function, payload, arguments.scope)
        entry = self.payloads.check_job(job.name, type_, arguments.queue)
        text = written_alone(entry, payload, self.max_payload)
        definition = to_definition(job, entry, text, entry.queue)
        self._add_handler(entry, function, arguments)
        self.payloads.keep_job(entry)
        self.jobs.add(definition)

    def add_subscriber(
        self, event: type[Event], function: Function, wanted: FilterArguments
    ) -> None:
        self.events.on(event, function, self._event_filter(event, wanted))

    def add_durable_subscriber(
        self,
        event: type[Event],
        function: Function,
        wanted: FilterArguments,
        name: str | None,
        arguments: HandlerArguments,
    ) -> None:
        accepted = self._event_filter(event, wanted)
        self.check_durable(event)
        kind = subscriber_kind(event, function, name)
        entry = self.payloads.check_job(kind, event, arguments.queue)
        self._add_handler(entry, function, arguments)
        self.payloads.keep_job(entry)
        self.keep_durable(event, entry, accepted)

    def include(self, declared: RouterDeclarations, at: Site) -> None:
        """Add all declarations of a router, or none of them. What it provides and its middleware
        are for its own handlers."""
        if declared in self.included:
            raise ConfigError(f"this router was included before, at {self.included[declared]}")
        inner = replace(
            self,
            providers=dict(self.providers),
            middleware=(*self.middleware, *declared.middleware),
        )
        with self._all_or_none():
            self.included[declared] = at
            for site, declare in declared.declarations:
                try:
                    declare(inner)
                except DuetimeError as error:
                    raise ConfigError(f"cannot include what {site} declares: {error}") from error

    @contextmanager
    def _all_or_none(self) -> Iterator[None]:
        """Restore what was declared before if the block raises."""
        registries = (self.payloads, self.handlers, self.jobs, self.events)
        tables: list[dict[Any, Any]] = [self.durable, self.included]
        tables += [table for registry in registries for table in registry.tables()]
        saved = [
            {key: [*value] if isinstance(value, list) else value for key, value in table.items()}
            for table in tables
        ]
        try:
            yield
        except BaseException:
            for table, before in zip(tables, saved, strict=True):
                table.clear()
                table.update(before)
            raise

    def _add_handler(
        self, entry: PayloadType, function: Function, arguments: HandlerArguments
    ) -> None:
        timeout, retry = arguments.timeout, arguments.retry
        self.handlers.add(
            entry,
            function,
            retry=Retry() if retry is None else retry,
            timeout=None if timeout is None else positive_seconds("timeout", timeout),
            providers=self.providers,
            scope=arguments.scope,
            factory_for=self.transaction_factory if arguments.transactional else None,
            takes_payload=entry.type is not NoneType,
            middleware=self.middleware,
        )

    def _job_payload_type(
        self, function: Function, payload: object, scope: Mapping[str, Any]
    ) -> type[Any]:
        if payload is None and self.transaction_factory is None:
            # Whether the first parameter is a payload depends on what the app provides.
            return NoneType
        return job_payload_type(function, scope, self.providers, payload)

    def _event_filter(self, event: type[Event], wanted: FilterArguments) -> EventFilter:
        return to_event_filter(
            event, wanted.kind, wanted.job, wanted.tenant, self.payloads.wire_name
        )


# Adds one declaration.
Declare = Callable[[Registrar], None]
