"""Starts claimed actions: when due, when a slot is free, while the lease is valid, and unless their
queue is paused."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.claiming.precise_timer import PreciseTimer
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import InFlightRun, RunsInFlight
from duetime.worker.leases.store_clock import StoreClock

# Timers may fire early or late: check again at least this often.
MAX_TIMER_SECONDS = 60.0


class Launcher:
    """Keeps pre-claimed actions and starts each at its due time.

    Usable between `open` and `close`.
    """

    def __init__(
        self,
        clock: StoreClock,
        timer: Callable[[Callable[[], None]], PreciseTimer],
        runs: RunsInFlight,
        pauses: KnownPauses,
        run: Callable[[InFlightRun], Coroutine[Any, Any, None]],
        slot_freed: Callable[[], None],
        prefetch: Callable[[Pool], int],
        release: Callable[[InFlightRun], None],
    ) -> None:
        self._clock = clock
        self._make_timer = timer
        self._runs = runs
        self._pauses = pauses
        self._run = run
        self._slot_freed = slot_freed
        self._prefetch = prefetch
        self._release = release
        self._early: list[tuple[int, int, InFlightRun]] = []
        self._lease_unsure: list[InFlightRun] = []
        self._order = itertools.count()

    def open(self) -> None:
        self._timer = self._make_timer(self.launch_due)

    def close(self, pools: Sequence[Pool]) -> None:
        """Start nothing more."""
        self.take_unstarted(pools)
        self._timer.close()

    def accept(self, pool: Pool, claimed: Sequence[InFlightRun]) -> None:
        """Start fresh claims of one pool, each as soon as it is due."""
        now, some_paused = self._clock.now(), bool(self._pauses.queues)
        for run in claimed:
            if some_paused and self._is_held(run):
                self._release(run)
            elif run.claim.due_at <= now:
                pool.ready.append(run)
            else:
                pool.early += 1
                heapq.heappush(self._early, (run.claim.due_at, next(self._order), run))
        self._fill_slots(pool)
        self._arm()
        # A run whose lease was unsure may be among these claims, and therefore lost.
        self._retry_unsure()

    def release_early(self, pool: Pool, count: int) -> None:
        """Release `count` pre-claims of a pool, latest due time first."""
        ours = sorted(entry for entry in self._early if entry[2].pool is pool)[-count:]
        self._early = [entry for entry in self._early if entry not in ours]
        heapq.heapify(self._early)
        pool.early -= len(ours)
        for _, _, run in ours:
            self._release(run)
        self._arm()

    def launch_due(self) -> None:
        """Move due actions from waiting to running; called by the timer, or when a test moves its
        clock."""
        now = self._clock.now()
        while self._early and self._early[0][0] <= now:
            run = heapq.heappop(self._early)[2]
            run.pool.early -= 1
            self._make_ready(run)
            # A newer claim may have taken its slot.
            self.release_waiting(run.pool, self._prefetch(run.pool))
        self._arm()

    def leases_renewed(self) -> None:
        """Handle the store's answer to a renewal: unsure runs start or are dropped. While long runs
        occupy all slots, this is also what makes the claimer check waiting runs again."""
        self._retry_unsure()
        self._slot_freed()

    def release_waiting(self, pool: Pool, max_waiting: int) -> None:
        """Release all but `max_waiting` of the runs that wait for a slot, newest first: another
        worker may have a free slot, or something more urgent needs theirs."""
        while len(pool.ready) > max_waiting:
            self._release(pool.ready.pop())

    def release_paused(self, pools: Sequence[Pool]) -> None:
        """Release all runs of paused queues that have not started; those that run go on."""
        held = [entry for entry in self._early if self._is_held(entry[2])]
        self._early = [entry for entry in self._early if not self._is_held(entry[2])]
        heapq.heapify(self._early)
        unsure = [run for run in self._lease_unsure if self._is_held(run)]
        self._lease_unsure = [run for run in self._lease_unsure if not self._is_held(run)]
        ready = [run for pool in pools for run in pool.ready if self._is_held(run)]
        for _, _, run in held:
            run.pool.early -= 1
        for run in unsure:
            run.pool.lease_unsure -= 1
        for run in ready:
            run.pool.ready.remove(run)
        for run in (*(entry[2] for entry in held), *unsure, *ready):
            self._release(run)

    def _is_held(self, run: InFlightRun) -> bool:
        return self._pauses.hold(run.claim.lane)

    def _retry_unsure(self) -> None:
        unsure, self._lease_unsure = self._lease_unsure, []
        for run in unsure:
            run.pool.lease_unsure -= 1
            self._make_ready(run)

    def run_finished(self, run: InFlightRun) -> None:
        """Give the slot of a finished handler to the next run."""
        run.pool.run_finished()
        if run.pool.ready:
            self._fill_slots(run.pool)
        self._slot_freed()

    def take_unstarted(self, pools: Sequence[Pool]) -> list[InFlightRun]:
        """Remove and return all runs that were claimed but not started."""
        waiting = [run for _, _, run in self._early] + self._lease_unsure
        self._early.clear()
        self._lease_unsure.clear()
        for pool in pools:
            waiting += pool.ready
            pool.ready.clear()
            pool.early = pool.lease_unsure = 0
        return waiting

    def _make_ready(self, run: InFlightRun) -> None:
        run.pool.ready.append(run)
        self._fill_slots(run.pool)

    def _fill_slots(self, pool: Pool) -> None:
        now = self._clock.monotonic()
        while pool.ready and pool.running < pool.slots:
            run = pool.ready.popleft()
            if self._pauses.queues and self._is_held(run):
                self._release(run)
                self._slot_freed()
            elif now < run.lease_expires and not run.lost:
                self._start(run)
            else:
                self._defer(run)

    def _defer(self, run: InFlightRun) -> None:
        """Drop a run that was lost. A run whose lease may have expired must not start until a
        renewal confirms that no other worker claimed it."""
        if run.lost:
            self._runs.drop(run)
        else:
            self._lease_unsure.append(run)
            run.pool.lease_unsure += 1
        self._slot_freed()

    def _start(self, run: InFlightRun) -> None:
        run.pool.run_started()
        # Each run gets a fresh context, so that context variables do not leak into the next run.
        run.task = asyncio.get_running_loop().create_task(
            self._run(run), context=contextvars.Context()
        )

    def _arm(self) -> None:
        """Set the timer for the next pre-claim. With none, the timer may fire once for nothing."""
        if self._early:
            self._timer.set(min(max(self._clock.until(self._early[0][0]), 0.0), MAX_TIMER_SECONDS))
