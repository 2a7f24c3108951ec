"""Looks at the store: what is due next, and what was lost."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from uuid import UUID

from duetime.errors import InvalidArgument, InvalidPayload, StoreUnavailable
from duetime.events.outbox_store import Telling
from duetime.model.actions.claim import Expired, Presence, Swept
from duetime.model.actions.completion import Completed, Ending, decide_loss
from duetime.model.clock import micros_of
from duetime.store.base import Listener, Store
from duetime.store.flow import Flow
from duetime.worker.claiming.claimer import Claimer
from duetime.worker.leases.heartbeat import BEATS_IN_A_LEASE
from duetime.worker.leases.in_flight import Holdings
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.service import Service
from duetime.worker.settings import (
    WorkerSettings,
)

log = logging.getLogger("duetime.worker")

# Looks that claims ask for take at most about a quarter of the time.
DUTY = 4
# Those at whole lanes a twentieth, where they take long: rows that were done with long ago lie in
# their way for as long as some old transaction might still see them.
WHOLE_DUTY = 20
# A look that led to an empty claim saw rows that somebody's open transaction holds: look
# again, but less and less often.
FIRST_GAP = 0.005
LONGEST_GAP = 1.0
# So many of those that were lost are named in the log.
SHOWN = 3


class Sweeper:
    """Sweeps at fixed intervals for the look-ahead, expired leases, parents whose children were
    forgotten, a sign of life and the clock, and again at once while a whole batch had to be
    rescued: that also finds overdue work whose wake was lost. Between them it looks, a mere read,
    whenever a claim came back short; only at what may be new there, if to look at all takes long.

    A worker that was cut off from the store rescues nothing until one lease after its return:
    others could not renew meanwhile either. What kept its answer waiting may have kept their
    renewals too, so that then they come first.
    """

    def __init__(
        self,
        store: Store,
        telling: Telling,
        time: StoreTime,
        presence: Callable[[], Presence],
        holdings: Holdings,
        claimer: Callable[[], Claimer],
        settings: WorkerSettings,
        lost: Callable[[Ending], Awaitable[None]],
        ended: Callable[[Completed], None],
        swept: Callable[[Swept, bool], None],
    ) -> None:
        """`presence` is what this worker is at the moment: more may be declared while it runs."""
        self._store = store
        self._telling = telling
        self._time = time
        self._presence = presence
        # What the store knows of this worker.
        self._shown: Presence | None = None
        self._holdings = holdings
        self._claimer = claimer
        self._settings = settings
        self._ahead = micros_of(settings.preclaim)
        self._lost = lost
        self._ended = ended
        self._swept = swept
        self.listener: Listener | None = None
        self._wanted = False
        self._asked = False
        self._next_sweep = 0.0
        self._next_look = 0.0
        self._next_whole = 0.0
        # Whether the last look was not at whole lanes, so that one is still to come.
        self._owed = False
        self._gap = 0.0
        self._crowded = False
        self._heard = time.monotonic()
        self._no_rescue_until = 0.0
        self.service = Service("sweep", self._step)

    def look(self, fruitful: bool) -> None:
        """A claim needs to know what is due next; `fruitful` if it took anything at all."""
        self._gap = 0.0 if fruitful else min(max(self._gap * 2, FIRST_GAP), LONGEST_GAP)
        self._next_look = max(self._next_look, self._heard + self._gap)
        self._wanted = True
        self.service.wake()

    def ask(self) -> None:
        """Something changed that nobody named: the look that follows asks for ticks, too."""
        self._asked = True

    def declared(self) -> None:
        """The app knows more than this worker has shown."""
        self._next_sweep = self._time.monotonic()
        self.service.wake()

    def settled(self) -> None:
        """Children were settled. If a sweep told of many parents, there may be more."""
        if self._crowded:
            self._next_sweep = self._time.monotonic()
            self.service.wake()

    async def _step(self) -> float:
        now = self._time.monotonic()
        sweeping = now >= self._next_sweep
        if sweeping:
            await self.sweep()
        elif self._wanted and now >= self._next_look:
            await self._look_for_claims(now)
        elif self._owed and now >= self._next_whole:
            await self._look(self._store.look())
        return self._pause()

    async def _look_for_claims(self, now: float) -> None:
        """At whole lanes if it is their time, or if something changed that nobody named; else only
        past the cursors of lanes that claims have worked off."""
        whole = self._asked or now >= self._next_whole
        since = {} if whole else self._claimer().worked_off()
        if since:
            await self._look(self._store.look_from(since), whole=False)
        else:
            await self._look(self._store.look(self._settings.app if self._asked else None))

    def _pause(self) -> float:
        due = [self._next_sweep]
        due += [self._next_look] if self._wanted else []
        due += [self._next_whole] if self._owed else []
        return max(min(due) - self._time.monotonic(), 0.0)

    async def sweep(self) -> None:
        """Look, rescue, and show that this worker lives."""
        presence = self._presence()
        shown = replace(presence, introduced=presence == self._shown)
        flow = self._store.sweep(shown, self._ahead, self._settings.batch)
        await self._look(flow, showing=presence)

    async def _look(
        self, flow: Flow[Swept], *, showing: Presence | None = None, whole: bool = True
    ) -> None:
        """A sweep, if it is `showing` what this worker is."""
        sweeping = showing is not None
        sent = self._time.monotonic()
        asked, self._wanted, self._asked = self._asked, False, False
        self._claimer().looking()
        swept = await self._perform(flow, sent)
        self._time.heard(swept.now, sent)
        self._plan_next(sent, sweeping, whole)
        self._claimer().looked(swept.lanes, swept.now)
        self._ended(Completed(set(), set(swept.parents)))
        if sweeping or asked:
            self._swept(swept, sweeping)
        if showing is not None:
            self._crowded = len(swept.parents) >= self._settings.batch
            self._introduced(showing, swept.known)
        rescued = await self._rescue(swept.expired)
        if rescued and len(swept.expired) >= self._settings.batch:
            # There may be more than one sweep shows.
            self._next_sweep = self._time.monotonic()

    def _introduced(self, presence: Presence, known: bool) -> None:
        """One that was away for long is forgotten, and one that has changed is not known as it is:
        then it introduces itself again, at once."""
        self._shown = presence if known else None
        if self._presence() != self._shown:
            self._next_sweep = self._time.monotonic()

    async def _perform(self, flow: Flow[Swept], sent: float) -> Swept:
        try:
            swept = await self._store.perform(flow)
        except StoreUnavailable:
            self._wanted = self._asked = True
            # Perhaps it had forgotten this worker, and what it answered to that was lost.
            self._shown = None
            self._rescue_nothing(self._settings.lease)
            raise
        sent_after, self._heard = sent - self._heard, self._time.monotonic()
        if sent_after > self._settings.lease:
            # This process stood still, and so, for all it knows, did the others.
            self._rescue_nothing(self._settings.lease)
        elif self._heard - sent > self._settings.lease / BEATS_IN_A_LEASE:
            self._rescue_nothing(self._settings.lease / BEATS_IN_A_LEASE)
        return swept

    def _rescue_nothing(self, seconds: float) -> None:
        """From now on for so long; a longer wait that was begun before is not cut short."""
        until = self._time.monotonic() + seconds
        self._no_rescue_until = max(until, self._no_rescue_until)

    def _plan_next(self, sent: float, sweeping: bool, whole: bool) -> None:
        now = self._time.monotonic()
        self._next_look = now + min((now - sent) * DUTY, self._settings.preclaim / 2)
        self._owed = not whole
        if whole:
            self._next_whole = now + (now - sent) * WHOLE_DUTY
        if sweeping:
            heard = self.listener is not None and self.listener.alive
            settings = self._settings
            poll = settings.poll if heard else settings.poll_unheard
            self._next_sweep = sent + min(settings.sweep, poll)

    async def _rescue(self, expired: Sequence[Expired]) -> int:
        """How many were lost. What this worker holds itself is not: its next heartbeat renews
        it."""
        now = self._time.monotonic()
        lost = [e for e in expired if not self._holdings.holds(e.id, e.token, now)]
        if not lost or now < self._no_rescue_until:
            return 0
        endings = {e.id: decide_loss(e) for e in lost}
        freed = await self._free(list(endings.values()))
        if freed:
            some = ", ".join(sorted(map(str, freed))[:SHOWN])
            log.warning("leases ran out, of workers that vanished: %d (%s)", len(freed), some)
        for action_id in freed:
            await self._lost(endings[action_id])
        return len(freed)

    async def _free(self, endings: Sequence[Ending]) -> set[UUID]:
        """One that the store refuses must not keep the others from being rescued."""
        try:
            done = await self._store.perform(self._telling.rescue(endings))
            self._ended(done)
            return done.ended
        except (InvalidArgument, InvalidPayload) as error:
            if len(endings) == 1:
                log.error("action %s cannot be rescued: %s", endings[0].id, error)
                return set()
        half = len(endings) // 2
        return await self._free(endings[:half]) | await self._free(endings[half:])
