"""`app.transitions`: register models, sweep their rows, run a sweeper, list what is pending."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakSet

from duetime.errors import ConfigError, shown
from duetime.logs import Log, get_log
from duetime.model.actions.action import Page
from duetime.model.actions.retry import Retry
from duetime.model.clock import Clock
from duetime.model.filter import page_limit
from duetime.model.kept_report import KeptReport, as_kept_report
from duetime.model.transition import RETRY, ParkedRow, Pending, Report, TransitionView
from duetime.model.validation import check_count, check_name, positive_seconds
from duetime.store.base import Store
from duetime.transitions.checks import checked_targets, mapped_since
from duetime.transitions.commit_watch import CommitWatch
from duetime.transitions.hooks import Hook, Hooks
from duetime.transitions.metadata import DECLARED_COUNT
from duetime.transitions.registration import Registration
from duetime.transitions.report_keeper import ReportKeeper
from duetime.transitions.row_changes import RowChanges, row_lanes
from duetime.transitions.runner import TransitionRunner
from duetime.transitions.same_database import check_same_database
from duetime.transitions.sessions import Sessions
from duetime.transitions.sweeper import TransitionPorts, TransitionSweeper
from duetime.transitions.target import Target
from duetime.transitions.wake_sender import WakeSender
from duetime.transitions.wanted_rows import (
    PlacedTarget,
    from_parked_cursor,
    select_targets,
    to_parked_cursor,
    to_row_ids,
)

LOG = get_log("duetime.transitions")
# Databases limit the parameters of a statement, and a transaction should not lock too many rows.
MAX_BATCH_SIZE = 5000
DEFAULT_JOB_NAME = "transitions-sweep"
MAX_APP_NAME_LENGTH = 450


# The class below has a method `list`.
list_ = list


class Transitions:
    """The transitions of one app."""

    def __init__(self, ports: TransitionPorts, store: str | None, job: Callable[..., Any]) -> None:
        self._ports = ports
        self._store = store
        self._job = job
        self._sweepers: list[TransitionSweeper] = []
        self._registered: list_[tuple[object, list_[Target]]] = []
        self._declared_count = 0
        self._by_job = False
        self._wake_sender = WakeSender(lambda lanes: ports.store().wake_others(lanes))
        self._keeper = ReportKeeper(ports.store, ports.app)
        self._runners: WeakSet[TransitionRunner] = WeakSet()

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
        registration = Registration(
            sessions=sessions,
            targets=targets,
            hooks=Hooks(on_delete, on_set_field),
            interval=positive_seconds("interval", interval),
            batch=check_count("batch", batch, MAX_BATCH_SIZE),
            bulk=bulk,
            registered_clock=clock,
            app_clock=self._ports.clock,
            log=log,
            retry=retry,
        )
        self._registered.append((models, targets))
        if targets:
            self._sweepers.append(TransitionSweeper(registration, self._ports))
            self._wake_others(registration)

    def _wake_others(self, registration: Registration) -> None:
        """Wake runners in other processes after each commit that may make rows due. SQLite's files
        show commits by themselves."""
        sessions = registration.sessions
        if sessions.dialect == "postgresql":
            CommitWatch(sessions.engine, RowChanges(registration), self._rows_changed).start()

    def _rows_changed(self, lanes: set[str]) -> None:
        if self._ports.store().wakes_others:
            self._wake_sender.submit(lanes)

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

    async def sweep(
        self, *, parked: bool = False, by: str | None = None, note: str | None = None
    ) -> Report:
        """Make one pass: apply one batch of due rows of each transition. With `parked=True`, rows
        that failed are tried too, regardless of their backoff. With `by` or `note`, the audit log
        says for each transition who asked for the pass."""
        self._refuse_late_models()
        await self._audit_sweep(by, note)
        report = Report()
        for sweeper in self._sweepers:
            await sweeper.sweep(report, parked=parked)
        await self._keep(report)
        return report

    async def drain(
        self, *, parked: bool = False, by: str | None = None, note: str | None = None
    ) -> Report:
        """Make passes until every due row was tried; return the report of all passes. With `by` or
        `note`, the audit log says for each transition who asked for them."""
        self._refuse_late_models()
        await self._audit_sweep(by, note)
        total = Report()
        for sweeper in self._sweepers:
            await sweeper.drain(total, parked=parked)
        await self._keep(total)
        return total

    async def _audit_sweep(self, by: str | None, note: str | None) -> None:
        """Write before the first pass who asked for it: a pass has many transactions, which may be
        of another database."""
        act, store = self._ports.to_act(by, note), self._ports.store()
        if by is None and note is None:
            return
        for view in self.list():
            name = f"{view.model}.{view.column}"
            await store.perform(store.audit_transition("sweep", act, name, {}, {}))

    async def _keep(self, report: Report) -> None:
        if self._sweepers:
            await self._keeper.keep(report)

    async def last_report(self, app: str | None = None) -> KeptReport | None:
        """Return what an app last swept, by default this one, in whichever process: None if it
        has not. Runners and workers report passes that changed a row or found an error."""
        name = self._ports.app() if app is None else check_name("app", app, MAX_APP_NAME_LENGTH)
        stored = await self._ports.store().perform(self._ports.store().kept_report(name))
        return None if stored is None else as_kept_report(stored)

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

    async def parked(
        self,
        model: type[Any] | str | None = None,
        column: str | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[ParkedRow]:
        """Return rows that failed for good and still have the time at which they did, in the order
        of their transitions and keys, a page at a time. A page may be short, and yet have a
        `next_cursor`."""
        self._refuse_late_models()
        wanted, size = self._matching(model, column), page_limit(limit)
        place, after = from_parked_cursor(cursor, wanted)
        rows: list_[ParkedRow] = []
        for number, (sweeper, target) in enumerate(wanted[place:], place):
            page = await sweeper.parked(target, after, size - len(rows))
            rows += [row for _, row in page.rows]
            after = "" if page.after is None else page.after
            more = (number, after) if after else (number + 1, "")
            if more[0] < len(wanted) and (after or len(rows) >= size):
                return Page(rows, to_parked_cursor(more, wanted))
        return Page(rows)

    async def retry(
        self,
        model: type[Any] | str | None = None,
        column: str | None = None,
        *,
        ids: Iterable[Any] | None = None,
        by: str | None = None,
        note: str | None = None,
    ) -> int:
        """Let parked rows be tried again at once, as often as at first: all of them, those of a
        model or of one column, or those of the given primary keys. Return how many."""
        self._refuse_late_models()
        act, wanted = self._ports.to_act(by, note), self._matching(model, column)
        keys = None if ids is None else to_row_ids(ids, wanted)
        count = 0
        for sweeper, target in wanted:
            after: str | None = ""
            retried = 0
            while after is not None:
                done, after = await sweeper.retry(target, after, keys, act)
                retried += done
            count += retried
            if retried:
                self._wake_runners(sweeper, target)
        return count

    def _matching(self, model: object, column: str | None) -> list_[PlacedTarget]:
        every = [(s, target) for s in self._sweepers for target in s.registration.targets]
        return select_targets(every, model, column)

    def _wake_runners(self, sweeper: TransitionSweeper, target: Target) -> None:
        """Wake the runners of this process and, where the store can, of others."""
        lanes = {row_lanes(sweeper.registration)[target]}
        for runner in list(self._runners):
            runner.retried(lanes)
        self._rows_changed(lanes)

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
        return self._runner(self._ports.store())

    def _runner(self, store: Store | None = None) -> TransitionRunner:
        runner = TransitionRunner(self._sweepers, self._ports.running, self._keeper, store)
        self._runners.add(runner)
        return runner

    @property
    def companions(self) -> list_[TransitionRunner]:
        """The services that a worker of this app runs for transitions. The worker listens for
        them."""
        self._refuse_late_models()
        return [] if self._by_job or not self._sweepers else [self._runner()]

    def as_job(self, recurrence: Any, *, name: str = DEFAULT_JOB_NAME, **options: Any) -> None:
        """Sweep by a recurring job, once in a cluster, instead of in every worker. A sweep with
        errors fails its run. `options` are those of `app.job`."""

        async def sweep() -> dict[str, int]:
            report = (await self.drain()).check()
            return {"updated": report.updated, "deleted": report.deleted}

        self._job(recurrence, name=name, **options)(sweep)
        self._by_job = True
