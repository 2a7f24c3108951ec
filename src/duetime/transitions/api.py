"""`app.transitions`: register models, sweep their rows, run a sweeper, list what is pending."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from duetime.errors import ConfigError, shown
from duetime.logs import Log, get_log
from duetime.model.actions.retry import Retry
from duetime.model.clock import Clock, SystemClock
from duetime.model.transition import RETRY, Pending, Report, TransitionView
from duetime.model.validation import check_count, positive_seconds
from duetime.transitions.checks import checked_targets, mapped_since
from duetime.transitions.hooks import Hook, Hooks
from duetime.transitions.metadata import DECLARED_COUNT
from duetime.transitions.registration import Registration
from duetime.transitions.runner import TransitionRunner
from duetime.transitions.same_database import check_same_database
from duetime.transitions.sessions import Sessions
from duetime.transitions.sweeper import TransitionPorts, TransitionSweeper
from duetime.transitions.target import Target

LOG = get_log("duetime.transitions")
# Databases limit the parameters of a statement, and a transaction should not lock too many rows.
MAX_BATCH_SIZE = 5000
DEFAULT_JOB_NAME = "transitions-sweep"


# The class below has a method `list`.
list_ = list


class Transitions:
    """The transitions of one app."""

    def __init__(
        self, ports: TransitionPorts, clock: Clock, store: str | None, job: Callable[..., Any]
    ) -> None:
        self._ports = ports
        self._clock = clock
        self._store = store
        self._job = job
        self._sweepers: list[TransitionSweeper] = []
        self._registered: list_[tuple[object, list_[Target]]] = []
        self._declared_count = 0
        self._by_job = False

    def register(
        self,
        models: object,
        engine: object,
        *,
        interval: float | timedelta = 60,
        batch: int = 500,
        bulk: bool = False,
        clock: Clock | None = None,
        logger: logging.Logger | None = None,
        retry: Retry = RETRY,
        on_delete: Hook | None = None,
        on_set_field: Hook | None = None,
    ) -> None:
        """Check every transition of these models, and apply them from now on: in this app's
        workers, in a `runner`, and whenever `sweep` is called.

        `models` is a declarative base, a mapped class, or a list of these. `engine` is an Engine,
        an AsyncEngine, or a session factory with one. `bulk=True` changes many rows by one
        statement without the ORM: its listeners, validators and version counters do not run.
        Raises ConfigError if a declaration cannot work.
        """
        log, sessions = LOG if logger is None else Log(logger), Sessions(engine)
        targets = checked_targets(models, log)
        self._check_same_database(targets, sessions, self._ports.has_durable_subscribers())
        used_clock = clock or self._clock
        registration = Registration(
            sessions=sessions,
            targets=targets,
            hooks=Hooks(on_delete, on_set_field),
            interval=positive_seconds("interval", interval),
            batch=check_count("batch", batch, MAX_BATCH_SIZE),
            bulk=bulk,
            clock=None if isinstance(used_clock, SystemClock) else used_clock,
            log=log,
            retry=retry,
        )
        self._registered.append((models, targets))
        if targets:
            self._sweepers.append(TransitionSweeper(registration, self._ports))

    def check_durable_subscriber(self) -> None:
        """Raise ConfigError if a registered table is not in the store's database, where a durable
        subscriber's actions are inserted."""
        for sweeper in self._sweepers:
            registration = sweeper.registration
            self._check_same_database(registration.targets, registration.sessions, durable=True)

    def _check_same_database(
        self, targets: list_[Target], sessions: Sessions, durable: bool
    ) -> None:
        if self._store is not None:
            check_same_database(targets, sessions.engine, self._store, durable)

    async def sweep(self, *, parked: bool = False) -> Report:
        """Make one pass: apply one batch of due rows of each transition. With `parked=True`, rows
        that failed are tried too, regardless of their backoff."""
        self._refuse_late_models()
        report = Report()
        for sweeper in self._sweepers:
            await sweeper.sweep(report, parked=parked)
        return report

    async def drain(self, *, parked: bool = False) -> Report:
        """Make passes until every due row was tried; return the report of all passes."""
        self._refuse_late_models()
        total = Report()
        for sweeper in self._sweepers:
            await sweeper.drain(total, parked=parked)
        return total

    def _refuse_late_models(self) -> None:
        """Raise ConfigError for a model that was mapped after its base was registered: its
        transitions would be silently ignored."""
        if self._declared_count == DECLARED_COUNT.total():
            return
        for models, targets in self._registered:
            for name in mapped_since(models, [target.column for target in targets]):
                raise ConfigError(
                    f"transition {name} was mapped after register({shown(models)}, ...) and would "
                    "never be applied: import its module before calling register"
                )
        self._declared_count = DECLARED_COUNT.total()

    def list(self) -> list_[TransitionView]:
        """Return every registered transition."""
        self._refuse_late_models()
        return [
            target.view() for sweeper in self._sweepers for target in sweeper.registration.targets
        ]

    async def pending(self) -> list_[Pending]:
        """Return the due and failed rows of each transition, as counts."""
        self._refuse_late_models()
        return [pending for sweeper in self._sweepers for pending in await sweeper.pending()]

    async def next_due(self) -> datetime | None:
        """Return the next instant at which a row is due, if no row changes until then."""
        pending = await self.pending()
        return min((item.next_due for item in pending if item.next_due is not None), default=None)

    async def aclose(self) -> None:
        """Close the pools of the registered engines, at the end of a program."""
        for sweeper in self._sweepers:
            await sweeper.registration.sessions.aclose()

    def refuse_async(self) -> None:
        """Raise ConfigError if an engine is async: its connections belong to the event loop that
        opened them."""
        for sweeper in self._sweepers:
            sessions = sweeper.registration.sessions
            if sessions.is_async:
                raise ConfigError(
                    f"{sessions.place} is an async engine, but app.sync is blocking: "
                    "use `await app.transitions.…` or register a blocking engine"
                )

    def runner(self) -> TransitionRunner:
        """Return a runner, which sweeps on time inside `async with`, without a worker."""
        self._refuse_late_models()
        return TransitionRunner(self._sweepers)

    @property
    def companions(self) -> list_[TransitionRunner]:
        """The services that a worker of this app runs for transitions."""
        self._refuse_late_models()
        return [] if self._by_job or not self._sweepers else [self.runner()]

    def as_job(self, recurrence: Any, *, name: str = DEFAULT_JOB_NAME, **options: Any) -> None:
        """Sweep by a recurring job, once in a cluster, instead of in every worker. A sweep with
        errors fails its run. `options` are those of `app.job`."""

        async def sweep() -> dict[str, int]:
            report = (await self.drain()).check()
            return {"updated": report.updated, "deleted": report.deleted}

        self._job(recurrence, name=name, **options)(sweep)
        self._by_job = True
