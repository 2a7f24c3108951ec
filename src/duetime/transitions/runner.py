"""The runner: sweeps on time, from its start until its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from duetime.errors import ConfigError
from duetime.model.clock import SettableClock, monotonic
from duetime.model.transition import Report
from duetime.transitions.commit_watch import Watch
from duetime.transitions.sweeper import Progress, Sweeper
from duetime.worker.backoff import HeldUp
from duetime.worker.service import Service

# However often somebody commits: a look that this asks for comes so long after the last one, and
# as long as that one took, up to a limit.
LEAST_GAP = 0.01
LONGEST_GAP = 0.5
# Rows that others hold, or a database that fails, are looked at again, at last every so many
# seconds.
LONGEST_HELD = 5.0


class Runner:
    """Runs between `async with` and its end; or between `start` and `stop`."""

    def __init__(self, sweepers: Sequence[Sweeper]) -> None:
        self._sweepers = sweepers
        self._loops = [SweepLoop(one) for one in sweepers]

    async def start(self) -> None:
        """The first pass begins at once. Started twice, it runs once; all of it or nothing."""
        for sweeper in self._sweepers:
            sweeper.registration.bind.refuse_shared()
        try:
            for one in self._loops:
                await one.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Returns when the pass that runs has ended."""
        await asyncio.gather(*(one.stop() for one in self._loops))

    async def __aenter__(self) -> Runner:
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
    """Of one registration."""

    def __init__(self, sweeper: Sweeper) -> None:
        self._sweeper = sweeper
        self._progress = Progress()
        self._task: asyncio.Task[None] | None = None
        self._watching = ExitStack()
        self._held = HeldUp(LONGEST_HELD)
        self._looked_at = self._took = self._wanted_at = 0.0
        # What is due comes first, after a start.
        sweeper.tidy_later()

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
        """A declaration that cannot work stops the start; a database that is away does not."""
        try:
            await self._sweeper.prepare()
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - told and tried again by the loop
            self._sweeper.registration.log.warning("transitions: %s", error)

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            self._service.stop()
            await task

    async def _run(self) -> None:
        with self._watching:
            self._watch()
            await self._service.run()

    def _watch(self) -> None:
        swept = self._sweeper.registration
        watch = Watch(swept.bind.engine, {t.table.name for t in swept.targets}, self._service.wake)
        watch.start()
        self._watching.callback(watch.stop)
        if isinstance(swept.clock, SettableClock):
            self._watching.callback(swept.clock.on_change(watch.wake))

    async def _step(self) -> float:
        await self._gap()
        began, report = monotonic(), Report()
        await self._sweeper.sweep(report, self._progress)
        if self._progress.cursors:
            return 0.0
        if not report.changed and not report.errors:
            await self._sweeper.tidy_in_turn()
        # The first pass makes the statements: it says nothing of what another one takes.
        self._took = monotonic() - began if self._looked_at else 0.0
        self._looked_at = monotonic()
        pause = min(self._until_next(), self._until_again(report))
        self._wanted_at = self._looked_at + pause
        return pause

    async def _gap(self) -> None:
        """Woken before its time, by a commit: perhaps one of many."""
        free_at = self._looked_at + min(max(self._took, LEAST_GAP), LONGEST_GAP)
        await asyncio.sleep(max(min(free_at, self._wanted_at) - monotonic(), 0.0))

    def _until_next(self) -> float:
        """Early by no more than the timer of the loop is exact: the database decides."""
        wake_at, interval = self._progress.wake_at, self._sweeper.registration.interval
        return interval if wake_at is None else min(max(wake_at - monotonic(), 0.001), interval)

    def _until_again(self, report: Report) -> float:
        whole = any(one.id is None for one in report.errors)
        if not report.skipped and not whole:
            self._held.over()
            return self._sweeper.registration.interval
        return self._held.again()
