"""The declaring methods that apps and routers share: handlers, payloads, jobs, subscribers,
injected types and middleware."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar, overload

from duetime.api.arguments import (
    AnyPayload,
    Delay,
    MisfireArgument,
    OverlapArgument,
    PriorityArgument,
)
from duetime.api.event_arguments import Names, Tenants, check_event, check_subscriber
from duetime.api.job_arguments import DEFAULT_ALERT_AFTER, JobArguments, RecurrenceArgument
from duetime.api.registrar import (
    Declare,
    FilterArguments,
    HandlerArguments,
    KindArguments,
    Registrar,
    Site,
)
from duetime.errors import ConfigError, shown
from duetime.events.bus import Subscriber
from duetime.events.types import Event
from duetime.model.actions.retry import Retry
from duetime.model.jobs.job import Overlap
from duetime.model.jobs.name import check_job_name
from duetime.model.lane import Priority
from duetime.model.payloads.registry import Upgrade
from duetime.model.tenant import ANY
from duetime.registry.middleware import Middleware, check_middleware

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=Event)
M = TypeVar("M", bound=Middleware)


class Declarations(ABC):
    """The declaring methods of apps and routers; each checks its arguments where it is called."""

    _registrar: Registrar

    @abstractmethod
    def _declare(self, site: Site, declare: Declare) -> None:
        """Add a declaration, which was made at `site`."""

    @abstractmethod
    def _add_middleware(self, site: Site, function: Middleware) -> None: ...

    def handler(
        self,
        misplaced: None = None,
        /,
        *,
        kind: str | None = None,
        aliases: Iterable[str] = (),
        version: int | None = None,
        upgrades: Mapping[int, Upgrade] | None = None,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: Delay | None = None,
        transactional: bool = False,
    ) -> Callable[[F], F]:
        """Declare the function that runs a kind of payload; returns it unchanged.

        Its first parameter is the payload, annotated with a dataclass or pydantic model. The
        others are injected: Context, Clock, Annotated[Type, Depends(make_it)], or a type
        registered with `provide`. `aliases` are older names of the kind, `upgrades` convert
        older versions of its data into the current one.

        `transactional=True`: a parameter annotated Session, AsyncSession, psycopg's Connection
        or AsyncConnection, or sqlite3.Connection arrives inside an open transaction whose
        commit is also the completion. Verbs called inside are part of it.
        """
        _refuse_misplaced(misplaced)
        site = Site.of_caller()
        named = _kind_arguments(kind, aliases, version, upgrades, queue)
        arguments = HandlerArguments(site.scope, queue, retry, timeout, transactional)
        return self._declaring(
            site, lambda to, function: to.add_handler(function, named, arguments)
        )

    def job(
        self,
        recurrence: RecurrenceArgument,
        *,
        name: str,
        tz: str | None = None,
        starts_at: datetime | None = None,
        ends_at: datetime | None = None,
        misfire: MisfireArgument = "once",
        misfire_after: Delay | None = None,
        overlap: OverlapArgument = Overlap.skip,
        jitter: Delay = 0,
        alert_after: int = DEFAULT_ALERT_AFTER,
        payload: AnyPayload | None = None,
        priority: PriorityArgument = Priority.normal,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: Delay | None = None,
        tenant: str | None = None,
        transactional: bool = False,
    ) -> Callable[[F], F]:
        """Declare a job: the function, returned unchanged, runs at every tick of a cron string, a
        rule such as Every(minutes=5), or a list. `name` is `{module}-{action}` in kebab-case. A
        first parameter that is data receives `payload`. Workers, even running ones, seed it."""
        job = JobArguments(
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
            retry=retry or Retry(),
            timeout=timeout,
            tenant=tenant,
        )
        self._registrar.jobs.refuse_taken(check_job_name(name))
        site = Site.of_caller()
        own = HandlerArguments(site.scope, queue, retry, timeout, transactional)
        return self._declaring(site, lambda to, function: to.add_job(function, job, payload, own))

    def _declaring(
        self, site: Site, add: Callable[[Registrar, Callable[..., Any]], None]
    ) -> Callable[[F], F]:
        """Return a decorator that adds its function, and returns it unchanged."""

        def declare(function: F) -> F:
            self._declare(site, lambda to: add(to, function))
            return function

        return declare

    @overload
    def on(
        self,
        event: type[E],
        subscriber: Subscriber[E],
        *,
        kind: Names | None = None,
        job: Names | None = None,
        tenant: Tenants = ANY,
    ) -> None: ...

    @overload
    def on(
        self,
        event: type[E],
        subscriber: Callable[..., Any],
        *,
        kind: Names | None = None,
        job: Names | None = None,
        tenant: Tenants = ANY,
        durable: Literal[True],
        name: str | None = None,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: Delay | None = None,
        transactional: bool = False,
    ) -> None: ...

    def on(
        self,
        event: type[E],
        subscriber: Callable[..., Any],
        *,
        kind: Names | None = None,
        job: Names | None = None,
        tenant: Tenants = ANY,
        durable: bool = False,
        name: str | None = None,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: Delay | None = None,
        transactional: bool = False,
    ) -> None:
        """Call `subscriber` in this process after the commit of each such event; only of those
        about the given `kind`, `job` and `tenant`, each one value or several.

        `durable=True` makes it a handler: each event becomes an action, inserted in the
        transaction that the event reports. Any worker that declares the same subscriber runs the
        action, with retries and history, at least once. The first parameter is the event, the
        others are injected. `name`, by default the function's, is part of the actions' kind.
        `transactional=True` is as for handlers.
        """
        check_event(event)
        check_subscriber(event, subscriber)
        wanted = FilterArguments(kind=kind, job=job, tenant=tenant)
        site = Site.of_caller()
        if not durable:
            _refuse_durable_only(event, name, queue, retry, timeout, transactional)
            self._declare(site, lambda to: to.add_subscriber(event, subscriber, wanted))
            return
        arguments = HandlerArguments(site.scope, queue, retry, timeout, transactional)
        self._declare(
            site, lambda to: to.add_durable_subscriber(event, subscriber, wanted, name, arguments)
        )

    def payload(
        self,
        type_: type[Any],
        *,
        kind: str,
        aliases: Iterable[str] = (),
        version: int | None = None,
        upgrades: Mapping[int, Upgrade] | None = None,
        queue: str | None = None,
    ) -> None:
        """Register a payload type for scheduling; its handler is declared in another process."""
        named = _kind_arguments(kind, aliases, version, upgrades, queue)
        self._declare(Site.of_caller(), lambda to: to.add_payload(type_, named))

    def provide(self, type_: type[Any], make: Callable[..., Any]) -> None:
        """Inject `make()` for this type into handlers that are declared later."""
        self._declare(Site.of_caller(), lambda to: to.add_provider(type_, make))

    def middleware(self, function: M) -> M:
        """Run a coroutine function around every handler: `async def m(ctx, call_next)` awaits
        `call_next()`, which runs the handler. The first declared is the outermost. A router's
        middleware runs around the handlers of that router, inside of the app's."""
        check_middleware(function)
        self._add_middleware(Site.of_caller(), function)
        return function


def _kind_arguments(
    kind: str | None,
    aliases: Iterable[str],
    version: int | None,
    upgrades: Mapping[int, Upgrade] | None,
    queue: str | None,
) -> KindArguments:
    return KindArguments(
        kind=kind,
        # Read more than once if a router is included; a string is refused by name.
        aliases=aliases if isinstance(aliases, str) else tuple(aliases),
        version=version,
        upgrades=upgrades,
        queue=queue,
    )


def _refuse_misplaced(misplaced: object) -> None:
    if misplaced is not None:
        raise ConfigError(
            f"@app.handler got {shown(misplaced)}: write @app.handler(kind='...') with "
            "parentheses and names"
        )


def _refuse_durable_only(
    event: type[Event],
    name: str | None,
    queue: str | None,
    retry: Retry | None,
    timeout: Delay | None,
    transactional: bool,
) -> None:
    durable_only = {"name": name, "queue": queue, "retry": retry, "timeout": timeout}
    for option, value in {**durable_only, "transactional": transactional or None}.items():
        if value is not None:
            raise ConfigError(
                f"{option}={shown(value)} is for durable subscribers only: "
                f"app.on({event.__name__}, ..., durable=True)"
            )
