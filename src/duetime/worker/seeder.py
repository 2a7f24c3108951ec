"""Brings the jobs that code declares into the store, and retires what no code declares."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Sequence
from functools import partial

from duetime.errors import DuetimeError, InvalidArgument
from duetime.events.outbox_store import Telling
from duetime.model.actions.claim import alive_for
from duetime.model.clock import micros_of
from duetime.model.ids import NewId
from duetime.model.jobs.change import Change, Decide, Edited, Found
from duetime.model.jobs.edit import ASTRAY, realigned, retired, seeded
from duetime.model.jobs.selectors import Ahead, Orphaned, Returned, Seeding, Which
from duetime.model.jobs.ticks import ticked
from duetime.registry.jobs import DeclaredJobs
from duetime.store.base import Store
from duetime.worker.backoff import LONGEST, HeldUp
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.service import NO_HURRY, Service
from duetime.worker.settings import (
    WorkerSettings,
)

log = logging.getLogger("duetime.worker")

# A look for jobs that have lost their code comes every so many sweeps.
SWEEPS_BETWEEN = 6


class Seeder:
    """Seeds when the worker starts, and whenever more is declared; once a minute it looks whether
    a job has lost its code, or was retired though this worker declares it. One look is not
    enough to retire: after an outage nobody was seen for a while, and at a cold start those who
    declare it may come a moment later.

    `ticking` tells whether any job of the app is armed: without jobs, nothing is asked.
    """

    def __init__(
        self,
        worker: str,
        store: Store,
        telling: Telling,
        declared: DeclaredJobs,
        time: StoreTime,
        settings: WorkerSettings,
        new_id: NewId,
        ticking: Callable[[], bool],
    ) -> None:
        self._worker = worker
        self._store = store
        self._telling = telling
        self._declared = declared
        self._time = time
        self._app = settings.app
        self._batch = settings.batch
        self._alive = alive_for(settings.sweep)
        self._ticking = ticking
        self._tick = partial(ticked, new_id=new_id, misfire_after=settings.misfire_after)
        self._interval = settings.sweep * SWEEPS_BETWEEN
        self._lost: set[str] = set()
        self._next_look = 0.0
        self._youngest = True
        self._swept_at = time.monotonic()
        self._was_away = False
        # The store's clock, compared with our own, when it was last looked at.
        self._clock: float | None = None
        self._wanted: list[str] = []
        # What was declared when last looked at.
        self._known: set[str] = set()
        self._refused: set[str] = set()
        self._held = HeldUp()
        self.service = Service("seed", self._step)

    async def seed(self) -> None:
        """What is new is inserted, what changed is armed anew, what people did stays. What others
        hold is waited for as long as another worker may need; what a caller holds for longer is
        seeded when they have let it go."""
        self._wanted = self._declared.names()
        self._known = {*self._wanted}
        await self._seed_wanted()
        held = HeldUp()
        while self._wanted and (pause := held.again()) < LONGEST:
            await asyncio.sleep(pause)
            await self._seed_wanted()

    async def _seed_wanted(self) -> None:
        names, busy = self._wanted, set[str]()
        for first in range(0, len(names), self._batch):
            busy |= await self._seed_some(names[first : first + self._batch])
        self._wanted = sorted(busy | ({*self._wanted} - {*names}))

    async def _seed_some(self, names: Sequence[str]) -> frozenset[str]:
        """Which others hold. One that the store refuses must not keep the others from being
        seeded."""
        which = Seeding(tuple(names), self._app, self._worker, self._alive)
        try:
            return (await self._edit(which, self._decide)).busy
        except InvalidArgument as error:
            if len(names) == 1:
                log.error("job %s is not seeded: %s", names[0], error)
                return frozenset()
            half = len(names) // 2
            return await self._seed_some(names[:half]) | await self._seed_some(names[half:])

    async def _edit(self, which: Which, decide: Decide) -> Edited:
        edited = await self._store.perform(self._telling.edit_jobs(which, decide))
        for one in edited.changes:
            log.info("job %s %s", one.after.name, "changed" if one.before else "added")
            if one.after.over(edited.now):
                log.warning("job %s will never tick: its last tick has passed", one.after.name)
        return edited

    def swept(self, youngest: bool) -> None:
        """What was declared since is seeded. The youngest worker's code says how jobs are:
        whoever becomes it, since a younger one is gone, seeds once more. And of one that was not
        seen for long others may have retired the jobs."""
        names = {*self._declared.names()}
        fresh = names if youngest and not self._youngest else names - self._known
        if fresh:
            self._wanted = sorted({*self._wanted, *fresh})
            self.service.wake()
        self._known, self._youngest = names, youngest
        now = self._time.monotonic()
        if micros_of(now - self._swept_at) > self._alive:
            self._was_away = True
            self.service.wake()
        self._swept_at = now

    def _decide(self, found: Found) -> Change | None:
        wanted = self._declared.get(found.name)
        if wanted is None:
            return None
        try:
            change = seeded(found, wanted, self._app, self._tick)
        except Exception as error:  # noqa: BLE001 - one bad job never blocks another
            if found.name not in self._refused:
                log.error("job %s is not seeded: %s", found.name, error)
            self._refused.add(found.name)
            return None
        self._refused.discard(found.name)
        return change

    async def _step(self) -> float:
        now = self._time.monotonic()
        looking = now >= self._next_look
        if looking:
            # What another app has may be left to this one meanwhile.
            self._wanted = sorted({*self._wanted, *self._refused})
        pause = await self._seed_again()
        if self._declared and (looking or self._was_away):
            await self._bring_back()
        if looking:
            await self._look()
            self._next_look = now + self._interval
        return min(self._next_look - now, pause)

    async def _seed_again(self) -> float:
        """In how many seconds it is to be tried once more."""
        if self._wanted:
            await self._seed_wanted()
        if self._wanted:
            return self._held.again()
        self._held.over()
        return NO_HURRY

    async def _bring_back(self) -> None:
        """What was retired, though it is declared here."""
        which = Returned(self._app, self._worker, self._alive, self._batch)
        while len((await self._edit(which, self._decide)).changes) >= self._batch:
            pass
        self._was_away = False

    async def _look(self) -> None:
        if self._declared or self._ticking():
            before, self._lost = self._lost, set()
            which = Orphaned(self._app, self._alive, self._batch)
            edited = await self._store.perform(
                self._telling.edit_jobs(which, lambda found: self._retire(found, before))
            )
            for one in edited.changes:
                log.warning(
                    "job %s is retired: no live worker of %s declares it", one.after.name, self._app
                )
            await self._check_clock(edited.now - micros_of(self._time.monotonic()))

    async def _check_clock(self, clock: float) -> None:
        """When the store's clock was set back, and when we start, for it may have been before:
        what was armed while it was ahead would not come for as long."""
        if self._clock is None or clock < self._clock - ASTRAY:
            after: str | None = ""
            while after is not None:
                after = await self._realign(after)
        self._clock = clock

    async def _realign(self, after: str) -> str | None:
        """Some jobs; after which name to go on."""
        seen: list[str] = []

        def decide(found: Found) -> Change | None:
            seen.append(found.name)
            try:
                return realigned(found)
            except DuetimeError:
                return None  # by a rule that cannot be read nothing is right or wrong

        edited = await self._edit(Ahead(self._app, ASTRAY, after, self._batch), decide)
        most = len(seen) + len(edited.unread)
        return max([*seen, *edited.unread]) if most >= self._batch else None

    def _retire(self, found: Found, before: Container[str]) -> Change | None:
        if self._declared.get(found.name) is not None:
            return None
        self._lost.add(found.name)
        return retired(found, self._tick) if found.name in before else None
