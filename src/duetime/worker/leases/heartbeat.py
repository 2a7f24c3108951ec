"""Renews the leases of all that is held, apart from the loop that runs handlers."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from duetime.errors import DuetimeError
from duetime.model.actions.claim import Claim, Lease, Renewed
from duetime.model.clock import micros_of, monotonic
from duetime.store.base import Store
from duetime.store.flow import Flow
from duetime.store.outage_log import Outage
from duetime.worker.leases.in_flight import Held, Holdings, lease_of
from duetime.worker.leases.loop_monitor import INTERVAL, LoopGone, LoopWatch
from duetime.worker.leases.store_clock import StoreTime

log = logging.getLogger("duetime.worker")


BEATS_IN_A_LEASE = 3
TRIES_IN_A_LEASE = 5


class Heartbeat(Protocol):
    """Beats between start and stop."""

    def start(self) -> None: ...

    def halt(self) -> None:
        """Beat no more, without waiting for a beat on its way."""
        ...

    async def stop(self) -> None: ...


class Renewal:
    """One beat in two halves, so that a thread or a task may do the asking between them."""

    def __init__(
        self, holdings: Holdings, time: StoreTime, lease: float, renewed: Callable[[], None]
    ) -> None:
        """`renewed` is told of every answer; LoopGone if nobody is there for whom to renew."""
        self._holdings = holdings
        self._time = time
        self.renewed = renewed
        self.lease = lease
        self.outage = Outage(log, "heartbeat")

    def pause(self, *, answered: bool = True) -> float:
        """Until the next beat: a third of the lease, or soon if the last one failed."""
        return self.lease / BEATS_IN_A_LEASE if answered else self.lease / 30

    def due(self) -> tuple[list[Held], float]:
        """What to renew, and the moment it was asked: the new lease counts from there. What
        runs on a lease that may be over is asked to stop; what waits, waits for the answer."""
        now = self._time.monotonic()
        for held in self._holdings:
            if now >= held.lease_ends and held.task is not None:
                held.stop.asked = True
        return self._holdings.renewable(now), now

    def flow(self, store: Store, asked: list[Held]) -> Flow[Renewed]:
        """What is not answered soon is given up: another try must come in time, over another
        connection."""
        renewing = store.renew(leases_of(asked), micros_of(self.lease))
        return replace(renewing, within=max(self.lease / TRIES_IN_A_LEASE, 1.0))

    def heard(self, asked: list[Held], sent: float, renewed: Renewed) -> None:
        self.outage.over()
        for held in asked:
            if held.claim.id in renewed.kept:
                held.lease_ends = sent + self.lease
                self._ask(held, renewed.kept[held.claim.id])
            elif held.claim.id in renewed.lost:
                held.give_up()
        self.renewed()

    def run_by(self, task: asyncio.Task[Any]) -> Claim | None:
        return next((held.claim for held in self._holdings if held.task is task), None)

    def _ask(self, held: Held, by: str | None) -> None:
        if by is not None:
            held.stop.asked, held.stop.by = True, by


def leases_of(asked: list[Held]) -> list[Lease]:
    return [lease_of(held) for held in asked]


class ThreadBeat:
    """Beats in a thread of its own: a handler that blocks the loop keeps its lease. Between two
    beats it looks whether one does."""

    def __init__(self, store: Store, renewal: Renewal) -> None:
        self._store = store
        self._renewal = renewal
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="duetime-heartbeat", daemon=True)

    def start(self) -> None:
        self._watch = LoopWatch(self._renewal.run_by)
        self._thread.start()

    def halt(self) -> None:
        self._stopping.set()

    async def stop(self) -> None:
        self.halt()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        next_beat = monotonic() + self._renewal.pause()
        while not self._stopping.wait(min(max(next_beat - monotonic(), 0.0), INTERVAL)):
            self._try(self._watch.look)
            if monotonic() >= next_beat:
                next_beat = monotonic() + self._renewal.pause(answered=self._try(self.beat))

    def _try(self, step: Callable[[], None]) -> bool:
        try:
            step()
        except LoopGone:
            self.halt()
        except DuetimeError as error:
            self._renewal.outage.failed(error)
            return False
        except Exception:
            log.exception("heartbeat failed and goes on")
        return True

    def beat(self) -> None:
        asked, sent = self._renewal.due()
        if asked:
            flow = self._renewal.flow(self._store, asked)
            self._renewal.heard(asked, sent, self._store.perform_blocking(flow))


class TaskBeat:
    """Beats on the event loop: for virtual time, where there are no threads."""

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
            pause = self._renewal.pause(answered=await self._try())

    async def _try(self) -> bool:
        try:
            await self.beat()
        except DuetimeError as error:
            self._renewal.outage.failed(error)
            return False
        return True

    async def beat(self) -> None:
        asked, sent = self._renewal.due()
        if asked:
            flow = self._renewal.flow(self._store, asked)
            self._renewal.heard(asked, sent, await self._store.perform(flow))
