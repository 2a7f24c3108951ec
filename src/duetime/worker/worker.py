"""The worker: assembles its services, starts them, and stops them in order."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType

from duetime.errors import ConfigError, DuetimeError, LeaseLost
from duetime.model.actions.claim import Presence, Swept, alive_for
from duetime.model.actions.completion import Completed, Ending
from duetime.model.actions.outcome import Released, decide
from duetime.model.actions.retry import Retry
from duetime.model.clock import SettableClock, micros_of
from duetime.model.jobs.change import Changed, JobEnd
from duetime.registry.runtime import (
    Companion,
    Parts,
)
from duetime.store.flow import Wake
from duetime.store.outage_log import Outage
from duetime.worker.backoff import FIRST
from duetime.worker.child_settler import Chainer
from duetime.worker.claiming.claimer import Claimer
from duetime.worker.claiming.launcher import Starter
from duetime.worker.claiming.slots import pools_of
from duetime.worker.completer import Completer
from duetime.worker.leases.heartbeat import Renewal, leases_of
from duetime.worker.leases.in_flight import Held, Holdings
from duetime.worker.leases.loop_monitor import LoopGone
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.ports import Ports
from duetime.worker.pruner import Pruner
from duetime.worker.reporter import Reporter
from duetime.worker.running.runner import Runner
from duetime.worker.running.threads import Threads
from duetime.worker.running.transactional import Recorded
from duetime.worker.seeder import Seeder
from duetime.worker.service import Service
from duetime.worker.settings import (
    WorkerSettings,
)
from duetime.worker.sweeper import Sweeper
from duetime.worker.ticker import Ticker

log = logging.getLogger("duetime.worker")

# A sync handler that outlives the grace keeps its lease this long, then others may run it.
PARTING_LEASE = 5.0


class Worker:
    """Claims, runs and records between `async with` and its end."""

    def __init__(
        self,
        parts: Parts,
        settings: WorkerSettings,
        ports: Ports | None = None,
        companions: Sequence[Companion] = (),
    ) -> None:
        ports = ports or Ports()
        self.id = ports.name()
        self._parts = parts
        self._store = parts.store
        self._settings = settings
        self._pools = pools_of(settings.concurrency, settings.queues)
        self._time = StoreTime(parts.clock, ports.monotonic)
        self._holdings = Holdings()
        self._threads = Threads()
        self._assemble_running(ports)
        self._assemble_claiming(ports)
        self._heartbeat = ports.heartbeat(
            self._store, Renewal(self._holdings, self._time, settings.lease, self._renewed)
        )
        self._companions = companions
        self._stack = AsyncExitStack()
        self._tasks: dict[Service, asyncio.Task[None]] = {}

    # Each part is told the others' verbs that it may call.

    def _assemble_running(self, ports: Ports) -> None:
        """From a claim to its record."""
        parts, settings, time, held = self._parts, self._settings, self._time, self._holdings
        self._reporter = Reporter(parts)
        self._chainer = Chainer(
            self._store,
            self._parts.telling,
            self._reporter.settled,
            lambda: self._sweeper.settled(),
        )
        self._completer = Completer(
            self._store,
            held,
            settings.batch,
            self._parts.telling,
            self._reporter.recorded,
            lambda: self._claimer.slot_freed(),
            self._done,
        )
        runner = Runner(
            parts,
            settings,
            self._threads,
            time,
            dice=ports.dice,
            ended=self._ended,
            recorded=self._recorded,
        )
        self._starter = Starter(
            time,
            ports.alarm,
            held,
            runner.run,
            lambda: self._claimer.slot_freed(),
            lambda pool: pool.ahead(settings.preclaim, settings.batch),
            self._release,
        )

    def _assemble_claiming(self, ports: Ports) -> None:
        """What finds the work."""
        store, settings, time, held = self._store, self._settings, self._time, self._holdings
        self._sweeper = Sweeper(
            store,
            self._parts.telling,
            time,
            self._presence,
            held,
            lambda: self._claimer,
            settings,
            self._reporter.lost,
            self._done,
            self._swept,
        )
        self._claimer = Claimer(
            self.id,
            store,
            time,
            self._pools,
            held,
            settings,
            start=self._starter.take,
            spare=self._starter.spare,
            give_back=self._starter.give_back,
            runs=self._parts.handlers.runs,
            look=self._sweeper.look,
            busy=lambda: len(self._completer) >= 4 * settings.batch,
            caught_up=self._reporter.caught_up,
        )
        self._pruner = Pruner(store, settings)
        self._ticker = Ticker(store, self._parts.telling, time, settings, ports.ids, self._ticked)
        self._seeder = Seeder(
            self.id,
            store,
            self._parts.telling,
            self._parts.jobs,
            time,
            settings,
            ports.ids,
            lambda: self._ticker.ticking,
        )

    def _presence(self) -> Presence:
        queues = self._settings.queues
        return Presence(
            id=self.id,
            app=self._settings.app,
            host=socket.gethostname(),
            pid=os.getpid(),
            kinds=self._parts.handlers.kinds(),
            queues=[] if queues is None else list(queues),
            concurrency=self._settings.concurrency,
            jobs=self._parts.jobs.names(),
            alive=alive_for(self._settings.sweep),
        )

    def _renewed(self) -> None:
        """Called by the heartbeat's thread; the starter belongs to the loop."""
        if self._loop.is_closed():
            raise LoopGone
        self._loop.call_soon_threadsafe(self._starter.renewed)

    def _ended(self, held: Held, ending: Ending) -> None:
        # The limit is for handlers that run on and on; an ending is renewed until it is stored.
        held.renew_until = None
        held.task = None
        self._completer.add(held, ending)
        self._starter.ended(held)

    def _done(self, done: Completed) -> None:
        """What ended may have children, and be an occurrence of a job."""
        self._chainer.ended(done.parents)
        self._reporter.jobs_ended([*done.jobs, *done.retold])

    def _swept(self, swept: Swept, sweeping: bool) -> None:
        self._ticker.swept(swept.next_tick, anew=sweeping)
        if sweeping:
            self._seeder.swept(swept.youngest)

    def _ticked(self, changes: Sequence[Changed]) -> None:
        """What is queued up waits for another, which may have ended meanwhile."""
        made = [new.action.after for one in changes for new in one.occurrences]
        self._chainer.ended([one for one in made if one is not None])
        self._reporter.jobs_ended([JobEnd(c.before, c.after) for c in changes if c.before])

    def _woken(self, wakes: Sequence[Wake]) -> None:
        """Without particulars, it may be anything."""
        others = self._ticker.woken(wakes)
        if not wakes:
            self._sweeper.ask()
        if others or not wakes:
            self._claimer.woken(others)

    def _recorded(self, held: Held, run: Recorded) -> None:
        """Its end was committed with what it did; or it was too late, and nothing was."""
        held.task = None
        self._holdings.drop(held)
        if run.accepted:
            self._reporter.recorded(held, run.ending)
            self._done(run.done)
        else:
            log.warning("%s", LeaseLost(held.claim.id))
        self._starter.ended(held)

    # -- starting --------------------------------------------------------------------

    async def __aenter__(self) -> Worker:
        """Look at the store before anything runs: what is wrong with it is told here."""
        if self._tasks:
            raise ConfigError("this worker was started before; app.worker() makes a new one")
        self._loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            self._sweeper.listener = await stack.enter_async_context(
                self._store.listen(self._woken)
            )
            if isinstance(self._parts.clock, SettableClock):
                stack.callback(self._parts.clock.on_change(self._soon(self._clock_moved)))
            stack.callback(self._parts.declarations.listen(self._soon(self._sweeper.declared)))
            await self._sweeper.sweep()
            await self._seeder.seed()
            for companion in self._companions:
                await companion.start()
                stack.push_async_callback(companion.stop)
            self._starter.open()
            stack.callback(self._starter.close, self._pools)
            self._heartbeat.start()
            self._stack = stack.pop_all()
        parts = (self._sweeper, self._claimer, self._completer, self._pruner, self._chainer)
        services = [part.service for part in (*parts, self._ticker, self._seeder)]
        services += [self._completer.beside, self._ticker.beside]
        self._tasks = {service: asyncio.create_task(service.run()) for service in services}
        log.info("worker %s started", self.id)
        return self

    def _clock_moved(self) -> None:
        """Tests move their clock; the worker looks at once."""
        self._starter.due()
        self._sweeper.ask()
        self._sweeper.look(True)
        self._ticker.service.wake()

    def _soon(self, call: Callable[[], None]) -> Callable[[], None]:
        """For callers in any thread: done in the worker's own."""
        loop = self._loop

        def asked() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(call)

        return asked

    # -- stopping --------------------------------------------------------------------

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop claiming, give back what has not started, let the rest finish, record it."""
        try:
            await self._stop()
        finally:
            # Also if stopping was interrupted: nobody would record what is renewed for ever, or
            # started now.
            self._heartbeat.halt()
            self._starter.close(self._pools)

    async def _stop(self) -> None:
        running = sum(pool.running for pool in self._pools)
        log.info(
            "worker %s stops: %d running, which have %g s to end",
            self.id,
            running,
            self._settings.grace,
        )
        self._claimer.stopping = True
        ticker, completer = self._ticker, self._completer
        await self._end(self._claimer.service, ticker.service, ticker.beside, self._seeder.service)
        for held in self._starter.unstarted(self._pools):
            self._release(held)
        self._sweeper.service.stop()
        self._pruner.service.stop()
        await asyncio.gather(self._drain(), self._part())
        await self._end(self._sweeper.service, self._pruner.service)
        await self._end(completer.service, completer.beside, self._chainer.service)
        await self._record()
        await self._reporter.settle()
        # A beat after our leave would give back what it shortens.
        await self._heartbeat.stop()
        await self._leave()
        self._threads.close()
        await self._stack.aclose()
        log.info("worker %s stopped", self.id)

    async def _end(self, *services: Service) -> None:
        for service in services:
            service.stop()
        await asyncio.gather(*(self._tasks[service] for service in services))

    def _release(self, held: Held) -> None:
        """Give back what was claimed and not started."""
        released = decide(
            held.claim,
            Released(),
            retry=Retry.none(),
            chance=0.0,
            started_at=None,
            max_result=self._settings.max_result,
        )
        self._completer.add(held, released)

    async def _drain(self) -> None:
        """Wait for running handlers; after the grace time, interrupt those that can be."""
        running = [h for h in self._holdings if h.task is not None and not h.task.done()]
        tasks = [h.task for h in running if h.task is not None]
        for held in running:
            held.stop.asked = True
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=self._settings.grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=1.0)

    async def _part(self) -> None:
        """Companions have the grace time too: they may be at something that lasts."""
        stopping = [asyncio.create_task(one.stop()) for one in self._companions]
        if not stopping:
            return
        _, late = await asyncio.wait(stopping, timeout=self._settings.grace)
        for task in late:
            task.cancel()
        if late:
            log.warning("worker %s: what runs beside it did not stop in time", self.id)
            await asyncio.wait(late, timeout=1.0)

    async def _record(self) -> None:
        """Everything that ended is put on record, as long as our leases may hold."""
        deadline = self._time.monotonic() + self._settings.lease
        outage = Outage(log, "stopping")
        while self._unrecorded() and self._time.monotonic() < deadline:
            try:
                self._completer.take_up()
                await self._completer.flush()
                if len(self._chainer):
                    await self._chainer.settle_some()
                if len(self._completer):
                    await asyncio.sleep(FIRST)  # somebody holds a job
            except DuetimeError as error:
                outage.failed(error)
                await asyncio.sleep(0.2)

    def _unrecorded(self) -> int:
        return len(self._completer) + len(self._chainer)

    async def _leave(self) -> None:
        """What still runs in a thread keeps a short lease; then this worker is gone."""
        try:
            left = [h for h in self._holdings if h.task is not None]
            if left:
                short = micros_of(min(PARTING_LEASE, self._settings.lease))
                await self._store.perform(self._store.renew(leases_of(left), short))
            await self._store.perform(self._store.leave(self.id))
        except DuetimeError as error:
            log.warning("worker %s could not sign off: %s", self.id, error)
