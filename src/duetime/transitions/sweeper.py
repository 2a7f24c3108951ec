"""A sweep: one pass over all transitions of a registration, a batch of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from duetime.errors import ConfigError
from duetime.events import Events, TransitionApplied
from duetime.model.clock import monotonic
from duetime.model.transition import Pending, Report, RowError
from duetime.telemetry.meters import Meters
from duetime.telemetry.spans import span
from duetime.transitions.applying import apply_due
from duetime.transitions.faults import reason
from duetime.transitions.looking import pending
from duetime.transitions.preparing import prepare
from duetime.transitions.pruning import prune
from duetime.transitions.registration import Registration
from duetime.transitions.target import Target
from duetime.transitions.work import Batch, Outbox, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What an app lends to its transitions."""

    events: Events
    meters: Meters
    outbox: Outbox
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
    # On the monotonic clock.
    wake_at: float | None = None

    def note(self, target: Target, batch: Batch) -> None:
        if batch.truncated and batch.cursor is not None:
            self.cursors[target] = batch.cursor
            self.since[target] = batch.now
            return
        if self.begin_anew(target):
            # At its end nobody has looked yet what else there is.
            self.wake_at = monotonic()
        if batch.next_due is not None:
            at = monotonic() + (batch.next_due - batch.now).total_seconds()
            self.wake_at = at if self.wake_at is None else min(at, self.wake_at)

    def begin_anew(self, target: Target) -> bool:
        """Whether it was in the middle of a backlog."""
        self.since.pop(target, None)
        return self.cursors.pop(target, None) is not None


class Sweeper:
    """Sweeps one registration."""

    def __init__(self, known: Registration, ports: Ports) -> None:
        self.known = known
        self._ports = ports
        self._prepared = False
        self._tidied: dict[Target, str] = {}

    async def sweep(
        self, report: Report, progress: Progress | None = None, *, parked: bool = False
    ) -> None:
        """Add to the report what this pass did."""
        progress = progress or Progress()
        progress.wake_at = None
        began = monotonic()
        with span("duetime.sweep"):
            await self.prepare()
            for target in self.known.targets:
                await self._one(target, report, progress, parked)
        self._ports.meters.swept(monotonic() - began)

    async def drain(self, total: Report, *, parked: bool = False) -> None:
        """Pass after pass, each behind the last row of the one before, and a last look."""
        progress = Progress()
        while True:
            report, resumed = Report(), bool(progress.cursors)
            await self.sweep(report, progress, parked=parked)
            total.add(report)
            if not progress.cursors and not resumed:
                return

    async def prepare(self) -> None:
        if not self._prepared:
            along = self.known.schedules or self._ports.durable()
            admit = self._ports.admit if along else None
            await self.known.bind.run(lambda session: prepare(session, self.known, admit))
            self._prepared = True

    async def tidy(self) -> None:
        """Look at some more lines of the ledger, whether their rows are still there."""
        for target in self.known.targets:
            work, after = self._work(target, Progress(), parked=False), self._tidied.get(target, "")
            done = partial(prune, work=work, after=after)
            self._tidied[target] = await self.known.bind.run(done)

    async def pending(self) -> list[Pending]:
        await self.prepare()
        return [await self._pending(target) for target in self.known.targets]

    async def _pending(self, target: Target) -> Pending:
        work = self._work(target, Progress(), parked=False)
        return await self.known.bind.run(partial(pending, work=work))

    async def _one(self, target: Target, report: Report, progress: Progress, parked: bool) -> None:
        """One that fails as a whole holds up no other."""
        work = self._work(target, progress, parked)
        try:
            batch = await self.known.bind.run(partial(apply_due, work=work))
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the user's database or code raises
            progress.begin_anew(target)
            self._failed(target, report, error)
            return
        progress.note(target, batch)
        self._count(target, batch, report)
        await self._tell(target, work, batch)

    def _work(self, target: Target, progress: Progress, parked: bool) -> Work:
        known, cursor = self.known, progress.cursors.get(target)
        telling = self._ports.telling
        now: datetime | None = None if known.clock is None else known.clock.now()
        return Work(
            statements=known.statements(target, parked, cursor is not None),
            now=now,
            batch=known.batch,
            bulk=known.bulk,
            retry=known.retry,
            chance=self._ports.chance,
            outbox=self._ports.outbox,
            telling=telling,
            heard=telling or known.hooks.hear(target),
            cursor=cursor,
            since=progress.since.get(target),
        )

    def _failed(self, target: Target, report: Report, error: Exception) -> None:
        # The ledger itself may be missing by now.
        self._prepared = False
        column = target.attribute(target.column)
        told = RowError(model=target.model, column=column, id=None, error=reason(error))
        report.errors.append(told)
        self.known.log.error("transition of %s: %s", target.name, told.error)

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
            self.known.log.warning("transition of %s (attempt %d, %s)", one, one.attempts, again)

    async def _tell(self, target: Target, work: Work, batch: Batch) -> None:
        await self.known.hooks.tell(target, batch.changed, self.known.log)
        if work.telling:
            await self._ports.events.emit([work.event(row) for row in batch.changed])
