"""The runner: sweeps each registration on time, from start to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from duetime.errors import ConfigError
from duetime.model.clock import SettableClock, monotonic
from duetime.model.transition import Report
from duetime.transitions.commit_watch import CommitWatch
from duetime.transitions.sweeper import SweepProgress, TransitionSweeper
from duetime.worker.backoff import Backoff
from duetime.worker.service import Service

# The pause between two passes caused by commits: as long as the last pass took, within these
# bounds, however often commits happen.
MIN_GAP_SECONDS = 0.01
MAX_GAP_SECONDS = 0.5
# The longest pause before locked rows, or a failing database, are tried again.
MAX_BACKOFF_SECONDS = 5.0


class TransitionRunner:
    """Sweeps inside `async with`, or between `start` and `stop`."""

    def __init__(self, sweepers: Sequence[TransitionSweeper]) -> None:
        self._sweepers = sweepers
        self._loops = [SweepLoop(sweeper) for sweeper in sweepers]

    async def start(self) -> None:
        """Start sweeping at once. Starting a started runner does nothing; if one loop cannot
        start, none runs."""
        for sweeper in self._sweepers:
            sweeper.registration.sessions.refuse_shared_connection()
        try:
            for loop in self._loops:
                await loop.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop sweeping; return when the current pass is finished."""
        await asyncio.gather(*(loop.stop() for loop in self._loops))

    async def __aenter__(self) -> TransitionRunner:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()


class SweepLoop:
    """The service that sweeps one registration."""

    def __init__(self, sweeper: TransitionSweeper) -> None:
        self._sweeper = sweeper
        self._progress = SweepProgress()
        self._task: asyncio.Task[None] | None = None
        self._cleanup = ExitStack()
        self._backoff = Backoff(MAX_BACKOFF_SECONDS)
        self._swept_at = self._sweep_seconds = self._next_at = 0.0
        # After a start, due rows come before the ledger's cleanup.
        sweeper.postpone_cleanup()

    async def start(self) -> None:
        if self._task is not None:
            return
        self._service = Service("transitions", self._step)
        self._task = asyncio.create_task(self._run())
        try:
            await self._prepare()
        except BaseException:
            await self.stop()
            raise

    async def _prepare(self) -> None:
        """Prepare the sweeper. A declaration that cannot work stops the start; an unavailable
        database does not."""
        try:
            await self._sweeper.prepare()
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - logged, and retried by the loop
            self._sweeper.registration.log.warning(
                "preparing transitions failed, will be retried: %s", error
            )

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            self._service.stop()
            await task

    async def _run(self) -> None:
        with self._cleanup:
            self._watch_commits()
            await self._service.run()

    def _watch_commits(self) -> None:
        registration = self._sweeper.registration
        tables = {target.table.name for target in registration.targets}
        watch = CommitWatch(registration.sessions.engine, tables, self._service.wake)
        watch.start()
        self._cleanup.callback(watch.stop)
        if isinstance(registration.clock, SettableClock):
            self._cleanup.callback(registration.clock.on_change(watch.wake))

    async def _step(self) -> float:
        await self._throttle()
        began, report = monotonic(), Report()
        await self._sweeper.sweep(report, self._progress)
        if self._progress.cursors:
            return 0.0
        if not report.changed and not report.errors:
            await self._sweeper.clean_ledger_if_due()
        # The first pass also builds the statements: its duration says nothing about later passes.
        self._sweep_seconds = monotonic() - began if self._swept_at else 0.0
        self._swept_at = monotonic()
        pause = min(self._until_next_due(), self._until_retry(report))
        self._next_at = self._swept_at + pause
        return pause

    async def _throttle(self) -> None:
        """Delay a pass that a commit, perhaps one of many, has caused before its time."""
        gap = min(max(self._sweep_seconds, MIN_GAP_SECONDS), MAX_GAP_SECONDS)
        free_at = self._swept_at + gap
        await asyncio.sleep(max(min(free_at, self._next_at) - monotonic(), 0.0))

    def _until_next_due(self) -> float:
        """Seconds until the next row is due, at most the interval. The pass may come early by the
        precision of the loop's timer: the database decides whether the row is due."""
        wake_at, interval = self._progress.wake_at, self._sweeper.registration.interval
        return interval if wake_at is None else min(max(wake_at - monotonic(), 0.001), interval)

    def _until_retry(self, report: Report) -> float:
        target_failed = any(error.id is None for error in report.errors)
        if not report.skipped and not target_failed:
            self._backoff.reset()
            return self._sweeper.registration.interval
        return self._backoff.next_pause()
