"""The sweeper of one registration: each pass applies a batch of every transition."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, MutableSet, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from duetime.errors import ConfigError
from duetime.events.bus import Events, own_task_cancelled
from duetime.events.types import TransitionApplied
from duetime.logs import Log
from duetime.model.act import Act
from duetime.model.clock import Clock, monotonic
from duetime.model.transition import ParkedRow, Pending, Report, RowError
from duetime.store.base import Store
from duetime.store.outage_log import OutageLog
from duetime.telemetry.meters import Meters
from duetime.telemetry.tracing import span
from duetime.transitions.apply import apply_due
from duetime.transitions.batch import BatchResult, InsertActions, RowBatch
from duetime.transitions.errors import error_text, is_unavailable
from duetime.transitions.ledger_cleanup import prune
from duetime.transitions.ledger_setup import prepare
from duetime.transitions.parked import ParkedPage, find_parked, retry_parked
from duetime.transitions.probe import pending
from duetime.transitions.registration import Registration
from duetime.transitions.row_deletion import delete_entries_with_rows
from duetime.transitions.target import Target

# How many chunks of ledger entries a drain checks: its process may exit afterwards.
DRAIN_CLEANUP_CHUNKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionPorts:
    """The services of an app that its transitions use."""

    events: Events
    meters: Meters
    insert_actions: InsertActions
    # Raises ConfigError unless the session is on the store's database.
    check_store: Callable[[Session], None]
    chance: Callable[[], float]
    # The name of the app, and its clock and store; a test may override these.
    app: Callable[[], str]
    clock: Callable[[], Clock]
    store: Callable[[], Store]
    # What runs on them in this process.
    running: MutableSet[object]
    # Check who acts and why, as every verb does.
    to_act: Callable[[str | None, str | None], Act]
    # Write an audit entry about a transition: in this session, or, for None, in the store.
    audit: Callable[[Session | None, Act, str, Mapping[str, object], Mapping[str, object]], None]
    # Appends an event for notifications, in this session if it is on the store's database.
    row_parked: Callable[[Session, RowError], None]
    # Whether TransitionApplied has durable subscribers, whose actions are inserted with the change.
    has_durable_subscribers: Callable[[], bool] = lambda: False

    @property
    def wants_events(self) -> bool:
        """Whether TransitionApplied has subscribers of any kind."""
        return self.events.has_subscribers(TransitionApplied) or self.has_durable_subscribers()


@dataclass(slots=True)
class SweepProgress:
    """Where a runner is: the cursor of each backlog, and when the next pass is needed."""

    cursors: dict[Target, tuple[Any, ...]] = field(default_factory=dict)
    # When each backlog was seen.
    seen_at: dict[Target, datetime] = field(default_factory=dict)
    # Targets whose backlog has rows with ledger entries.
    in_ledger: set[Target] = field(default_factory=set)
    # Targets whose parked rows were all tried: once is enough.
    parked_tried: set[Target] = field(default_factory=set)
    # On the monotonic clock.
    wake_at: float | None = None
    # The error of the database in this pass, which the owner of the progress logs.
    unavailable: BaseException | None = None

    def record(self, target: Target, result: BatchResult) -> None:
        """Take over the cursor of a truncated batch, or the time of the next due row."""
        if result.truncated and result.cursor is not None:
            self.cursors[target] = result.cursor
            self.seen_at[target] = result.now
            if not result.all_changed:
                self.in_ledger.add(target)
            return
        self.parked_tried.add(target)
        if self.restart(target):
            # Batches of a backlog do not probe: a pass without cursor must follow.
            self.wake_at = monotonic()
        if result.next_due is not None:
            at = monotonic() + (result.next_due - result.now).total_seconds()
            self.wake_at = at if self.wake_at is None else min(at, self.wake_at)

    def restart(self, target: Target) -> bool:
        """Drop the target's cursor; return whether it had one."""
        self.seen_at.pop(target, None)
        self.in_ledger.discard(target)
        return self.cursors.pop(target, None) is not None


class TransitionSweeper:
    """Sweeps the transitions of one registration."""

    def __init__(self, registration: Registration, ports: TransitionPorts) -> None:
        self.registration = registration
        self._ports = ports
        self._prepared = False
        self._checked_store: object = None
        self._cleaned_up_to: dict[Target, str] = {}
        self._cleanup_at = 0.0
        sessions, log = registration.sessions, registration.log
        self._outage = OutageLog(log, f"transitions on {sessions.place} cannot be applied")
        self._failures = {target: _failure_log(target, log) for target in registration.targets}
        for target in registration.targets:
            statements = registration.statements(target, parked=False, after_cursor=False)
            delete_entries_with_rows(sessions.engine, sessions.schema_map, statements)

    async def sweep(
        self, report: Report, progress: SweepProgress | None = None, *, parked: bool = False
    ) -> None:
        """Make one pass, and add its result to the report."""
        if progress is None:
            progress = SweepProgress()
            await self._pass(report, progress, parked)
            self._log_unavailable(progress)
        else:
            await self._pass(report, progress, parked)

    async def _pass(self, report: Report, progress: SweepProgress, parked: bool) -> None:
        progress.wake_at = progress.unavailable = None
        began = monotonic()
        with span("duetime.sweep"):
            await self.prepare()
            for target in self.registration.targets:
                await self._sweep_target(target, report, progress, parked)
        self._ports.meters.swept(monotonic() - began)

    async def drain(self, total: Report, *, parked: bool = False) -> None:
        """Make passes, each continuing after the last row of the one before, until a complete pass
        changes nothing: one transition may make rows of another due."""
        progress = SweepProgress()
        while True:
            report, resumed = Report(), bool(progress.cursors)
            await self._pass(report, progress, parked)
            self._log_unavailable(progress)
            total.add(report)
            if not progress.cursors and not resumed and not report.changed:
                break
        await self.clean_ledger_if_due(DRAIN_CLEANUP_CHUNKS)

    async def prepare(self) -> None:
        """Create the ledger, and check the store if actions are inserted; once, and again after
        the first durable subscription."""
        inserts = self.registration.schedules_actions or self._ports.has_durable_subscribers()
        store = self._ports.store() if inserts else None
        if not self._prepared or (inserts and self._checked_store is not store):
            check = self._ports.check_store if inserts else None
            registration = self.registration
            await registration.sessions.run(lambda session: prepare(session, registration, check))
            self._prepared, self._checked_store = True, store

    async def _sweep_target(
        self, target: Target, report: Report, progress: SweepProgress, parked: bool
    ) -> None:
        """Apply a batch of one target. An error goes into the report, so that the other targets
        are swept too."""
        batch = self._batch(target, progress, parked and target not in progress.parked_tried)
        try:
            result = await self.registration.sessions.run(partial(apply_due, batch=batch))
        except ConfigError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            # The user's database or code may raise anything.
            if own_task_cancelled(error):
                raise
            progress.restart(target)
            self._record_failure(target, report, progress, error)
            return
        progress.record(target, result)
        self._record_result(target, result, report)
        await self._notify(target, batch, result)
        if result.stopped_by is not None:
            progress.restart(target)
            self._record_failure(target, report, progress, result.stopped_by)
        else:
            self._failures[target].recovered()

    def _batch(self, target: Target, progress: SweepProgress, parked: bool) -> RowBatch:
        registration, cursor = self.registration, progress.cursors.get(target)
        emits_events = self._ports.wants_events
        clock = registration.clock
        return RowBatch(
            statements=registration.statements(target, parked, cursor is not None),
            now=None if clock is None else clock.now(),
            size=registration.batch,
            bulk=registration.bulk,
            retry=registration.retry,
            chance=self._ports.chance,
            log=registration.log,
            insert_actions=self._ports.insert_actions,
            row_parked=self._ports.row_parked,
            emits_events=emits_events,
            reports_rows=emits_events or registration.hooks.has_hook(target),
            cursor=cursor,
            backlog_seen_at=progress.seen_at.get(target),
            ledger_has_rows=target in progress.in_ledger,
        )

    def _record_failure(
        self, target: Target, report: Report, progress: SweepProgress, error: BaseException
    ) -> None:
        # The ledger itself may be missing by now.
        self._prepared = False
        text, column = error_text(error), target.attribute(target.column)
        report.errors.append(RowError(model=target.model, column=column, id=None, error=text))
        if is_unavailable(error):
            progress.unavailable = error
        else:
            self._failures[target].failed(text)

    def _log_unavailable(self, progress: SweepProgress) -> None:
        if progress.unavailable is None:
            self._outage.recovered()
        else:
            self._outage.failed(error_text(progress.unavailable))

    def _record_result(self, target: Target, result: BatchResult, report: Report) -> None:
        changed, failed = result.changed_count, len(result.errors)
        report.count(
            target.model,
            changed=changed,
            deletes=target.deletes,
            skipped=result.skipped,
            failed=failed,
        )
        report.truncated = report.truncated or result.truncated
        report.errors += result.errors
        self._ports.meters.transitioned(target.name, applied=changed, failed=failed)
        for error in result.errors:
            outlook = "parked" if error.retry_at is None else f"retry at {error.retry_at}"
            self.registration.log.warning(
                "transition failed: %s (attempt %d, %s)", error, error.attempts, outlook
            )

    async def _notify(self, target: Target, batch: RowBatch, result: BatchResult) -> None:
        rows = result.changed_rows
        await self.registration.hooks.call(target, rows, self.registration.log)
        if batch.emits_events:
            await self._ports.events.emit([batch.event(row) for row in rows])

    async def pending(self) -> list[Pending]:
        await self.prepare()
        return [await self._pending(target) for target in self.registration.targets]

    async def _pending(self, target: Target) -> Pending:
        batch = self._batch(target, SweepProgress(), parked=False)
        return await self.registration.sessions.run(partial(pending, batch=batch))

    async def parked(self, target: Target, after: str, limit: int) -> ParkedPage:
        await self.prepare()
        batch = self._batch(target, SweepProgress(), parked=False)
        find = partial(find_parked, batch=batch, after=after, limit=limit)
        return await self.registration.sessions.run(find)

    async def retry(
        self, target: Target, after: str, ids: Sequence[Any] | None, act: Act
    ) -> tuple[int, str | None]:
        """Let a chunk of parked rows be tried again; return how many, and the key to go on
        after."""
        await self.prepare()
        batch = self._batch(target, SweepProgress(), parked=False)

        def retry(session: Session) -> tuple[int, str | None]:
            # Asked first: a statement that the database refuses ends its transaction.
            where = session if self._shares_database(session) else None
            audit = partial(self._audit_retry, where, target, act)
            return retry_parked(session, batch, after, ids, audit)

        return await self.registration.sessions.run(retry)

    def _shares_database(self, session: Session) -> bool:
        """Return whether the rows are in the store's database."""
        try:
            self._ports.check_store(session)
        except ConfigError:
            return False
        finally:
            session.rollback()
        return True

    def _audit_retry(
        self, where: Session | None, target: Target, act: Act, rows: Sequence[ParkedRow]
    ) -> None:
        """Write the entry in the transaction of the change; or, if the store is another database,
        just before that commits, so that no change is without an entry."""
        ids = {"ids": [str(row.id) for row in rows]}
        self._ports.audit(where, act, target.name, ids | {"parked": True}, ids | {"parked": False})

    def postpone_cleanup(self) -> None:
        self._cleanup_at = monotonic() + self.registration.interval

    async def clean_ledger_if_due(self, chunks: int = 1) -> None:
        """Clean the ledger at most once per interval."""
        if monotonic() >= self._cleanup_at:
            self.postpone_cleanup()
            await self.clean_ledger(chunks)

    async def clean_ledger(self, chunks: int = 1) -> None:
        """Check the next chunks of ledger entries, and delete entries whose rows are gone."""
        for target in self.registration.targets:
            try:
                await self._clean_entries(target, chunks)
            except Exception as error:  # noqa: BLE001 - such as a table that is missing
                self.registration.log.warning(
                    "cleaning the ledger of transition %s failed: %s",
                    target.name,
                    error_text(error),
                )

    async def _clean_entries(self, target: Target, chunks: int) -> None:
        batch = self._batch(target, SweepProgress(), parked=False)
        for _ in range(chunks):
            chunk = partial(prune, batch=batch, after=self._cleaned_up_to.get(target, ""))
            self._cleaned_up_to[target] = await self.registration.sessions.run(chunk)
            if not self._cleaned_up_to[target]:
                return


def _failure_log(target: Target, log: Log) -> OutageLog:
    name = f"transition {target.name}"
    return OutageLog(log, f"{name} failed", f"{name} works again", level=logging.ERROR)
