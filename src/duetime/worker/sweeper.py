"""Sweeps the store: look-ahead, expired leases and the worker's heartbeat row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from uuid import UUID

from duetime.errors import InvalidArgument, InvalidPayload, StoreUnavailable, UnreadableRow
from duetime.events.outbox import OutboxStore
from duetime.logs import get_log
from duetime.model.actions.claim import Expired, SweepResult, WorkerInfo
from duetime.model.actions.completion import Completion, CompletionResult, decide_loss
from duetime.model.clock import micros_of
from duetime.store.base import Listener, Store
from duetime.store.flow import Flow
from duetime.worker.claiming.claimer import Claimer
from duetime.worker.leases.heartbeat import BEATS_PER_LEASE
from duetime.worker.leases.in_flight import RunsInFlight
from duetime.worker.leases.store_clock import StoreClock
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
    full look-aheads are slow, only past the cursors of drained lanes.

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
        claimer: Callable[[], Claimer],
        settings: WorkerSettings,
        report_lost: Callable[[Completion], Awaitable[None]],
        completed: Callable[[CompletionResult], None],
        swept: Callable[[SweepResult, bool], None],
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
        self._claimer = claimer
        self._settings = settings
        self._preclaim_micros = micros_of(settings.preclaim)
        self._report_lost = report_lost
        self._completed = completed
        self._swept = swept
        self.listener: Listener | None = None
        self._look_requested = False
        self._ticks_requested = False
        self._next_sweep = 0.0
        self._next_look = 0.0
        self._next_full_look = 0.0
        # Whether the last look-ahead was partial, so that a full one must follow.
        self._full_look_owed = False
        self._look_pause = 0.0
        self._more_parents = False
        self._answered_at = clock.monotonic()
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

    def request_ticks(self) -> None:
        """An unspecified change happened: the next look-ahead also reads when jobs tick."""
        self._ticks_requested = True

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
        sweeping = now >= self._next_sweep
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
        due = [self._next_sweep]
        due += [self._next_look] if self._look_requested else []
        due += [self._next_full_look] if self._full_look_owed else []
        return max(min(due) - self._clock.monotonic(), 0.0)

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
        try:
            swept = await self._store.perform(flow)
        except StoreUnavailable:
            self._look_requested = self._ticks_requested = True
            # The lost answer may have said that the store has forgotten this worker.
            self._stored_info = None
            self._suspend_rescue(self._settings.lease)
            raise
        sent_after, self._answered_at = sent - self._answered_at, self._clock.monotonic()
        if sent_after > self._settings.lease:
            # This process was suspended, and other workers may have been too.
            self._suspend_rescue(self._settings.lease)
        elif self._answered_at - sent > self._settings.lease / BEATS_PER_LEASE:
            self._suspend_rescue(self._settings.lease / BEATS_PER_LEASE)
        return swept

    def _suspend_rescue(self, seconds: float) -> None:
        """Rescue nothing for `seconds`; never shortens a longer suspension."""
        until = self._clock.monotonic() + seconds
        self._no_rescue_until = max(until, self._no_rescue_until)

    def _plan_next(self, sent: float, sweeping: bool, full: bool) -> None:
        now = self._clock.monotonic()
        self._next_look = now + min((now - sent) * LOOK_COST_FACTOR, self._settings.preclaim / 2)
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
        completions = {e.id: decide_loss(e) for e in lost}
        freed = await self._free(list(completions.values()))
        if freed:
            ids = ", ".join(sorted(map(str, freed))[:MAX_LOGGED_IDS])
            log.warning("rescued %d actions of workers that vanished (%s)", len(freed), ids)
        for action_id in freed:
            await self._report_lost(completions[action_id])
        return len(freed)

    async def _free(self, completions: Sequence[Completion]) -> set[UUID]:
        """Store the rescues. A rescue that the store refuses must not block the others, so a
        refused batch is halved."""
        try:
            done = await self._store.perform(self._outbox_store.rescue(completions))
            self._completed(done)
            return done.applied
        except (InvalidArgument, InvalidPayload, UnreadableRow) as error:
            if len(completions) == 1:
                log.error("action %s cannot be rescued: %s", completions[0].id, error)
                return set()
        half = len(completions) // 2
        return await self._free(completions[:half]) | await self._free(completions[half:])
