"""Brings the jobs that code declares into the store, and retires what no code declares."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Sequence
from functools import partial

from duetime.errors import InvalidArgument
from duetime.model.claim import alive_for
from duetime.model.ids import NewId
from duetime.model.job import Change, Found
from duetime.model.job_edit import retired, seeded
from duetime.model.job_filter import Named, Orphaned
from duetime.model.tick import ticked
from duetime.store.base import Store
from duetime.worker.declared import DeclaredJobs
from duetime.worker.parts import WorkerSettings
from duetime.worker.service import Service
from duetime.worker.storetime import StoreTime
from duetime.worker.telling import Telling

log = logging.getLogger("duetime.worker")

# A look for jobs that have lost their code comes every so many sweeps.
SWEEPS_BETWEEN = 6


class Seeder:
    """Seeds when the worker starts; once a minute it looks whether a job has lost its code. One
    look is not enough: after an outage nobody was seen for a while, and at a cold start those who
    declare it may come a moment later.

    `ticking` tells whether any job of the app is armed: without jobs, nothing is asked.
    """

    def __init__(
        self,
        store: Store,
        telling: Telling,
        declared: DeclaredJobs,
        time: StoreTime,
        settings: WorkerSettings,
        new_id: NewId,
        ticking: Callable[[], bool],
    ) -> None:
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
        self._seeded = True
        self.service = Service("seed", self._step)

    async def seed(self) -> None:
        """What is new is inserted, what changed is armed anew, what people did stays."""
        names = self._declared.names()
        for first in range(0, len(names), self._batch):
            await self._seed_some(names[first : first + self._batch])
        self._seeded = True

    async def _seed_some(self, names: Sequence[str]) -> None:
        """One that the store refuses must not keep the others from being seeded."""
        edit = self._telling.edit_jobs(Named(tuple(names)), self._decide)
        try:
            edited = await self._store.perform(edit)
        except InvalidArgument as error:
            if len(names) == 1:
                log.error("job %s is not seeded: %s", names[0], error)
                return
            half = len(names) // 2
            await self._seed_some(names[:half])
            await self._seed_some(names[half:])
            return
        for one in edited.changes:
            log.info("job %s %s", one.after.name, "changed" if one.before else "added")

    def swept(self, youngest: bool) -> None:
        """The youngest worker's code says how jobs are: whoever becomes it, since a younger one
        is gone, seeds once more."""
        if youngest and not self._youngest and self._declared:
            self._seeded = False
            self.service.wake()
        self._youngest = youngest

    def _decide(self, found: Found) -> Change | None:
        wanted = self._declared.get(found.name)
        assert wanted is not None
        try:
            return seeded(found, wanted, self._app, self._tick)
        except Exception as error:  # noqa: BLE001 - one bad job never blocks another
            log.error("job %s is not seeded: %s", found.name, error)
            return None

    async def _step(self) -> float:
        if not self._seeded:
            await self.seed()
        now = self._time.monotonic()
        if now >= self._next_look:
            await self._look()
            self._next_look = now + self._interval
        return self._next_look - now

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

    def _retire(self, found: Found, before: Container[str]) -> Change | None:
        if self._declared.get(found.name) is not None:
            return None
        self._lost.add(found.name)
        return retired(found, self._tick) if found.name in before else None
