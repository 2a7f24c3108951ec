"""A sweep: one pass over all transitions of a registration, a batch of each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from duetime.errors import ConfigError
from duetime.events.bus import (
    Events,
    is_cancelled,
)
from duetime.events.types import (
    TransitionApplied,
)
from duetime.model.clock import monotonic
from duetime.model.transition import Pending, Report, RowError
from duetime.telemetry.meters import Meters
from duetime.telemetry.spans import span
from duetime.transitions.apply import apply_due
from duetime.transitions.batch import Batch, Work, WriteAlong
from duetime.transitions.errors import reason
from duetime.transitions.ledger_cleanup import prune
from duetime.transitions.ledger_setup import prepare
from duetime.transitions.probe import pending
from duetime.transitions.registration import Registration
from duetime.transitions.row_deletion import forget_deleted
from duetime.transitions.target import Target

# How many lines of the ledger, in chunks, a drain looks through: its process may end then.
CHUNKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What an app lends to its transitions."""

    events: Events
    meters: Meters
    write_along: WriteAlong
    admit: Callable[[Session], None]
    chance: Callable[[], float]
    # Whether events are written along, for subscribers that are actions.
    durable: Callable[[], bool] = lambda: False

    @property
    def telling(self) -> bool:
        """Whether anybody listens."""
        return self.events.wanted(TransitionApplied) or self.durable()


@dataclass(slots=True)
class Progress:
    """Where a runner is: behind which row each backlog goes on, and when it is needed again."""

    cursors: dict[Target, tuple[Any, ...]] = field(default_factory=dict)
    # The time at which each backlog was seen.
    since: dict[Target, datetime] = field(default_factory=dict)
    # Of whose backlogs the ledger knows some.
    known: set[Target] = field(default_factory=set)
    # Whose parked rows were all tried: once is enough.
    tried: set[Target] = field(default_factory=set)
    # On the monotonic clock.
    wake_at: float | None = None

    def note(self, target: Target, batch: Batch) -> None:
        if batch.truncated and batch.cursor is not None:
            self.cursors[target] = batch.cursor
            self.since[target] = batch.now
            if not batch.whole:
                self.known.add(target)
            return
        self.tried.add(target)
        if self.begin_anew(target):
            # At its end nobody has looked yet what else there is.
            self.wake_at = monotonic()
        if batch.next_due is not None:
            at = monotonic() + (batch.next_due - batch.now).total_seconds()
            self.wake_at = at if self.wake_at is None else min(at, self.wake_at)

    def begin_anew(self, target: Target) -> bool:
        """Whether it was in the middle of a backlog."""
        self.since.pop(target, None)
        self.known.discard(target)
        return self.cursors.pop(target, None) is not None


class Sweeper:
    """Sweeps one registration."""

    def __init__(self, registration: Registration, ports: Ports) -> None:
        self.registration = registration
        self._ports = ports
        self._prepared = False
        self._admitted = False
        self._tidied: dict[Target, str] = {}
        self._tidy_at = 0.0
        bind = registration.bind
        for target in registration.targets:
            statements = registration.statements(target, parked=False, behind=False)
            forget_deleted(bind.engine, bind.schemas, statements)

    async def sweep(
        self, report: Report, progress: Progress | None = None, *, parked: bool = False
    ) -> None:
        """Add to the report what this pass did."""
        progress = progress or Progress()
        progress.wake_at = None
        began = monotonic()
        with span("duetime.sweep"):
            await self.prepare()
            for target in self.registration.targets:
                await self._one(target, report, progress, parked)
        self._ports.meters.swept(monotonic() - began)

    async def drain(self, total: Report, *, parked: bool = False) -> None:
        """Pass after pass, each behind the last row of the one before, until one that looked at
        all changes nothing: what one changes may be what another waits for."""
        progress = Progress()
        while True:
            report, resumed = Report(), bool(progress.cursors)
            await self.sweep(report, progress, parked=parked)
            total.add(report)
            if not progress.cursors and not resumed and not report.changed:
                break
        await self.tidy_in_turn(CHUNKS)

    async def prepare(self) -> None:
        """Again, if somebody has subscribed meanwhile."""
        along = self.registration.schedules or self._ports.durable()
        if not self._prepared or (along and not self._admitted):
            admit = self._ports.admit if along else None
            registration = self.registration
            await registration.bind.run(lambda session: prepare(session, registration, admit))
            self._prepared, self._admitted = True, along

    def tidy_later(self) -> None:
        self._tidy_at = monotonic() + self.registration.interval

    async def tidy_in_turn(self, chunks: int = 1) -> None:
        """Now and then, when there is nothing better to do."""
        if monotonic() >= self._tidy_at:
            self.tidy_later()
            await self.tidy(chunks)

    async def tidy(self, chunks: int = 1) -> None:
        """Look at some more lines of the ledger, whether their rows are still there."""
        for target in self.registration.targets:
            try:
                await self._tidy(target, chunks)
            except Exception as error:  # noqa: BLE001 - such as a table that is missing
                self.registration.log.warning("transition of %s: %s", target.name, reason(error))

    async def _tidy(self, target: Target, chunks: int) -> None:
        work = self._work(target, Progress(), parked=False)
        for _ in range(chunks):
            done = partial(prune, work=work, after=self._tidied.get(target, ""))
            self._tidied[target] = await self.registration.bind.run(done)
            if not self._tidied[target]:
                return

    async def pending(self) -> list[Pending]:
        await self.prepare()
        return [await self._pending(target) for target in self.registration.targets]

    async def _pending(self, target: Target) -> Pending:
        work = self._work(target, Progress(), parked=False)
        return await self.registration.bind.run(partial(pending, work=work))

    async def _one(self, target: Target, report: Report, progress: Progress, parked: bool) -> None:
        """One that fails as a whole holds up no other."""
        work = self._work(target, progress, parked and target not in progress.tried)
        try:
            batch = await self.registration.bind.run(partial(apply_due, work=work))
        except ConfigError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            # Whatever the user's database or code raises.
            if is_cancelled(error):
                raise
            progress.begin_anew(target)
            self._failed(target, report, error)
            return
        progress.note(target, batch)
        self._count(target, batch, report)
        await self._tell(target, work, batch)
        if batch.fault is not None:
            progress.begin_anew(target)
            self._failed(target, report, batch.fault)

    def _work(self, target: Target, progress: Progress, parked: bool) -> Work:
        registration, cursor = self.registration, progress.cursors.get(target)
        telling = self._ports.telling
        now: datetime | None = None if registration.clock is None else registration.clock.now()
        return Work(
            statements=registration.statements(target, parked, cursor is not None),
            now=now,
            batch=registration.batch,
            bulk=registration.bulk,
            retry=registration.retry,
            chance=self._ports.chance,
            log=registration.log,
            write_along=self._ports.write_along,
            telling=telling,
            heard=telling or registration.hooks.hear(target),
            cursor=cursor,
            since=progress.since.get(target),
            known=target in progress.known,
        )

    def _failed(self, target: Target, report: Report, error: BaseException) -> None:
        # The ledger itself may be missing by now.
        self._prepared = False
        column = target.attribute(target.column)
        told = RowError(model=target.model, column=column, id=None, error=reason(error))
        report.errors.append(told)
        self.registration.log.error("transition of %s: %s", target.name, told.error)

    def _count(self, target: Target, batch: Batch, report: Report) -> None:
        changed, failed = batch.count, len(batch.errors)
        report.count(
            target.model,
            changed=changed,
            deletes=target.deletes,
            skipped=batch.skipped,
            failed=failed,
        )
        report.truncated = report.truncated or batch.truncated
        report.errors += batch.errors
        self._ports.meters.transitioned(target.name, applied=changed, failed=failed)
        for one in batch.errors:
            again = "parked" if one.retry_at is None else f"again at {one.retry_at}"
            self.registration.log.warning(
                "transition of %s (attempt %d, %s)", one, one.attempts, again
            )

    async def _tell(self, target: Target, work: Work, batch: Batch) -> None:
        await self.registration.hooks.tell(target, batch.changed, self.registration.log)
        if work.telling:
            await self._ports.events.emit([work.event(row) for row in batch.changed])
