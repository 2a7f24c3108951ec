"""Runs one claim: find the handler, decode, inject, call, decide, hand over the completion."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import PydanticSerializationError

from duetime.errors import InvalidArgument, InvalidPayload
from duetime.model.actions.action import Action, Record
from duetime.model.actions.claim import Claim
from duetime.model.actions.completion import Completion
from duetime.model.actions.current_run import enter_run
from duetime.model.actions.outcome import (
    HandlerResult,
    Raised,
    Released,
    Returned,
    TimedOut,
    TooLate,
    Undecodable,
    Unhandled,
    decide,
    with_traceback,
)
from duetime.model.actions.retry import Retry
from duetime.model.actions.signals import Fail
from duetime.model.clock import from_micros, maybe_from_micros, micros_of
from duetime.model.hidden_text import hide_from_texts
from duetime.model.payloads.bounded import TooLarge, bounded_json
from duetime.model.state import Outcome
from duetime.model.tenant import enter
from duetime.registry.context import Context
from duetime.registry.handlers import Handler
from duetime.registry.injection import Injection, drive, run_inline
from duetime.registry.middleware import call_through
from duetime.registry.runtime import AppRuntime
from duetime.store.base import Store
from duetime.store.current_transaction import current_joined_store
from duetime.store.flow import Flow
from duetime.store.settlement import parent_of
from duetime.store.transaction import JoinedStore, RunBlocking, TransactionFactory
from duetime.telemetry.sdk import traces
from duetime.worker.leases.in_flight import InFlightRun, fence_of
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.running.end_log import error_of, log_end
from duetime.worker.running.job_limits import JobLimits
from duetime.worker.running.threads import Threads
from duetime.worker.running.timeouts import RunDeadline, RunDeadlines, ThreadTimeout
from duetime.worker.running.transactional import (
    HandlerTimeout,
    RecordedRun,
    TransactionalRun,
    WithTimeout,
)
from duetime.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from duetime.telemetry.run_span import RunSpan

# A module global is faster to read than an enum member.
SUCCEEDED = Outcome.succeeded
RELEASED = Released("released: its worker stopped before it came to an end")


class ExpiredWhileWaiting(Exception):
    """The action expired after its run began, and before its handler was called."""

    def __init__(self, result: TooLate) -> None:
        super().__init__(result)
        self.result = result


class Runner:
    """The life of one claim, from its slot to its completion."""

    def __init__(
        self,
        runtime: AppRuntime,
        settings: WorkerSettings,
        threads: Threads,
        clock: StoreClock,
        *,
        dice: Callable[[], float],
        finished: Callable[[InFlightRun, Completion], None],
        committed: Callable[[InFlightRun, RecordedRun], None],
        interrupted: Callable[[Claim, KeyboardInterrupt], None],
        all_tasks_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """`finished` gets completions to be stored, `committed` those that a transaction has
        stored. `interrupted` is called if a handler raised KeyboardInterrupt;
        `all_tasks_cancelled` says whether all tasks of the worker are cancelled."""
        self._runtime = runtime
        self._settings = settings
        self._threads = threads
        self._clock = clock
        self._dice = dice
        self._finished = finished
        self._committed = committed
        self._interrupted = interrupted
        self._all_tasks_cancelled = all_tasks_cancelled
        self._deadlines = RunDeadlines()
        self._limits = JobLimits(runtime)
        self._transaction_lock = asyncio.Lock()
        # Runs that continue in a thread after their awaiting task was cancelled.
        self._detached: set[asyncio.Task[HandlerResult | RecordedRun]] = set()

    async def run(self, run: InFlightRun) -> None:
        claim = run.claim
        handler = self._runtime.handlers.find(claim.kind, claim.version)
        result: HandlerResult | RecordedRun | None = None
        if claim.job is not None and handler is not None and self._limits.apply_to(claim.job):
            limited = await self._limits.limited(handler, claim)
            if isinstance(limited, Released):
                result = limited
            else:
                handler = limited
        # The run is due, although a slow reply may have moved our view of the store's clock back.
        run.started_at = max(self._clock.now(), claim.due_at)
        if claim.expires_at is not None and result is None:
            result = self._too_late(claim)
        if result is None:
            result = _parked(claim) if handler is None else await self._attempt(run, handler)
        if isinstance(result, RecordedRun):
            self._committed(run, result)
        elif result is not None:
            completion = self._decide(run, handler, result)
            if completion.outcome is not SUCCEEDED:
                log_end(claim, result, completion)
                if self._settings.keep_tracebacks:
                    completion = with_traceback(completion, result)
            self._finished(run, completion)
            if isinstance(result, Raised) and isinstance(result.error, KeyboardInterrupt):
                self._interrupted(claim, result.error)

    def _too_late(self, claim: Claim) -> TooLate | None:
        """Return the result of a claim whose action has expired, as far as this worker can tell:
        if the store's clock may show a later instant already, the handler is not started."""
        if claim.expires_at is None or self._clock.latest() <= claim.expires_at:
            return None
        return TooLate(claim.expires_at)

    def _decide(
        self, run: InFlightRun, handler: Handler | None, result: HandlerResult
    ) -> Completion:
        run.finished_at = self._clock.now()
        if run.span is not None:
            run.span.handled(error_of(result))
        if isinstance(result, TooLate):
            run.started_at = None
        return decide(
            run.claim,
            result,
            retry=Retry.none() if handler is None else handler.retry,
            chance=self._dice(),
            started_at=run.started_at,
            max_result=self._settings.max_result,
            stop=run.stop.request,
        )

    async def _attempt(
        self, run: InFlightRun, handler: Handler
    ) -> HandlerResult | RecordedRun | None:
        """Return how the run finished; None if it continues in a thread that the stopping worker
        abandons."""
        claim = run.claim
        enter(claim.tenant, claim.by)
        enter_run(claim)
        if traces():
            run.span = self._start_span(claim)
        try:
            payload = self._runtime.payloads.decode(claim.kind, claim.version, claim.payload)
        except InvalidPayload as error:
            return Undecodable(error)
        if self._runtime.payloads.some_secret:
            hide_from_texts(self._runtime.payloads.named(claim.kind).secrets_of(payload))
        try:
            if handler.transaction_type is not None:
                factory = self._runtime.transactions.factory(handler.transaction_type)
                return await self._transact(run, handler, factory, payload)
            return Returned(await self._call(run, handler, payload))
        except HandlerTimeout:
            return TimedOut(handler.timeout or 0.0)
        except ExpiredWhileWaiting as expired:
            return expired.result
        except asyncio.CancelledError as error:
            if not _cancelled_by_worker(run) and not self._all_tasks_cancelled():
                return Raised(error)
            return None if handler.in_thread else RELEASED
        except GeneratorExit as error:
            if not _loop_is_running():
                raise  # the loop is closed, and this run with it
            return Raised(error)
        except BaseException as error:  # noqa: BLE001 - a handler may raise anything
            return Raised(error)

    def _start_span(self, claim: Claim) -> RunSpan:
        # Imported here: a process without an SDK does without it.
        from duetime.telemetry.run_span import RunSpan

        return RunSpan(self._runtime.tracing, claim)

    async def _transact(
        self, run: InFlightRun, handler: Handler, factory: TransactionFactory, payload: object
    ) -> HandlerResult | RecordedRun:
        """Run a transactional handler. Its timeout covers the handler, not the completion and
        commit."""

        def steps(
            run_blocking: RunBlocking, timed: WithTimeout
        ) -> Coroutine[Any, Any, HandlerResult | RecordedRun]:
            return TransactionalRun(
                self._runtime.store,
                factory,
                run_blocking,
                lambda lent: self._work(run_blocking, run, handler, payload, lent),
                timed,
                lambda result: self._decide(run, handler, result),
                lambda completion: self._runtime.outbox_store.complete(
                    [(run.claim, completion)], skip_busy_jobs=False
                ),
            ).run()

        async def execute() -> HandlerResult | RecordedRun:
            if handler.node.blocking and not handler.middleware:
                timeout = ThreadTimeout(lambda: self._start_timeout(run, handler))
                call = self._threads.run(lambda: drive(steps(run_inline, timeout.start_then)))
                return cast("HandlerResult | RecordedRun", await timeout.wait(call))
            steps_on_loop = steps(
                self._threads.run, lambda call: self._with_timeout(run, handler, call)
            )
            return await (self._shielded(steps_on_loop) if handler.in_thread else steps_on_loop)

        return await (self._one_at_a_time(run, execute) if factory.one_at_a_time else execute())

    async def _one_at_a_time(
        self,
        run: InFlightRun,
        execute: Callable[[], Coroutine[Any, Any, HandlerResult | RecordedRun]],
    ) -> HandlerResult | RecordedRun:
        try:
            await self._transaction_lock.acquire()
        except asyncio.CancelledError:
            if not _cancelled_by_worker(run):
                raise
            return RELEASED  # it had not started
        try:
            return await execute()
        finally:
            self._transaction_lock.release()

    def _shielded(
        self, steps: Coroutine[Any, Any, HandlerResult | RecordedRun]
    ) -> Awaitable[HandlerResult | RecordedRun]:
        """Shield a transaction whose handler is in a thread: the thread cannot be stopped, so
        the transaction must not be closed under it."""
        task = asyncio.get_running_loop().create_task(_caught(steps))
        self._detached.add(task)
        task.add_done_callback(self._detached.discard)
        return asyncio.shield(task)

    def _call(self, run: InFlightRun, handler: Handler, payload: object) -> Awaitable[Any]:
        call = self._inject(run, handler, payload)
        return call if handler.timeout is None else self._with_timeout(run, handler, call)

    async def _with_timeout(self, run: InFlightRun, handler: Handler, call: Awaitable[Any]) -> Any:
        deadline = self._start_timeout(run, handler)
        try:
            return await call
        except asyncio.CancelledError:
            if deadline is not None and deadline.finish():
                raise HandlerTimeout from None
            raise
        finally:
            if deadline is not None:
                deadline.finish()

    def _start_timeout(self, run: InFlightRun, handler: Handler) -> RunDeadline | None:
        """Start the handler's deadline, if it has one. A thread cannot be interrupted: it is only
        asked to stop."""
        if handler.timeout is None:
            return None
        run.renew_until = self._clock.monotonic() + handler.timeout + self._settings.grace
        interrupts = not handler.in_thread
        return self._deadlines.start(run.stop, handler.timeout, interrupts=interrupts)

    def _inject(self, run: InFlightRun, handler: Handler, payload: object) -> Awaitable[Any]:
        """Create the dependencies, call the handler, close the dependencies, with the handler's
        middleware around all of it. If nothing needs the loop, all of this happens in one thread,
        so that each dependency is opened, used and closed there."""
        if handler.direct:
            # Neither dependencies nor middleware: the most common handler, at a third of the cost.
            plain = handler.function(payload) if handler.takes_payload else handler.function()
            return cast("Awaitable[Any]", plain)
        if handler.node.blocking and not handler.middleware:
            return self._threads.run(
                lambda: drive(self._work(run_inline, run, handler, payload, None))
            )
        return self._work(self._threads.run, run, handler, payload, None)

    def _work(
        self,
        run_blocking: RunBlocking,
        run: InFlightRun,
        handler: Handler,
        payload: object,
        lent: object,
    ) -> Coroutine[Any, Any, Any]:
        # It may have waited for its transaction or a thread.
        if (late := self._too_late(run.claim)) is not None:
            raise ExpiredWhileWaiting(late)
        context = self._context(run, handler)
        if handler.middleware:
            return self._call_through(context, handler, payload, lent)
        return self._inject_with(run_blocking, context, handler, payload, lent)

    def _call_through(
        self, context: Context, handler: Handler, payload: object, lent: object
    ) -> Coroutine[Any, Any, Any]:
        """Call the handler through its middleware, which runs on the loop. A sync handler whose
        dependencies are sync still runs with them in one thread."""

        def call_handler() -> Awaitable[object]:
            if handler.node.blocking:
                return self._until_thread_ends(
                    lambda: drive(self._inject_with(run_inline, context, handler, payload, lent))
                )
            return self._inject_with(self._until_thread_ends, context, handler, payload, lent)

        return call_through(handler.middleware, context, call_handler)

    async def _until_thread_ends(self, call: Callable[[], Any]) -> Any:
        """Run `call` in a thread. If this is cancelled, as by an `asyncio.timeout` in middleware,
        wait for the thread first: it cannot be stopped, and the run must not end before it."""
        thread = self._threads.start(call)
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            if not self._all_tasks_cancelled():
                await asyncio.wait([thread])
            raise

    async def _inject_with(
        self,
        run_blocking: RunBlocking,
        context: Context,
        handler: Handler,
        payload: object,
        lent: object,
    ) -> Any:
        async with AsyncExitStack() as stack:
            injection = Injection(context, self._runtime.clock, run_blocking, stack, lent)
            return await injection.call(handler.node, *handler.arguments(payload))

    def _context(self, run: InFlightRun, handler: Handler) -> Context:
        claim = run.claim
        try:
            due_at, tick = from_micros(claim.due_at), maybe_from_micros(claim.tick)
        except OverflowError:
            raise Fail(_out_of_range(claim)) from None
        return Context(
            action_id=claim.id,
            kind=claim.kind,
            attempt=claim.attempt,
            due_at=due_at,
            tenant=claim.tenant,
            by=claim.by,
            correlation_id=claim.correlation_id,
            deadline=self._deadline(run, handler),
            job=claim.job,
            tick=tick,
            triggered_by=claim.triggered_by,
            stop=run.stop,
            note=lambda value: self._note(run, value, handler),
            note_blocking=lambda value: self._note_blocking(run, value, handler),
            ask_parent=lambda: self._parent(claim),
            ask_parent_blocking=lambda: self._parent_blocking(claim),
        )

    def _deadline(self, run: InFlightRun, handler: Handler) -> datetime | None:
        """Return the deadline that the handler sees. A run that waited for its transaction starts
        only now."""
        begun = run.started_at if handler.transaction_type is None else self._clock.now()
        if handler.timeout is None or begun is None:
            return None
        return from_micros(begun + micros_of(handler.timeout))

    async def _note(self, run: InFlightRun, value: object, handler: Handler) -> None:
        await self._progress_target(handler).perform(self._progress_flow(run, value))

    def _note_blocking(self, run: InFlightRun, value: object, handler: Handler) -> None:
        self._progress_target(handler).perform_blocking(self._progress_flow(run, value))

    def _progress_target(self, handler: Handler) -> Store | JoinedStore:
        """Return where progress is written. Where a transaction locks the whole store, progress
        becomes visible when it commits."""
        runtime, type_ = self._runtime, handler.transaction_type
        alone = type_ is not None and runtime.transactions.factory(type_).one_at_a_time
        return (current_joined_store(runtime.store) if alone else None) or runtime.store

    def _progress_flow(self, run: InFlightRun, value: object) -> Flow[None]:
        try:
            text = bounded_json(value, self._settings.max_result)
        except TooLarge as error:
            raise InvalidArgument("progress", type(value), f"it {error}") from None
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            raise InvalidArgument("progress", value, f"it is not JSON ({error})") from error
        return self._runtime.store.progress(fence_of(run), text)

    async def _parent(self, claim: Claim) -> Action | None:
        store = self._runtime.store
        target = current_joined_store(store) or store
        return self._action_of(await target.perform(parent_of(store, claim.id)))

    def _parent_blocking(self, claim: Claim) -> Action | None:
        store = self._runtime.store
        target = current_joined_store(store) or store
        return self._action_of(target.perform_blocking(parent_of(store, claim.id)))

    def _action_of(self, record: Record | None) -> Action | None:
        return None if record is None else self._runtime.payloads.action(record)


def _parked(claim: Claim) -> Unhandled:
    return Unhandled(
        f"parked: no worker so far has a handler for kind {claim.kind!r}, "
        f"payload version {claim.version}"
    )


async def _caught(
    steps: Coroutine[Any, Any, HandlerResult | RecordedRun],
) -> HandlerResult | RecordedRun:
    """Return what would end the event loop if a task raised it."""
    try:
        return await steps
    except (KeyboardInterrupt, SystemExit) as error:
        return Raised(error)


def _out_of_range(claim: Claim) -> str:
    return (
        f"its row is damaged: due_at holds {claim.due_at} and tick {claim.tick}, one of which is "
        "outside years 1 to 9999; schedule the action again"
    )


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _cancelled_by_worker(run: InFlightRun) -> bool:
    """Return whether the worker cancelled the task; a handler may also raise CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0 and run.stop.reason is not None
