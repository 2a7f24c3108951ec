"""Turns ticks into actions, when their time has come."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from duetime.errors import StoreUnavailable
from duetime.events.outbox_store import Telling
from duetime.model.clock import micros_of
from duetime.model.ids import NewId
from duetime.model.jobs.change import Change, Changed, Edited, Found
from duetime.model.jobs.job import JobRecord
from duetime.model.jobs.selectors import Due
from duetime.model.jobs.ticks import ticked
from duetime.model.lane import job_lane
from duetime.store.base import Store
from duetime.store.flow import Wake
from duetime.worker.backoff import HeldUp
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.service import NO_HURRY, Service
from duetime.worker.settings import (
    WorkerSettings,
)

log = logging.getLogger("duetime.worker")


class Ticker:
    """Knows when the next tick of its app comes: from sweeps, from wakes, from its own edits.

    Every worker does this; the jobs' locks and the table of ticks make each tick one action.
    What cannot be decided here, since a zone is unknown or another version wrote it, is asked for
    once a sweep: it must not stand before the others for ever.

    Where a batch was full, the next is looked for beside it: the store has its work to do with
    the one while we decide about the other.
    """

    def __init__(
        self,
        store: Store,
        telling: Telling,
        time: StoreTime,
        settings: WorkerSettings,
        new_id: NewId,
        ticked: Callable[[Sequence[Changed]], None],
    ) -> None:
        """`ticked` is told what became of the jobs whose tick had come."""
        self._store = store
        self._telling = telling
        self._time = time
        self._app = settings.app
        self._lane = job_lane(settings.app)
        self._most = self._batch = settings.batch
        self._held = HeldUp()
        self._misfire_after = settings.misfire_after
        self._new_id = new_id
        self._ticked = ticked
        self.next_tick: int | None = None
        # How many looks are under way, and whether the last left anything that is due.
        self._looks = 0
        self._more = False
        self._heard: list[int] = []
        # Since when, by the store's clock, something due was not to be had.
        self._held_since: int | None = None
        self._told: set[str] = set()
        self._left: set[str] = set()
        self.service = Service("tick", self._step)
        self.beside = Service("tick beside another", self._step_beside)

    @property
    def ticking(self) -> bool:
        return self.next_tick is not None

    def swept(self, next_tick: int | None, *, anew: bool) -> None:
        """What was heard since the last look may be newer than this answer. `anew`, all jobs are
        asked for again."""
        if anew:
            self._left.clear()
        known = [tick for tick in (next_tick, *self._heard) if tick is not None]
        self.next_tick = min(known, default=None)
        self.service.wake()

    def woken(self, wakes: Sequence[Wake]) -> list[Wake]:
        """Jobs of the app are due anew; returns the wakes that mean something else."""
        due = [wake.due_at for wake in wakes if wake.lane == self._lane]
        if due:
            self._heard += due
            self.next_tick = min([*due, *([] if self.next_tick is None else [self.next_tick])])
            self.service.wake()
        return [wake for wake in wakes if wake.lane != self._lane]

    async def tick(self) -> int:
        """Deal with the ticks that have come, up to a batch; how many jobs had any."""
        if not self._looks:
            self._heard = []
        left = len(self._left)
        due = Due(self._app, self._batch, frozenset(self._left))
        sent = self._time.monotonic()
        edited = await self._look(due)
        self._more = _is_late(edited) and len(edited.changes) == due.limit
        if self._more:
            self.beside.wake()
        self._time.heard(edited.now, sent)
        known = [tick for tick in (edited.next_tick, *self._heard) if tick is not None]
        self.next_tick = min(known, default=None)
        self._left |= edited.unread
        self._hold(edited)
        self._ticked(edited.changes)
        return len(edited.changes) + len(self._left) - left

    async def _look(self, due: Due) -> Edited:
        self._looks += 1
        try:
            edited = await self._store.perform(self._telling.edit_jobs(due, self._decide))
        except StoreUnavailable:
            # Perhaps it was too much for one transaction: after a long downtime it may be.
            self._batch = max(self._batch // 2, 1)
            # For as long as nothing is known, nobody held anything.
            self._held_since, self._more = None, False
            raise
        finally:
            self._looks -= 1
        self._batch = min(self._batch * 2, self._most)
        return edited

    async def _step(self) -> float:
        least = 0.0
        if self.next_tick is not None and self._time.until(self.next_tick) <= 0:
            least = self._held_up(await self.tick())
        if self.next_tick is None:
            return NO_HURRY
        return max(self._time.until(self.next_tick), least)

    async def _step_beside(self) -> float:
        if self._more:
            await self.tick()
        return 0.0 if self._more else NO_HURRY

    def _hold(self, edited: Edited) -> None:
        """What is still due after a look that found no more than it could take, others hold,
        unless we do."""
        if not _is_late(edited):
            self._held_since = None
        elif self._held_since is None and not self._looks and len(edited.changes) < self._batch:
            self._held_since = edited.now

    def _was_held(self, job: JobRecord | None) -> bool:
        """Whether it was not to be had when its tick was not yet a misfire."""
        if self._held_since is None or job is None or job.next_due_at is None:
            return False
        return self._held_since <= job.next_due_at + micros_of(self._misfire_after)

    def _held_up(self, ticked: int) -> float:
        """By others, who hold what is due."""
        if not ticked:
            return self._held.again()
        self._held.over()
        return 0.0

    def _decide(self, found: Found) -> Change | None:
        try:
            held = self._was_held(found.job)
            return ticked(found, self._new_id, self._misfire_after, held=held)
        except Exception as error:  # noqa: BLE001 - one bad job never blocks another
            # Another worker may know better: a newer one, or one that has the time zone.
            if found.name not in self._told:
                log.error("job %s cannot tick here: %s", found.name, error)
            self._told.add(found.name)
            self._left.add(found.name)
            return None


def _is_late(edited: Edited) -> bool:
    return edited.next_tick is not None and edited.next_tick <= edited.now
