"""Renews the leases of all runs in flight, independently of the loop that runs handlers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from duetime.errors import DuetimeError
from duetime.logs import get_log
from duetime.model.actions.claim import Claim, Fence, RenewResult
from duetime.model.clock import micros_of, monotonic
from duetime.store.base import Store
from duetime.store.flow import Flow
from duetime.store.outage_log import OutageLog
from duetime.worker.leases.in_flight import InFlightRun, RunsInFlight, fence_of
from duetime.worker.leases.loop_monitor import CHECK_INTERVAL_SECONDS, LoopClosed, LoopMonitor
from duetime.worker.leases.store_clock import StoreClock

log = get_log("duetime.worker")


BEATS_PER_LEASE = 3
TRIES_PER_LEASE = 5


class Heartbeat(Protocol):
    """Renews leases between `start` and `stop`."""

    def start(self) -> None: ...

    def halt(self) -> None:
        """Stop renewing, without waiting for a renewal in transit."""
        ...

    async def stop(self) -> None: ...


class Renewal:
    """One heartbeat in two halves; a thread or a task sends the request between them."""

    def __init__(
        self, runs: RunsInFlight, clock: StoreClock, lease: float, renewed: Callable[[], None]
    ) -> None:
        """`renewed` is called after every answer; it raises LoopClosed if the worker's event loop
        is gone."""
        self._runs = runs
        self._clock = clock
        self.renewed = renewed
        self.lease = lease
        self.outage = OutageLog(log, "heartbeat")

    def pause(self, *, answered: bool = True) -> float:
        """Return the seconds until the next heartbeat: a third of the lease, or less if the last
        one failed."""
        return self.lease / BEATS_PER_LEASE if answered else self.lease / 30

    def due(self) -> tuple[list[InFlightRun], float]:
        """Return the runs to renew and the current time, from which their new leases count. Running
        handlers whose lease may have expired are asked to stop; runs that wait for a slot wait for
        the answer."""
        now = self._clock.monotonic()
        for run in self._runs:
            if now >= run.lease_expires and run.task is not None:
                run.stop.ask("lost")
        return self._runs.renewable(now), now

    def flow(self, store: Store, runs: list[InFlightRun]) -> Flow[RenewResult]:
        """Return the renewal with a deadline: an unanswered request is given up early enough to
        retry over another connection before the leases expire."""
        renewing = store.renew(fences_of(runs), micros_of(self.lease))
        return replace(renewing, deadline=max(self.lease / TRIES_PER_LEASE, 1.0))

    def apply(self, runs: list[InFlightRun], sent: float, renewed: RenewResult) -> None:
        """Record the store's answer: new expiry times, requested stops and lost leases."""
        self.outage.recovered()
        for run in runs:
            if run.claim.id in renewed.renewed:
                run.lease_expires = sent + self.lease
                self._request_stop(run, renewed.renewed[run.claim.id])
            elif run.claim.id in renewed.lost:
                run.mark_lost()
        self.renewed()

    def claim_of(self, task: asyncio.Task[Any]) -> Claim | None:
        return next((run.claim for run in self._runs if run.task is task), None)

    def _request_stop(self, run: InFlightRun, by: str | None) -> None:
        if by is not None:
            run.stop.ask("cancelled", by)


def fences_of(runs: list[InFlightRun]) -> list[Fence]:
    return [fence_of(run) for run in runs]


class ThreadHeartbeat:
    """A heartbeat in its own thread, so that a handler that blocks the loop keeps its lease.
    Between heartbeats the thread checks for such handlers."""

    def __init__(self, store: Store, renewal: Renewal) -> None:
        self._store = store
        self._renewal = renewal
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="duetime-heartbeat", daemon=True)

    def start(self) -> None:
        self._loop_monitor = LoopMonitor(self._renewal.claim_of)
        self._thread.start()

    def halt(self) -> None:
        self._stopping.set()

    async def stop(self) -> None:
        self.halt()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        next_beat = monotonic() + self._renewal.pause()
        while not self._stopping.wait(
            min(max(next_beat - monotonic(), 0.0), CHECK_INTERVAL_SECONDS)
        ):
            self._guarded(self._loop_monitor.check)
            if monotonic() >= next_beat:
                next_beat = monotonic() + self._renewal.pause(answered=self._guarded(self.beat))

    def _guarded(self, step: Callable[[], None]) -> bool:
        try:
            step()
        except LoopClosed:
            self.halt()
        except DuetimeError as error:
            self._renewal.outage.failed(error)
            return False
        except Exception:
            log.exception("heartbeat failed and will be retried")
        return True

    def beat(self) -> None:
        runs, sent = self._renewal.due()
        if runs:
            flow = self._renewal.flow(self._store, runs)
            self._renewal.apply(runs, sent, self._store.perform_blocking(flow))


class TaskHeartbeat:
    """A heartbeat on the event loop, for virtual time without threads."""

    def __init__(self, store: Store, renewal: Renewal) -> None:
        self._store = store
        self._renewal = renewal
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def halt(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        self.halt()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause = self._renewal.pause()
        while True:
            await asyncio.sleep(pause)
            pause = self._renewal.pause(answered=await self._guarded())

    async def _guarded(self) -> bool:
        try:
            await self.beat()
        except DuetimeError as error:
            self._renewal.outage.failed(error)
            return False
        return True

    async def beat(self) -> None:
        runs, sent = self._renewal.due()
        if runs:
            flow = self._renewal.flow(self._store, runs)
            self._renewal.apply(runs, sent, await self._store.perform(flow))
