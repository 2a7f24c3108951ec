"""Sweeps the store: look-ahead, expired leases and the worker's heartbeat row."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from duetime.errors import StoreUnavailable
from duetime.events.outbox import OutboxStore
from duetime.logs import get_log
from duetime.model.actions.claim import Expired, Fence, SweepResult, WorkerInfo
from duetime.model.actions.completion import (
    Completion,
    CompletionResult,
    decide_loss,
    fail_lost,
)
from duetime.model.actions.outcome import truncate_error
from duetime.model.clock import micros_of
from duetime.store.base import Listener, Store
from duetime.store.flow import Flow
from duetime.worker.claiming.claimer import Claimer
from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.leases.heartbeat import BEATS_PER_LEASE
from duetime.worker.leases.in_flight import RunsInFlight
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.lost_data import drop_lost_data
from duetime.worker.refusals import REFUSALS
from duetime.worker.service import Service
from duetime.worker.settings import WorkerSettings

log = get_log("duetime.worker")

# Look-aheads that claims request take at most about a quarter of the time: the next one waits this
# many times as long as the last one took.
LOOK_COST_FACTOR = 4
# Full look-aheads take at most about a twentieth, if slow: they scan rows that finished long ago
# for as long as an old transaction may still see them.
FULL_LOOK_COST_FACTOR = 20
# After a look-ahead that led to an empty claim, an open transaction has locked the rows: back off.
FIRST_LOOK_PAUSE_SECONDS = 0.005
MAX_LOOK_PAUSE_SECONDS = 1.0
# Rescued actions named in one log line.
MAX_LOGGED_IDS = 3


class Sweeper:
    """Sweeps at fixed intervals, and again at once while a full batch had to be rescued. A sweep
    reads the look-ahead, expired leases, finished parents with unsettled children and the clock,
    and refreshes the worker's row. It also finds overdue actions whose wake was lost. Between
    sweeps the sweeper performs a look-ahead, which only reads, whenever a claim came back short; if
    full look-aheads are slow, only past the cursors of drained lanes. Each of them also tells which
    queues are paused.

    A worker that was cut off from the store rescues nothing until one lease after its return, since
    other workers could not renew either. After a slow answer it waits too: the same cause may have
    delayed the renewals of others.
    """

    def __init__(
        self,
        store: Store,
        outbox_store: OutboxStore,
        clock: StoreClock,
        worker_info: Callable[[], WorkerInfo],
        runs: RunsInFlight,
        pauses: KnownPauses,
        claimer: Callable[[], Claimer],
        settings: WorkerSettings,
        report_lost: Callable[[Expired, Completion, int], Awaitable[None]],
        completed: Callable[[CompletionResult], None],
        swept: Callable[[SweepResult, bool], None],
        release_paused: Callable[[], None],
    ) -> None:
        """`worker_info` returns the current description of this worker: more may be declared while
        it runs."""
        self._store = store
        self._outbox_store = outbox_store
        self._clock = clock
        self._worker_info = worker_info
        # The description of this worker that the store has.
        self._stored_info: WorkerInfo | None = None
        self._runs = runs
        self._pauses = pauses
        self._claimer = claimer
        self._settings = settings
        self._preclaim_micros = micros_of(settings.preclaim)
        self._report_lost = report_lost
        self._completed = completed
        self._swept = swept
        self._release_paused = release_paused
        self.listener: Listener | None = None
        self._look_requested = self._ticks_requested = False
        # A look-ahead would cost too much before this, and is pointless before the other.
        self._earliest_look = self._next_look = 0.0
        self._next_sweep = self._next_full_look = 0.0
        # Whether the last look-ahead was partial, so that a full one must follow.
        self._full_look_owed = False
        self._look_pause = 0.0
        self._more_parents = False
        self._answered_at = self._awake_at = clock.monotonic()
        self._no_rescue_until = 0.0
        self.service = Service("sweep", self._step)

    def request_look(self, found_any: bool) -> None:
        """A claim needs to know what is due next; `found_any` if it claimed anything."""
        self._look_pause = (
            0.0
            if found_any
            else min(max(self._look_pause * 2, FIRST_LOOK_PAUSE_SECONDS), MAX_LOOK_PAUSE_SECONDS)
        )
        self._next_look = max(self._next_look, self._answered_at + self._look_pause)
        self._look_requested = True
        self.service.wake()

    def anything_changed(self) -> None:
        """An unspecified change happened, perhaps a pause: the next look-ahead also reads when jobs
        tick, and waits no longer than it must."""
        self._ticks_requested = True
        self._next_look = self._earliest_look

    def declarations_changed(self) -> None:
        """The app declared something that is not in the worker's row yet."""
        self._next_sweep = self._clock.monotonic()
        self.service.wake()

    def children_settled(self) -> None:
        """Children were settled; sweep again if the last sweep returned a full batch of parents."""
        if self._more_parents:
            self._next_sweep = self._clock.monotonic()
            self.service.wake()

    async def _step(self) -> float:
        now = self._clock.monotonic()
        self._notice_suspension(now)
        sweeping = now >= self._next_sweep
        self._look_requested |= self._pause_ends_in() <= 0
        if sweeping:
            await self.sweep()
        elif self._look_requested and now >= self._next_look:
            await self._look_for_claims(now)
        elif self._full_look_owed and now >= self._next_full_look:
            await self._look_ahead(self._store.look_ahead())
        return self._pause()

    async def _look_for_claims(self, now: float) -> None:
        """Perform a full look-ahead if it is time for one or an unspecified change happened; else a
        partial one, past the cursors of the lanes that claims have drained."""
        full = self._ticks_requested or now >= self._next_full_look
        since = {} if full else self._claimer().drained_lanes()
        if since:
            await self._look_ahead(self._store.look_ahead_from(since), full=False)
        else:
            await self._look_ahead(
                self._store.look_ahead(self._settings.app if self._ticks_requested else None)
            )

    def _pause(self) -> float:
        now, due = self._clock.monotonic(), [self._next_sweep]
        due += [self._next_look] if self._look_requested else []
        due += [max(now + self._pause_ends_in(), self._next_look)]
        due += [self._next_full_look] if self._full_look_owed else []
        # Awake several times in each lease, or a long sleep would look like a suspension.
        longest = self._settings.lease / BEATS_PER_LEASE
        return min(max(min(due) - now, 0.0), longest)

    def _pause_ends_in(self) -> float:
        """Return the seconds until the pause of a queue may be over: a look-ahead tells."""
        end = self._pauses.next_end
        return math.inf if end is None else self._clock.until(end)

    async def sweep(self) -> None:
        """Look ahead, rescue, and refresh this worker's row."""
        info = self._worker_info()
        shown = replace(info, registered=info == self._stored_info)
        flow = self._store.sweep(shown, self._preclaim_micros, self._settings.batch)
        await self._look_ahead(flow, showing=info)

    async def _look_ahead(
        self, flow: Flow[SweepResult], *, showing: WorkerInfo | None = None, full: bool = True
    ) -> None:
        """Perform a look-ahead and act on its result; a sweep, if `showing` the worker's
        description."""
        sweeping = showing is not None
        sent = self._clock.monotonic()
        with_ticks = self._ticks_requested
        self._look_requested = self._ticks_requested = False
        self._claimer().look_started()
        swept = await self._perform(flow, sent)
        self._clock.observe(swept.now, sent)
        self._plan_next(sent, sweeping, full)
        self._pauses.look_finished(swept.paused, swept.now)
        if self._pauses.queues:
            self._release_paused()
        self._claimer().look_finished(swept.lanes, swept.now, full=full)
        self._completed(CompletionResult(set(), set(swept.parents)))
        if sweeping or with_ticks:
            self._swept(swept, sweeping)
        if showing is not None:
            self._more_parents = len(swept.parents) >= self._settings.batch
            self._check_known(showing, swept.known)
        rescued = await self._rescue(swept.expired)
        if rescued and len(swept.expired) >= self._settings.batch:
            # More may have expired than one sweep returns.
            self._next_sweep = self._clock.monotonic()

    def _check_known(self, info: WorkerInfo, known: bool) -> None:
        """Sweep again at once if the store has forgotten this worker or its description has
        changed."""
        self._stored_info = info if known else None
        if self._worker_info() != self._stored_info:
            self._next_sweep = self._clock.monotonic()

    async def _perform(self, flow: Flow[SweepResult], sent: float) -> SweepResult:
        self._notice_suspension(sent)
        try:
            swept = await self._store.perform(flow)
        except StoreUnavailable:
            self._look_requested = self._ticks_requested = True
            # The lost answer may have said that the store has forgotten this worker.
            self._stored_info = None
            self._suspend_rescue(self._settings.lease)
            raise
        self._answered_at = self._awake_at = self._clock.monotonic()
        if self._answered_at - sent > self._settings.lease / BEATS_PER_LEASE:
            self._suspend_rescue(self._settings.lease / BEATS_PER_LEASE)
        return swept

    def _notice_suspension(self, now: float) -> None:
        """Note that this process was suspended, if it was not awake for a lease: other workers may
        have been suspended with it."""
        if now - self._awake_at > self._settings.lease:
            self._suspend_rescue(self._settings.lease)
        self._awake_at = now

    def _suspend_rescue(self, seconds: float) -> None:
        """Rescue nothing for `seconds`; never shortens a longer suspension."""
        until = self._clock.monotonic() + seconds
        self._no_rescue_until = max(until, self._no_rescue_until)

    def _plan_next(self, sent: float, sweeping: bool, full: bool) -> None:
        now = self._clock.monotonic()
        self._next_look = now + min((now - sent) * LOOK_COST_FACTOR, self._settings.preclaim / 2)
        self._earliest_look = self._next_look
        self._full_look_owed = not full
        if full:
            self._next_full_look = now + (now - sent) * FULL_LOOK_COST_FACTOR
        if sweeping:
            listening = self.listener is not None and self.listener.alive
            settings = self._settings
            poll = settings.poll if listening else settings.poll_unheard
            self._next_sweep = sent + min(settings.sweep, poll)

    async def _rescue(self, expired: Sequence[Expired]) -> int:
        """Rescue expired actions; return how many. Runs of this worker are left out: its next
        heartbeat renews them."""
        now = self._clock.monotonic()
        lost = [e for e in expired if not self._runs.owns(e.id, e.token, now)]
        if not lost or now < self._no_rescue_until:
            return 0
        freed = await self._free({e: decide_loss(e) for e in lost})
        if freed:
            ids = ", ".join(sorted(str(each.id) for each in freed)[:MAX_LOGGED_IDS])
            log.warning("rescued %d actions of workers that vanished (%s)", len(freed), ids)
        by_id = {each.id: each for each in lost}
        for completion in freed:
            await self._report_lost(by_id[completion.id], completion, self._clock.now())
        return len(freed)

    async def _free(self, rescues: Mapping[Expired, Completion]) -> list[Completion]:
        """Store the rescues; return those that took effect. A rescue that the store refuses must
        not block the others, so a refused batch is halved."""
        try:
            return await self._send_rescues(rescues)
        except REFUSALS as error:
            if len(rescues) == 1:
                [expired] = rescues
                return await self._free_damaged(expired, error)
        half = len(rescues) // 2
        parts = (islice(rescues.items(), half), islice(rescues.items(), half, None))
        return [freed for part in parts for freed in await self._free(dict(part))]

    async def _send_rescues(self, rescues: Mapping[Expired, Completion]) -> list[Completion]:
        done = await self._store.perform(self._outbox_store.rescue(rescues))
        self._completed(done)
        return [rescue for rescue in rescues.values() if rescue.id in done.applied]

    async def _free_damaged(self, expired: Expired, error: Exception) -> list[Completion]:
        """Fail an action that cannot be rescued because the store has lost its data."""
        try:
            if await drop_lost_data(self._store, Fence(expired.id, expired.token)):
                reason = f"its lease ran out, and its row is damaged: {error}"
                log.error("action %s failed: %s", expired.id, reason)
                failed = fail_lost(expired, truncate_error(reason))
                return await self._send_rescues({expired: failed})
        except REFUSALS as refused:
            error = refused
        log.error("action %s cannot be rescued: %s", expired.id, error)
        return []
