"""`app.transitions`: register models, sweep, run, look."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from duetime.errors import ConfigError, shown
from duetime.model.actions.retry import Retry
from duetime.model.clock import Clock, SystemClock
from duetime.model.transition import RETRY, Pending, Report, TransitionView
from duetime.model.validation import check_count, positive_seconds
from duetime.transitions.checks import checked_targets, late
from duetime.transitions.hooks import Hook, Hooks
from duetime.transitions.metadata import COUNTED
from duetime.transitions.registration import Registration
from duetime.transitions.runner import Runner
from duetime.transitions.same_database import refuse_elsewhere
from duetime.transitions.sessions import Bind
from duetime.transitions.sweeper import Ports, Sweeper
from duetime.transitions.target import Target

LOG = logging.getLogger("duetime.transitions")
# Parameters of one statement are limited, and so is what one transaction should hold up.
MOST_BATCH = 5000
JOB = "transitions-sweep"


# Below, `list` is a verb.
list_ = list


class Transitions:
    """The transitions of one app."""

    def __init__(
        self, ports: Ports, clock: Clock, store: str | None, job: Callable[..., Any]
    ) -> None:
        self._ports = ports
        self._clock = clock
        self._store = store
        self._job = job
        self._sweepers: list[Sweeper] = []
        self._registered: list_[tuple[object, list_[Target]]] = []
        self._counted = 0
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

        `models` is a declarative base, a mapped class, or a list of them; `engine` an Engine, an
        AsyncEngine, or a session factory with one. `bulk=True` changes rows by statements for
        many of them, past the ORM: its listeners, validators and version counters do not see it.
        """
        log, bind = logger or LOG, Bind(engine)
        targets = checked_targets(models, log)
        self._refuse_elsewhere(targets, bind, self._ports.durable())
        given = clock or self._clock
        registration = Registration(
            bind=bind,
            targets=targets,
            hooks=Hooks(on_delete, on_set_field),
            interval=positive_seconds("interval", interval),
            batch=check_count("batch", batch, MOST_BATCH),
            bulk=bulk,
            clock=None if isinstance(given, SystemClock) else given,
            log=log,
            retry=retry,
        )
        self._registered.append((models, targets))
        if targets:
            self._sweepers.append(Sweeper(registration, self._ports))

    def refuse_durable(self) -> None:
        """ConfigError if a durable subscriber could not be told of what is registered."""
        for one in self._sweepers:
            registration = one.registration
            self._refuse_elsewhere(registration.targets, registration.bind, durable=True)

    def _refuse_elsewhere(self, targets: list_[Target], bind: Bind, durable: bool) -> None:
        if self._store is not None:
            refuse_elsewhere(targets, bind.engine, self._store, durable)

    async def sweep(self, *, parked: bool = False) -> Report:
        """One pass: of each transition a batch of the rows whose time has come. With
        `parked=True` those that failed are tried too, whatever their backoff says."""
        self._refuse_late()
        report = Report()
        for one in self._sweepers:
            await one.sweep(report, parked=parked)
        return report

    async def drain(self, *, parked: bool = False) -> Report:
        """Pass after pass until no row is left that is due and was not looked at; what they did
        in all."""
        self._refuse_late()
        total = Report()
        for one in self._sweepers:
            await one.drain(total, parked=parked)
        return total

    def _refuse_late(self) -> None:
        """Whatever is mapped after it is registered would be silently left out."""
        if self._counted == COUNTED.total():
            return
        for models, targets in self._registered:
            for name in late(models, [one.column for one in targets]):
                raise ConfigError(
                    f"transition of {name} was mapped after register({shown(models)}, ...), and "
                    "would never be applied: import its module before"
                )
        self._counted = COUNTED.total()

    def list(self) -> list_[TransitionView]:
        """Every transition that was registered."""
        self._refuse_late()
        return [target.view() for one in self._sweepers for target in one.registration.targets]

    async def pending(self) -> list_[Pending]:
        """How much waits, for each transition."""
        self._refuse_late()
        return [found for one in self._sweepers for found in await one.pending()]

    async def next_due(self) -> datetime | None:
        """When there is something to do again, if nothing is changed until then."""
        dues = [one.next_due for one in await self.pending() if one.next_due is not None]
        return min(dues, default=None)

    async def aclose(self) -> None:
        """Close the pools of the engines, for a program that ends."""
        for one in self._sweepers:
            await one.registration.bind.aclose()

    def refuse_async(self) -> None:
        """Connections of an async engine belong to the loop that opened them."""
        for one in self._sweepers:
            bind = one.registration.bind
            if bind.is_async:
                raise ConfigError(
                    f"{bind.engine.url!r} is an async engine, and app.sync is blocking: "
                    "use `await app.transitions.…`, or register a blocking engine"
                )

    def runner(self) -> Runner:
        """Sweeps on time inside `async with`, without a worker."""
        self._refuse_late()
        return Runner(self._sweepers)

    @property
    def companions(self) -> list_[Runner]:
        """What a worker of this app runs beside its own services."""
        self._refuse_late()
        return [] if self._by_job or not self._sweepers else [self.runner()]

    def as_job(self, recurrence: Any, *, name: str = JOB, **options: Any) -> None:
        """Sweep by a recurring job, once in a cluster, instead of in every worker. A sweep with
        errors fails its run; `options` are those of `app.job`."""

        async def sweep() -> dict[str, int]:
            report = (await self.drain()).check()
            return {"updated": report.updated, "deleted": report.deleted}

        self._job(recurrence, name=name, **options)(sweep)
        self._by_job = True
