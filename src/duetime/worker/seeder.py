"""Seeds declared jobs into the store, and retires jobs that no live worker declares."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from functools import partial

from duetime.errors import DuetimeError
from duetime.events.outbox import OutboxStore
from duetime.logs import get_log
from duetime.model.actions.claim import alive_micros
from duetime.model.clock import micros_of
from duetime.model.ids import NewId
from duetime.model.jobs.change import FoundJob, JobChange, JobEdit, JobEditResult
from duetime.model.jobs.edit import MAX_CLOCK_LEAD_MICROS, rearm_job, retire_job, seed_job
from duetime.model.jobs.selectors import (
    ArmedTooFarAhead,
    JobSearch,
    OrphanedJobs,
    Reappeared,
    ToSeed,
)
from duetime.model.jobs.ticks import apply_ticks
from duetime.registry.jobs import DeclaredJobs
from duetime.store.base import Store
from duetime.worker.backoff import MAX_PAUSE_SECONDS, Backoff
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.lost_data import JobEditor
from duetime.worker.refusals import REFUSALS
from duetime.worker.service import UNTIL_WOKEN, Service
from duetime.worker.settings import WorkerSettings

log = get_log("duetime.worker")

# Sweeps between two checks for jobs that no live worker declares.
SWEEPS_PER_CHECK = 6


class Seeder:
    """Seeds when the worker starts and whenever more is declared. Once a minute it checks for jobs
    that no live worker declares, and for jobs that were retired although this worker declares them.
    A job is retired only at its second such check: after an outage no worker was seen for a while,
    and at a cold start the declaring workers may appear a moment later.

    `has_ticks` returns whether any job of the app is armed; without jobs, no check is made.
    """

    def __init__(
        self,
        worker: str,
        store: Store,
        outbox_store: OutboxStore,
        declared: DeclaredJobs,
        clock: StoreClock,
        settings: WorkerSettings,
        new_id: NewId,
        has_ticks: Callable[[], bool],
    ) -> None:
        self._worker = worker
        self._store = store
        self._outbox_store = outbox_store
        self._editor = JobEditor(store, outbox_store)
        self._declared = declared
        self._clock = clock
        self._app = settings.app
        self._batch = settings.batch
        self._alive = alive_micros(settings.sweep)
        self._has_ticks = has_ticks
        self._tick = partial(apply_ticks, new_id=new_id, misfire_after=settings.misfire_after)
        self._interval = settings.sweep * SWEEPS_PER_CHECK
        self._orphan_candidates: set[str] = set()
        self._next_check = 0.0
        self._youngest = True
        self._swept_at = clock.monotonic()
        self._was_away = False
        # The offset of the store's clock to our monotonic clock at the last check.
        self._clock_offset: float | None = None
        self._to_seed: list[str] = []
        # The names declared at the last check.
        self._last_declared: set[str] = set()
        self._refused: set[str] = set()
        self._backoff = Backoff()
        self.service = Service("seed", self._step)

    async def seed(self) -> None:
        """Insert new jobs and re-arm changed ones; edits made by users stay. Locked jobs are
        retried for as long as another worker may need for seeding; jobs that a caller locks for
        longer are seeded once they are unlocked."""
        self._to_seed = self._declared.names()
        self._last_declared = {*self._to_seed}
        await self._seed_pending()
        backoff = Backoff()
        while self._to_seed and (pause := backoff.next_pause()) < MAX_PAUSE_SECONDS:
            await asyncio.sleep(pause)
            await self._seed_pending()

    async def _seed_pending(self) -> None:
        names, busy = self._to_seed, set[str]()
        for first in range(0, len(names), self._batch):
            busy |= await self._seed_batch(names[first : first + self._batch])
        self._to_seed = sorted(busy | ({*self._to_seed} - {*names}))

    async def _seed_batch(self, names: Sequence[str]) -> frozenset[str]:
        """Seed these jobs; return those that are locked. A job that the store refuses must not
        block the others, so a refused batch is halved."""
        which = ToSeed(tuple(names), self._app, self._worker, self._alive)
        try:
            edited = await self._store.perform(self._outbox_store.edit_jobs(which, self._decide))
            _log_changes(edited)
            return edited.locked
        except REFUSALS as error:
            if len(names) == 1:
                log.error("job %s is not seeded: %s", names[0], error)
                return frozenset()
            half = len(names) // 2
            return await self._seed_batch(names[:half]) | await self._seed_batch(names[half:])

    async def _edit(self, which: JobSearch, decide: JobEdit) -> JobEditResult:
        edited = await self._editor.edit(which, decide)
        _log_changes(edited)
        return edited

    def sweep_finished(self, youngest: bool) -> None:
        """Seed what was declared since the last sweep. The youngest worker's declarations win: a
        worker that becomes the youngest, because a younger one is gone, seeds all its jobs again. A
        worker that was not seen for long may find its jobs retired."""
        names = {*self._declared.names()}
        fresh = names if youngest and not self._youngest else names - self._last_declared
        if fresh:
            self._to_seed = sorted({*self._to_seed, *fresh})
            self.service.wake()
        self._last_declared, self._youngest = names, youngest
        now = self._clock.monotonic()
        if micros_of(now - self._swept_at) > self._alive:
            self._was_away = True
            self.service.wake()
        self._swept_at = now

    def _decide(self, found: FoundJob) -> JobChange | None:
        definition = self._declared.get(found.name)
        if definition is None:
            return None
        try:
            change = seed_job(found, definition, self._app, self._tick)
        except Exception as error:  # noqa: BLE001 - one bad job never blocks another
            if found.name not in self._refused:
                log.error("job %s is not seeded: %s", found.name, error)
            self._refused.add(found.name)
            return None
        self._refused.discard(found.name)
        return change

    async def _step(self) -> float:
        now = self._clock.monotonic()
        checking = now >= self._next_check
        if checking:
            # A job that belonged to another app may have been left to this one.
            self._to_seed = sorted({*self._to_seed, *self._refused})
        pause = await self._retry_seeding()
        if checking or self._was_away:
            await self._forget_damaged_workers()
        if self._declared and (checking or self._was_away):
            await self._restore_retired()
        if checking:
            await self._retire_orphans()
            self._next_check = now + self._interval
        return min(self._next_check - now, pause)

    async def _retry_seeding(self) -> float:
        """Seed what is pending; return the seconds until the next attempt."""
        if self._to_seed:
            await self._seed_pending()
        if self._to_seed:
            return self._backoff.next_pause()
        self._backoff.reset()
        return UNTIL_WOKEN

    async def _forget_damaged_workers(self) -> None:
        """Delete the rows of live workers whose list of jobs cannot be read: they may declare any
        job. One that really lives registers again at its next sweep, with its list; until the
        second check after that, no job of it is retired."""
        if not self._uses_jobs():
            return
        workers = await self._store.perform(self._store.damaged_workers(self._app, self._alive))
        for worker in workers:
            log.error(
                "the row of worker %s is damaged, and deleted: its list of jobs cannot be read; if "
                "it lives, it registers again",
                worker,
            )
            await self._store.perform(self._store.unregister(worker))

    def _uses_jobs(self) -> bool:
        return bool(self._declared) or self._has_ticks()

    async def _restore_retired(self) -> None:
        """Seed again the retired jobs that this worker declares."""
        which = Reappeared(self._app, self._worker, self._alive, self._batch)
        while len((await self._edit(which, self._decide)).changes) >= self._batch:
            pass
        self._was_away = False

    async def _retire_orphans(self) -> None:
        if self._uses_jobs():
            before, self._orphan_candidates = self._orphan_candidates, set()
            which = OrphanedJobs(self._app, self._alive, self._batch)
            edited = await self._editor.edit(which, lambda found: self._retire(found, before))
            for change in edited.changes:
                log.warning(
                    "job %s is retired: no live worker of %s declares it",
                    change.after.name,
                    self._app,
                )
            await self._check_clock(edited.now - micros_of(self._clock.monotonic()))

    async def _check_clock(self, offset: float) -> None:
        """Re-arm jobs if the store's clock was set back, and when the worker starts, since that may
        have happened before: jobs armed while the clock was ahead would not tick for that long."""
        if self._clock_offset is None or offset < self._clock_offset - MAX_CLOCK_LEAD_MICROS:
            after: str | None = ""
            while after is not None:
                after = await self._realign(after)
        self._clock_offset = offset

    async def _realign(self, after: str) -> str | None:
        """Re-arm one batch of jobs; return the name after which to continue, or None at the end."""
        seen: list[str] = []

        def decide(found: FoundJob) -> JobChange | None:
            seen.append(found.name)
            try:
                return rearm_job(found)
            except DuetimeError:
                return None  # without a readable rule there is nothing to compare with

        edited = await self._edit(
            ArmedTooFarAhead(self._app, MAX_CLOCK_LEAD_MICROS, after, self._batch), decide
        )
        count = len(seen) + len(edited.unreadable)
        return max([*seen, *edited.unreadable]) if count >= self._batch else None

    def _retire(self, found: FoundJob, before: Container[str]) -> JobChange | None:
        if self._declared.get(found.name) is not None:
            return None
        self._orphan_candidates.add(found.name)
        return retire_job(found, self._tick) if found.name in before else None


def _log_changes(edited: JobEditResult) -> None:
    for change in edited.changes:
        log.info("job %s %s", change.after.name, "changed" if change.before else "added")
        if change.after.exhausted(edited.now):
            log.warning("job %s will never tick: its last tick has passed", change.after.name)
