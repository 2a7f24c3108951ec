"""The runner: sweeps each registration on time, from start to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, MutableSet, Sequence
from contextlib import AsyncExitStack, ExitStack
from types import TracebackType

from sqlalchemy.exc import SQLAlchemyError

from duetime.errors import ConfigError, StoreUnavailable
from duetime.model.clock import SettableClock, monotonic
from duetime.model.lane import is_row_lane
from duetime.model.transition import Report
from duetime.store.base import Store
from duetime.store.flow import Wake
from duetime.store.sql.sqlite.wal import WalWatcher
from duetime.transitions.commit_watch import CommitWatch
from duetime.transitions.errors import error_text, is_unavailable
from duetime.transitions.hint_throttle import HintThrottle
from duetime.transitions.report_keeper import ReportKeeper
from duetime.transitions.row_changes import TableChanges, row_lanes
from duetime.transitions.sweeper import SweepProgress, TransitionSweeper
from duetime.worker.backoff import Backoff
from duetime.worker.service import Service

# The pause between two passes caused by commits: as long as the last pass took, within these
# bounds, however often commits happen.
MIN_GAP_SECONDS = 0.01
MAX_GAP_SECONDS = 0.5
# A connection that is neither used again nor returned after its commit raises no further event; by
# these delays it has committed.
COMMIT_CHECK_DELAYS_SECONDS = (0.02, 0.2)
# The longest pause before locked rows, or a failing database, are tried again.
MAX_BACKOFF_SECONDS = 5.0


class TransitionRunner:
    """Sweeps inside `async with`, or between `start` and `stop`."""

    def __init__(
        self,
        sweepers: Sequence[TransitionSweeper],
        running: MutableSet[object],
        keeper: ReportKeeper,
        store: Store | None = None,
    ) -> None:
        """`store` is given if the runner listens for wakes by itself; a worker calls `woken`."""
        self._sweepers = sweepers
        self._running = running
        self._keeper = keeper
        self._loops = [SweepLoop(sweeper, keeper) for sweeper in sweepers]
        self._store = store
        self._listening = AsyncExitStack()
        self._is_listening = False

    async def start(self) -> None:
        """Start sweeping at once. Starting a started runner does nothing; if one loop cannot
        start, none runs."""
        for sweeper in self._sweepers:
            sweeper.registration.sessions.refuse_shared_connection()
        self._running.add(self)
        try:
            for loop in self._loops:
                await loop.start()
            await self._listen()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop sweeping; return when the current pass is finished."""
        try:
            await self._listening.aclose()
            self._is_listening = False
            await asyncio.gather(*(loop.stop() for loop in self._loops))
            await self._keeper.flush()
        finally:
            self._running.discard(self)

    def woken(self, lanes: Sequence[str]) -> None:
        """Another process changed rows of these tables, or, without lanes, anything. A wake is a
        hint, which strangers may send, too."""
        for loop in self._loops:
            loop.woken(lanes)

    def retried(self, lanes: Iterable[str]) -> None:
        """Make a pass soon, because rows of these tables are tried again; from any thread."""
        for loop in self._loops:
            loop.retried(lanes)

    async def _listen(self) -> None:
        """Listen for wakes of other processes, if the store sends any. Losing the connection costs
        at most the interval."""
        if self._store is not None and self._store.wakes_others and not self._is_listening:
            await self._listening.enter_async_context(self._store.listen(self._received))
            self._is_listening = True

    def _received(self, wakes: Sequence[Wake]) -> None:
        rows = [wake.lane for wake in wakes if is_row_lane(wake.lane)]
        if rows or not wakes:
            self.woken(rows)

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

    def __init__(self, sweeper: TransitionSweeper, keeper: ReportKeeper) -> None:
        self._sweeper = sweeper
        self._keeper = keeper
        self._loop: asyncio.AbstractEventLoop | None = None
        self._progress = SweepProgress()
        self._task: asyncio.Task[None] | None = None
        self._cleanup = ExitStack()
        self._backoff = Backoff(MAX_BACKOFF_SECONDS)
        self._swept_at = self._sweep_seconds = self._next_at = 0.0
        self._lanes = frozenset(row_lanes(sweeper.registration).values())
        self._hints = HintThrottle()
        # After a start, due rows come before the ledger's cleanup.
        sweeper.postpone_cleanup()

    async def start(self) -> None:
        if self._task is not None:
            return
        self._loop = asyncio.get_running_loop()
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

    def woken(self, lanes: Sequence[str]) -> None:
        """Make a pass soon, if one of the lanes is for our tables, or none is named."""
        if self._task is not None and (not lanes or not self._lanes.isdisjoint(lanes)):
            self._hints.take(self._service.wake)

    def retried(self, lanes: Iterable[str]) -> None:
        """Make a pass soon, because rows of these tables are tried again; from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed() and not self._lanes.isdisjoint(lanes):
            loop.call_soon_threadsafe(self._service.wake)

    async def _run(self) -> None:
        with self._cleanup:
            self._watch_commits()
            self._watch_file()
            self._cleanup.callback(self._hints.stop)
            await self._service.run()

    def _watch_commits(self) -> None:
        registration, loop = self._sweeper.registration, asyncio.get_running_loop()
        wake = self._service.wake

        def call(function: Callable[[], None]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(function)

        def check_later(open_: Callable[[], bool]) -> None:
            for delay in COMMIT_CHECK_DELAYS_SECONDS:
                loop.call_later(delay, lambda: wake() if open_() else None)

        watch = CommitWatch(
            registration.sessions.engine,
            TableChanges({target.table.name for target in registration.targets}),
            lambda _: call(wake),
            lambda open_: call(lambda: check_later(open_)),
        )
        watch.start()
        self._cleanup.callback(watch.stop)
        if isinstance(registration.clock, SettableClock):
            self._cleanup.callback(registration.clock.on_change(lambda: call(wake)))

    def _watch_file(self) -> None:
        """On SQLite, watch the file for commits of other processes."""
        path = self._sweeper.registration.sessions.file_path
        if path is not None:
            watcher = WalWatcher(path, lambda: self.woken(()), in_any_mode=True)
            task = asyncio.create_task(watcher.run())
            self._cleanup.callback(task.cancel)

    async def _step(self) -> float:
        await self._throttle()
        began, report, expected_at = monotonic(), Report(), self._next_at
        self._hints.pass_began()
        await self._sweep(report)
        self._keeper.note(report)
        if self._progress.cursors:
            return 0.0
        if not report.changed and not report.errors:
            await self._sweeper.clean_ledger_if_due()
        # The first pass also builds the statements: its duration says nothing about later passes.
        self._sweep_seconds = monotonic() - began if self._swept_at else 0.0
        self._swept_at = monotonic()
        pause = min(self._until_next_due(), self._until_retry(report))
        self._next_at = self._swept_at + pause
        if not report.changed and self._next_at > expected_at - MIN_GAP_SECONDS:
            self._hints.proved_wrong(self._sweep_seconds)
        if self._progress.unavailable is not None:
            raise self._unavailable(self._progress.unavailable)
        return pause

    async def _sweep(self, report: Report) -> None:
        """Make a pass. StoreUnavailable, for which the service pauses, and which it logs once in a
        while, if the database is not there."""
        try:
            await self._sweeper.sweep(report, self._progress)
        except Exception as error:
            if not isinstance(error, SQLAlchemyError) and not is_unavailable(error):
                raise
            raise self._unavailable(error) from error

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        place = self._sweeper.registration.sessions.place
        return StoreUnavailable(
            f"the database of transitions, {place}, failed: {error_text(error)}"
        )

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
