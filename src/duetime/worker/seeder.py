"""Brings the jobs that code declares into the store, and retires what no code declares."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from functools import partial

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
        declared: DeclaredJobs,
        settings: WorkerSettings,
        new_id: NewId,
        ticking: Callable[[], bool],
    ) -> None:
        self._store = store
        self._declared = declared
        self._app = settings.app
        self._batch = settings.batch
        self._alive = alive_for(settings.sweep)
        self._ticking = ticking
        self._tick = partial(ticked, new_id=new_id, misfire_after=settings.misfire_after)
        self._interval = settings.sweep * SWEEPS_BETWEEN
        self._lost: set[str] = set()
        self.service = Service("seed", self._step)

    async def seed(self) -> None:
        """What is new is inserted, what changed is armed anew, what people did stays."""
        names = self._declared.names()
        for first in range(0, len(names), self._batch):
            some = Named(tuple(names[first : first + self._batch]))
            edited = await self._store.perform(self._store.edit_jobs(some, self._decide))
            for one in edited.changes:
                log.info("job %s %s", one.after.name, "changed" if one.before else "added")

    def _decide(self, found: Found) -> Change | None:
        wanted = self._declared.get(found.name)
        assert wanted is not None
        try:
            return seeded(found, wanted, self._app, self._tick)
        except Exception as error:  # noqa: BLE001 - one bad job never blocks another
            log.error("job %s is not seeded: %s", found.name, error)
            return None

    async def _step(self) -> float:
        if self._declared or self._ticking():
            before, self._lost = self._lost, set()
            which = Orphaned(self._app, self._alive, self._batch)
            edited = await self._store.perform(
                self._store.edit_jobs(which, lambda found: self._retire(found, before))
            )
            for one in edited.changes:
                log.warning(
                    "job %s is retired: no live worker of %s declares it", one.after.name, self._app
                )
        return self._interval

    def _retire(self, found: Found, before: Container[str]) -> Change | None:
        if self._declared.get(found.name) is not None:
            return None
        self._lost.add(found.name)
        return retired(found, self._tick) if found.name in before else None
