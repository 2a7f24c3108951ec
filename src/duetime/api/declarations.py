"""What an app is told of before it runs: handlers, payloads, jobs and what to inject."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any, Literal, TypeVar, overload

from duetime.api.arguments import Delay
from duetime.api.job_arguments import ALERT_AFTER, JobArguments, RecurrenceArgument, to_definition
from duetime.config import Settings
from duetime.errors import ConfigError, shown
from duetime.events.bus import (
    Subscriber,
)
from duetime.events.outbox import subscriber_kind
from duetime.events.types import (
    Event,
)
from duetime.model.actions.retry import Retry
from duetime.model.jobs.job import Overlap
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.name import check_job_name
from duetime.model.lane import Priority
from duetime.model.payloads.codec import written_alone
from duetime.model.payloads.registry import PayloadType, Upgrade
from duetime.model.validation import positive_seconds
from duetime.registry.handlers import job_payload_type, payload_type
from duetime.registry.runtime import Parts
from duetime.store.base import Store
from duetime.store.transaction import Opener

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=Event)


class Declaring:
    """The declarations of an app; each is checked where it stands."""

    parts: Parts
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
        known from `provide`. `aliases` are older names of the kind, `upgrades` turn older
        versions of its data into the current one.

        `transactional=True`: a parameter annotated Session, AsyncSession, psycopg's Connection
        or AsyncConnection, or sqlite3.Connection arrives inside an open transaction whose
        commit is also the completion. Verbs called inside are part of it.
        """
        _refuse_misplaced(misplaced)
        # Annotations may name what is local to the function that declares the handler.
        scope = sys._getframe(1).f_locals

        def declare(function: F) -> F:
            entry = self.parts.payloads.check(
                payload_type(function, scope),
                kind=kind,
                aliases=aliases,
                version=version,
                upgrades=upgrades,
                queue=queue,
            )
            self._handle(entry, function, retry, timeout, scope, transactional)
            self.parts.payloads.keep(entry)
            self.parts.declarations.tell()
            return function

        return declare

    def _handle(
        self,
        entry: PayloadType,
        function: Callable[..., Any],
        retry: Retry | None,
        timeout: Delay | None,
        scope: Mapping[str, Any],
        transactional: bool,
    ) -> None:
        self.parts.handlers.add(
            entry,
            function,
            retry=Retry() if retry is None else retry,
            timeout=None if timeout is None else positive_seconds("timeout", timeout),
            providers=self._providers,
            scope=scope,
            openers=self._openers if transactional else None,
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
        alert_after: int = ALERT_AFTER,
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
        first parameter that is data gets `payload`. Workers seed it, those that run already too."""
        given = JobArguments(
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
        self.parts.jobs.refuse_taken(check_job_name(name))
        scope = sys._getframe(1).f_locals

        def declare(function: F) -> F:
            entry, text = self._job_payload(name, function, scope, payload, queue)
            definition = to_definition(given, entry, text, entry.queue, retry or Retry())
            self._handle(entry, function, retry, timeout, scope, transactional)
            self.parts.payloads.keep_job(entry)
            self.parts.jobs.add(definition)
            self.parts.declarations.tell()
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
        """What the function takes, and what it is given at each tick, as text."""
        taken = job_payload_type(function, scope, self._providers, payload)
        entry = self.parts.payloads.check_job(name, taken, queue)
        return entry, written_alone(entry, payload, self.settings.max_payload)

    def _openers(self, annotation: Any) -> Opener | None:
        return self.store.opener(annotation, self._sessions)

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
        """Call `subscriber` in this process after each such event was committed.

        `durable=True` makes it a handler: each event becomes an action for it, written in the
        transaction that made the event true, and run by any worker that declares the same, with
        retries and history, at least once. Its first parameter is the event, the others are
        injected. `name`, or else the function's own, is part of the kind of these actions.
        """
        if durable:
            scope = sys._getframe(1).f_locals
            self._subscribe(event, subscriber, name, queue, retry, timeout, scope)
            return
        given = {"name": name, "queue": queue, "retry": retry, "timeout": timeout}
        for option, value in given.items():
            if value is not None:
                raise ConfigError(
                    f"{option}={shown(value)} is for subscribers that are actions: "
                    f"app.on({event.__name__}, ..., durable=True)"
                )
        self.parts.events.on(event, subscriber)

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
        self._admit_subscriber(event)
        kind = subscriber_kind(event, function, name)
        entry = self.parts.payloads.check_job(kind, event, queue)
        self._handle(entry, function, retry, timeout, scope, transactional=False)
        self.parts.payloads.keep_job(entry)
        self.parts.outbox.add(event, entry)
        self.parts.declarations.tell()

    def _admit_subscriber(self, event: type[Event]) -> None:
        """ConfigError if its actions could not be written with what it is to be told of."""

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
        """Make a payload type known for scheduling; its handler lives in another process."""
        self.parts.payloads.add(
            type_, kind=kind, aliases=aliases, version=version, upgrades=upgrades, queue=queue
        )

    def provide(self, type_: type[Any], make: Callable[..., Any]) -> None:
        """Inject `make()` wherever a handler declared later asks for this type."""
        self._providers[type_] = make

    def discover(self, package: str) -> None:
        """Import a package and all below it, so that what they declare is declared."""
        root = importlib.import_module(package)
        for found in pkgutil.walk_packages(getattr(root, "__path__", []), f"{package}."):
            # What is run as a program is not meant to be imported.
            if found.name.rpartition(".")[2] != "__main__":
                importlib.import_module(found.name)


def _refuse_misplaced(misplaced: object) -> None:
    if misplaced is not None:
        raise ConfigError(
            f"@app.handler got {shown(misplaced)}: write @app.handler(kind='...') with "
            "parentheses and names"
        )
