"""Declarations of an app: handlers, payloads, jobs, subscribers and injected types."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any, Literal, TypeVar, overload

from duetime.api.arguments import Delay
from duetime.api.job_arguments import (
    DEFAULT_ALERT_AFTER,
    JobArguments,
    RecurrenceArgument,
    to_definition,
)
from duetime.config import Settings
from duetime.errors import ConfigError, shown
from duetime.events.bus import Subscriber
from duetime.events.outbox import subscriber_kind
from duetime.events.types import Event
from duetime.model.actions.retry import Retry
from duetime.model.jobs.job import Overlap
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.name import check_job_name
from duetime.model.lane import Priority
from duetime.model.payloads.codec import written_alone
from duetime.model.payloads.registry import PayloadType, Upgrade
from duetime.model.validation import positive_seconds
from duetime.registry.handlers import job_payload_type, payload_type
from duetime.registry.runtime import AppRuntime
from duetime.store.base import Store
from duetime.store.transaction import TransactionFactory

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=Event)


class Declarations:
    """The declaring methods of an app; each checks its arguments where it is called."""

    runtime: AppRuntime
    settings: Settings
    store: Store
    _sessions: Callable[[], Any] | None
    _providers: dict[type[Any], Callable[..., Any]]

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
        # Annotations may name local variables of the function that declares the handler.
        scope = sys._getframe(1).f_locals

        def declare(function: F) -> F:
            entry = self.runtime.payloads.check(
                payload_type(function, scope),
                kind=kind,
                aliases=aliases,
                version=version,
                upgrades=upgrades,
                queue=queue,
            )
            self._add_handler(entry, function, retry, timeout, scope, transactional)
            self.runtime.payloads.keep(entry)
            self.runtime.declarations.notify()
            return function

        return declare

    def _add_handler(
        self,
        entry: PayloadType,
        function: Callable[..., Any],
        retry: Retry | None,
        timeout: Delay | None,
        scope: Mapping[str, Any],
        transactional: bool,
    ) -> None:
        self.runtime.handlers.add(
            entry,
            function,
            retry=Retry() if retry is None else retry,
            timeout=None if timeout is None else positive_seconds("timeout", timeout),
            providers=self._providers,
            scope=scope,
            factory_for=self._transaction_factory if transactional else None,
            takes_payload=entry.type is not NoneType,
        )

    def job(
        self,
        recurrence: RecurrenceArgument,
        *,
        name: str,
        tz: str | None = None,
        misfire: str | Misfire = "once",
        overlap: Overlap | str = Overlap.skip,
        jitter: Delay = 0,
        alert_after: int = DEFAULT_ALERT_AFTER,
        payload: object = None,
        priority: Priority | str = Priority.normal,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: Delay | None = None,
        tenant: str | None = None,
        transactional: bool = False,
    ) -> Callable[[F], F]:
        """Declare a job: the function, returned unchanged, runs at every tick of a cron string, a
        rule such as Every(minutes=5), or a list. `name` is `{module}-{action}` in kebab-case. A
        first parameter that is data receives `payload`. Workers, even running ones, seed it."""
        arguments = JobArguments(
            name=name,
            recurrence=recurrence,
            tz=tz,
            misfire=misfire,
            overlap=overlap,
            jitter=jitter,
            alert_after=alert_after,
            priority=priority,
            tenant=tenant,
        )
        self.runtime.jobs.refuse_taken(check_job_name(name))
        scope = sys._getframe(1).f_locals

        def declare(function: F) -> F:
            entry, text = self._job_payload(name, function, scope, payload, queue)
            definition = to_definition(arguments, entry, text, entry.queue, retry or Retry())
            self._add_handler(entry, function, retry, timeout, scope, transactional)
            self.runtime.payloads.keep_job(entry)
            self.runtime.jobs.add(definition)
            self.runtime.declarations.notify()
            return function

        return declare

    def _job_payload(
        self,
        name: str,
        function: Callable[..., Any],
        scope: Mapping[str, Any],
        payload: object,
        queue: str | None,
    ) -> tuple[PayloadType, str]:
        """The payload type of the job's function, and the encoded payload of each tick."""
        type_ = job_payload_type(function, scope, self._providers, payload)
        entry = self.runtime.payloads.check_job(name, type_, queue)
        return entry, written_alone(entry, payload, self.settings.max_payload)

    def _transaction_factory(self, annotation: Any) -> TransactionFactory | None:
        return self.store.transaction_factory(annotation, self._sessions)

    @overload
    def on(self, event: type[E], subscriber: Subscriber[E]) -> None: ...

    @overload
    def on(
        self,
        event: type[E],
        subscriber: Callable[..., Any],
        *,
        durable: Literal[True],
        name: str | None = None,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: Delay | None = None,
    ) -> None: ...

    def on(
        self,
        event: type[E],
        subscriber: Callable[..., Any],
        *,
        durable: bool = False,
        name: str | None = None,
        queue: str | None = None,
        retry: Retry | None = None,
        timeout: Delay | None = None,
    ) -> None:
        """Call `subscriber` in this process after the commit of each such event.

        `durable=True` makes it a handler: each event becomes an action, inserted in the
        transaction that the event reports. Any worker that declares the same subscriber runs the
        action, with retries and history, at least once. The first parameter is the event, the
        others are injected. `name`, by default the function's, is part of the actions' kind.
        """
        if durable:
            scope = sys._getframe(1).f_locals
            self._subscribe(event, subscriber, name, queue, retry, timeout, scope)
            return
        durable_only = {"name": name, "queue": queue, "retry": retry, "timeout": timeout}
        for option, value in durable_only.items():
            if value is not None:
                raise ConfigError(
                    f"{option}={shown(value)} is for durable subscribers only: "
                    f"app.on({event.__name__}, ..., durable=True)"
                )
        self.runtime.events.on(event, subscriber)

    def _subscribe(
        self,
        event: type[Event],
        function: Callable[..., Any],
        name: str | None,
        queue: str | None,
        retry: Retry | None,
        timeout: Delay | None,
        scope: Mapping[str, Any],
    ) -> None:
        self._check_subscriber(event)
        kind = subscriber_kind(event, function, name)
        entry = self.runtime.payloads.check_job(kind, event, queue)
        self._add_handler(entry, function, retry, timeout, scope, transactional=False)
        self.runtime.payloads.keep_job(entry)
        self.runtime.outbox.add(event, entry)
        self.runtime.declarations.notify()

    def _check_subscriber(self, event: type[Event]) -> None:
        """Raise ConfigError if actions for this event cannot be inserted with its change."""

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
        self.runtime.payloads.add(
            type_, kind=kind, aliases=aliases, version=version, upgrades=upgrades, queue=queue
        )

    def provide(self, type_: type[Any], make: Callable[..., Any]) -> None:
        """Inject `make()` for this type into handlers that are declared later."""
        self._providers[type_] = make

    def discover(self, package: str) -> None:
        """Import a package and its submodules, so that their declarations take effect."""
        root = importlib.import_module(package)
        for found in pkgutil.walk_packages(getattr(root, "__path__", []), f"{package}."):
            # A __main__ module is a program: importing it would run it.
            if found.name.rpartition(".")[2] != "__main__":
                importlib.import_module(found.name)


def _refuse_misplaced(misplaced: object) -> None:
    if misplaced is not None:
        raise ConfigError(
            f"@app.handler got {shown(misplaced)}: write @app.handler(kind='...') with "
            "parentheses and names"
        )
