"""The worker: assembles its services, starts them, and stops them in order."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from importlib.metadata import version
from types import TracebackType

from duetime.errors import ConfigError, DuetimeError
from duetime.logs import get_log
from duetime.model.actions.claim import SweepResult, WorkerInfo, alive_micros
from duetime.model.actions.completion import Completion, CompletionResult
from duetime.model.actions.outcome import Released, decide
from duetime.model.actions.retry import Retry
from duetime.model.clock import SettableClock, micros_of
from duetime.model.health.worker import WorkerHealth
from duetime.model.jobs.change import AppliedJobChange
from duetime.model.lane import PAUSES_LANE, is_row_lane
from duetime.registry.runtime import AppRuntime, Companion
from duetime.store.flow import Wake
from duetime.store.outage_log import OutageLog
from duetime.worker.backoff import FIRST_PAUSE_SECONDS
from duetime.worker.child_settler import ChildSettler
from duetime.worker.claiming.claimer import Claimer
from duetime.worker.claiming.launcher import Launcher
from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.claiming.slots import pools_of
from duetime.worker.completer import Completer
from duetime.worker.figures import FigureCounter
from duetime.worker.gauge_reader import GaugeReader
from duetime.worker.index_builder import IndexBuilder
from duetime.worker.interruption import Interruption
from duetime.worker.leases.heartbeat import Renewal, fences_of
from duetime.worker.leases.in_flight import InFlightRun, RunsInFlight, run_traces
from duetime.worker.leases.loop_monitor import LoopClosed
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.notifier import Notifier
from duetime.worker.ports import Ports
from duetime.worker.pruner import Pruner
from duetime.worker.reporter import Reporter
from duetime.worker.running.runner import Runner
from duetime.worker.running.threads import Threads
from duetime.worker.running.transactional import RecordedRun
from duetime.worker.seeder import Seeder
from duetime.worker.service import Service
from duetime.worker.settings import WorkerSettings
from duetime.worker.sweeper import Sweeper
from duetime.worker.ticker import Ticker

log = get_log("duetime.worker")

# The version of this code, by which others see that its workers know pauses of queues.
VERSION = version("duetime")

# A sync handler that outlives the grace time keeps its lease this long; then others may run it.
FINAL_LEASE_SECONDS = 5.0


class Worker:
    """Claims, runs and records actions while its `async with` block lasts."""

    def __init__(
        self,
        runtime: AppRuntime,
        settings: WorkerSettings,
        ports: Ports | None = None,
        companions: Sequence[Companion] = (),
    ) -> None:
        ports = ports or Ports()
        self.id = ports.name()
        self._runtime = runtime
        self._store = runtime.store
        self._settings = settings
        self._pools = pools_of(settings.concurrency, settings.queues, settings.delivery_slots)
        self._clock = StoreClock(runtime.clock, ports.monotonic)
        self._runs = RunsInFlight()
        self._pauses = KnownPauses()
        self._threads = Threads()
        self._interruption = Interruption(self.id, self._runs)
        self._assemble_running(ports)
        self._assemble_claiming()
        self._assemble_jobs(ports)
        self._heartbeat = ports.heartbeat(
            self._store, Renewal(self._runs, self._clock, settings.lease, self._renewed)
        )
        self._companions = companions
        self._stack = AsyncExitStack()
        self._tasks: dict[Service, asyncio.Task[None]] = {}

    # Each service gets the methods of the others that it may call.

    def _assemble_running(self, ports: Ports) -> None:
        """Create the services between a claim and its stored completion."""
        runtime, settings, clock, runs = self._runtime, self._settings, self._clock, self._runs
        self._figures = FigureCounter(self.id, self._store)
        self._reporter = Reporter(runtime, self._figures, self._pauses)
        self._gauges = GaugeReader(self._store, runtime.meters, settings.sweep, self._slots_used)
        self._child_settler = ChildSettler(
            self._store,
            self._runtime.outbox_store,
            self._reporter.children_settled,
            lambda: self._sweeper.children_settled(),
        )
        self._completer = Completer(
            self._store,
            runs,
            settings.batch,
            self._runtime.outbox_store,
            self._reporter.recorded,
            lambda: self._claimer.slot_freed(),
            self._completed,
        )
        runner = Runner(
            runtime,
            settings,
            self._threads,
            clock,
            dice=ports.dice,
            finished=self._run_finished,
            committed=self._run_committed,
            interrupted=self._interruption.handler_raised,
            all_tasks_cancelled=lambda: self._interruption.all_tasks_cancelled,
        )
        self._launcher = Launcher(
            clock,
            ports.timer,
            runs,
            self._pauses,
            runner.run,
            lambda: self._claimer.slot_freed(),
            lambda pool: pool.prefetch(settings.preclaim, settings.batch),
            self._release,
        )

    def _assemble_claiming(self) -> None:
        """Create the services that find work."""
        store, settings, clock, runs = self._store, self._settings, self._clock, self._runs
        self._sweeper = Sweeper(
            store,
            self._runtime.outbox_store,
            clock,
            self._worker_info,
            runs,
            self._pauses,
            lambda: self._claimer,
            settings,
            self._reporter.lost,
            self._completed,
            self._sweep_finished,
            lambda: self._launcher.release_paused(self._pools),
        )
        self._claimer = Claimer(
            self.id,
            store,
            clock,
            self._pools,
            runs,
            self._pauses,
            settings,
            start=self._launcher.accept,
            release_early=self._launcher.release_early,
            release_waiting=self._launcher.release_waiting,
            can_run=self._runtime.handlers.runs,
            request_look=self._sweeper.request_look,
            busy=lambda: len(self._completer) >= 4 * settings.batch,
            caught_up=self._reporter.caught_up,
        )
        self._pruner, self._index_builder = Pruner(store, settings), IndexBuilder(store)
        self._notifier = Notifier(self._runtime, settings)

    def _assemble_jobs(self, ports: Ports) -> None:
        """Create the services of recurring jobs."""
        store, settings, clock = self._store, self._settings, self._clock
        self._ticker = Ticker(
            store, self._runtime.outbox_store, clock, settings, ports.ids, self._ticked
        )
        self._seeder = Seeder(
            self.id,
            store,
            self._runtime.outbox_store,
            self._runtime.jobs,
            clock,
            settings,
            ports.ids,
            lambda: self._ticker.has_ticks,
        )

    def _worker_info(self) -> WorkerInfo:
        queues = self._settings.queues
        return WorkerInfo(
            id=self.id,
            app=self._settings.app,
            host=socket.gethostname(),
            pid=os.getpid(),
            kinds=self._runtime.handlers.kinds(),
            queues=[] if queues is None else list(queues),
            concurrency=self._settings.concurrency,
            jobs=self._runtime.jobs.names(),
            alive=alive_micros(self._settings.sweep),
            health=self._health(),
            version=VERSION,
            pools=tuple(pool.use for pool in self._pools),
        )

    def _health(self) -> WorkerHealth:
        listener = self._sweeper.listener
        found = [service.problem for service in self._tasks]
        found.append(listener.problem if listener else None)
        problems = tuple(problem for problem in found if problem is not None)
        return WorkerHealth(problems, listener.refused_wakes if listener else 0)

    def _renewed(self) -> None:
        """Called from the heartbeat's thread, while the launcher belongs to the loop."""
        if self._loop.is_closed():
            raise LoopClosed
        self._loop.call_soon_threadsafe(self._launcher.leases_renewed)

    def _run_finished(self, run: InFlightRun, completion: Completion) -> None:
        # The limit is for handlers that overrun; the lease is renewed until the completion is
        # stored.
        run.renew_until = None
        run.task = None
        self._completer.add(run, completion)
        self._launcher.run_finished(run)

    def _completed(self, done: CompletionResult, runs: Sequence[InFlightRun] = ()) -> None:
        """Finished actions may have children, and may be occurrences of jobs."""
        if done.parents:
            self._child_settler.parents_finished(done.parents, run_traces(runs))
        self._reporter.jobs_changed([*done.jobs, *done.replayed_jobs])

    def _sweep_finished(self, swept: SweepResult, sweeping: bool) -> None:
        self._ticker.sweep_finished(swept.next_tick, full=sweeping)
        if sweeping:
            self._seeder.sweep_finished(swept.youngest)
            self._figures.service.wake()
            self._gauges.sweep_finished(swept)
            self._notifier.sweep_finished(swept)

    def _ticked(self, changes: Sequence[AppliedJobChange]) -> None:
        """A queued occurrence waits for an earlier one, which may have finished in the meantime."""
        awaited = [new.action.after for change in changes for new in change.occurrences]
        self._child_settler.parents_finished([parent for parent in awaited if parent is not None])
        self._reporter.ticked(changes)

    def _woken(self, wakes: Sequence[Wake]) -> None:
        """Pass wakes on to the ticker and the claimer; without any wakes, anything may have
        changed. A wake is a hint, which must not end the listener that received it."""
        try:
            others = self._notifier.woken(wakes)
            # Which queues are paused is read from the store, and believed of nobody else.
            pauses_changed = any(wake.lane == PAUSES_LANE for wake in others)
            if others or not wakes:
                self._pass_on(() if pauses_changed else others)
        except Exception:
            log.exception("worker %s drops a wake that failed: %.200r", self.id, wakes)
            self._sweeper.request_look(True)

    def _pass_on(self, wakes: Sequence[Wake]) -> None:
        rows = [wake.lane for wake in wakes if is_row_lane(wake.lane)]
        if rows or not wakes:
            for companion in self._companions:
                companion.woken(rows)
        others = self._ticker.woken([wake for wake in wakes if not is_row_lane(wake.lane)])
        if not wakes:
            self._sweeper.anything_changed()
        if others or not wakes:
            self._claimer.woken(others)

    def _run_committed(self, run: InFlightRun, recorded: RecordedRun) -> None:
        """The completion was committed together with the handler's work; or the lease was lost and
        nothing was."""
        run.task = None
        self._runs.drop(run)
        if recorded.accepted:
            self._reporter.recorded(run, recorded.completion)
            self._completed(recorded.result, [run])
        else:
            run.report_refused()
        self._launcher.run_finished(run)

    # -- starting --------------------------------------------------------------------

    async def __aenter__(self) -> Worker:
        """Sweep the store before anything runs, so that its errors are raised here."""
        if self._tasks:
            raise ConfigError("this worker was already started; app.worker() creates a new one")
        self._loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            self._sweeper.listener = await stack.enter_async_context(
                self._store.listen(self._woken)
            )
            if isinstance(self._runtime.clock, SettableClock):
                stack.callback(self._runtime.clock.on_change(self._threadsafe(self._clock_moved)))
            stack.callback(
                self._runtime.declarations.subscribe(
                    self._threadsafe(self._sweeper.declarations_changed)
                )
            )
            await self._notifier.start()
            await self._sweeper.sweep()
            await self._seeder.seed()
            for companion in self._companions:
                await companion.start()
                stack.push_async_callback(companion.stop)
            self._launcher.open()
            stack.callback(self._launcher.close, self._pools)
            self._heartbeat.start()
            self._stack = stack.pop_all()
        owners = (self._sweeper, self._claimer, self._completer, self._pruner, self._child_settler)
        others = (self._ticker, self._seeder, self._figures, self._gauges, self._index_builder)
        services = [owner.service for owner in (*owners, *others, self._notifier)]
        services += [self._completer.concurrent_service, self._ticker.concurrent_service]
        self._interruption.enter()
        self._runtime.running.add(self)
        self._tasks = {service: self._interruption.start(service.run()) for service in services}
        log.info("worker %s started", self.id)
        return self

    def _clock_moved(self) -> None:
        """A test moved its clock: check everything at once."""
        self._launcher.launch_due()
        self._sweeper.anything_changed()
        self._sweeper.request_look(True)
        self._ticker.service.wake()

    def _threadsafe(self, call: Callable[[], None]) -> Callable[[], None]:
        """Wrap `call` so that any thread may call it; `call` itself runs on the worker's loop."""
        loop = self._loop

        def call_threadsafe() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(call)

        return call_threadsafe

    # -- stopping --------------------------------------------------------------------

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop claiming, release what has not started, let running handlers finish, and record
        them."""
        self._interruption.stop()
        try:
            await self._stop_despite_handlers()
        finally:
            # Also if stopping was interrupted: leases must not be renewed for ever, and nothing may
            # start now, since its completion would not be stored.
            self._heartbeat.halt()
            self._launcher.close(self._pools)
            self._interruption.close()
            self._gauges.close()
            self._runtime.running.discard(self)
        self._interruption.raise_error(kind)

    def _slots_used(self) -> int:
        return sum(pool.running for pool in self._pools)

    async def _stop_despite_handlers(self) -> None:
        """Stop; a handler that cancels this very task meanwhile does not interrupt that."""
        try:
            await self._stop()
        except asyncio.CancelledError:
            if not self._interruption.caused_by_handler:
                raise
            await self._stop()

    async def _stop(self) -> None:
        log.info(
            "worker %s is stopping: %d running, with %g s to finish",
            self.id,
            self._slots_used(),
            self._settings.grace,
        )
        self._claimer.stopping = True
        ticker, completer = self._ticker, self._completer
        await self._stop_services(
            self._claimer.service, ticker.service, ticker.concurrent_service, self._seeder.service
        )
        for run in self._launcher.take_unstarted(self._pools):
            self._release(run)
        self._sweeper.service.stop()
        self._pruner.service.stop()
        self._index_builder.stop()
        await asyncio.gather(self._drain(), self._stop_companions())
        self._release_cancelled()
        swept_with = (self._sweeper, self._pruner, self._index_builder)
        await self._stop_services(*(owner.service for owner in swept_with))
        await self._stop_services(
            *(completer.service, completer.concurrent_service, self._notifier.service),
            *(self._child_settler.service, self._figures.service, self._gauges.service),
        )
        await self._flush_completions()
        await self._figures.flush_last()
        await self._reporter.drain()
        # A later heartbeat would undo the short leases given when signing off.
        await self._heartbeat.stop()
        await self._sign_off()
        self._threads.close()
        await self._stack.aclose()
        log.info("worker %s stopped", self.id)

    async def _stop_services(self, *services: Service) -> None:
        for service in services:
            service.stop()
        tasks = [self._tasks[service] for service in services]
        try:
            # Not gather, which is cancelled if one of them is.
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            raise
        for task in tasks:
            if not task.cancelled():
                task.result()

    def _release_cancelled(self) -> None:
        """Release runs whose task somebody cancelled before it began. A task that was abandoned to
        its thread has come to an end."""
        for run in self._runs:
            if run.task is not None and run.task.cancelled():
                run.task = None
                self._release(run)

    def _release(self, run: InFlightRun) -> None:
        """Release a run that was claimed but not started."""
        released = decide(
            run.claim,
            Released(),
            retry=Retry.none(),
            chance=0.0,
            started_at=None,
            max_result=self._settings.max_result,
        )
        self._completer.add(run, released)

    async def _drain(self) -> None:
        """Wait for running handlers; after the grace time, cancel those that can be cancelled."""
        running = [h for h in self._runs if h.task is not None and not h.task.done()]
        tasks = [h.task for h in running if h.task is not None]
        for run in running:
            run.stop.ask("shutdown")
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=self._settings.grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=1.0)

    async def _stop_companions(self) -> None:
        """Stop the companions, which get the grace time too."""
        stopping = [asyncio.create_task(companion.stop()) for companion in self._companions]
        if not stopping:
            return
        _, late = await asyncio.wait(stopping, timeout=self._settings.grace)
        for task in late:
            task.cancel()
        if late:
            log.warning("worker %s: a companion service did not stop in time", self.id)
            await asyncio.wait(late, timeout=1.0)

    async def _flush_completions(self) -> None:
        """Store all completions, retrying for as long as our leases may last."""
        deadline = self._clock.monotonic() + self._settings.lease
        outage = OutageLog(log, "stopping")
        while self._pending_count() and self._clock.monotonic() < deadline:
            try:
                self._completer.resume_postponed()
                await self._completer.flush()
                if len(self._child_settler):
                    await self._child_settler.settle_batch()
                if len(self._completer):
                    await asyncio.sleep(FIRST_PAUSE_SECONDS)  # a job is locked
            except DuetimeError as error:
                outage.failed(error)
                await asyncio.sleep(0.2)

    def _pending_count(self) -> int:
        return len(self._completer) + len(self._child_settler)

    async def _sign_off(self) -> None:
        """Give runs that still occupy a thread a short lease, then remove this worker's row."""
        try:
            left = [h for h in self._runs if h.task is not None]
            if left:
                short = micros_of(min(FINAL_LEASE_SECONDS, self._settings.lease))
                await self._store.perform(self._store.renew(fences_of(left), short))
            await self._store.perform(self._store.unregister(self.id))
        except DuetimeError as error:
            log.warning("worker %s could not sign off: %s", self.id, error)
