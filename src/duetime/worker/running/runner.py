"""Runs one claim: resolve, decode, inject, call, decide, hand over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from duetime.errors import InvalidArgument, InvalidPayload
from duetime.model.actions.action import Action, Record
from duetime.model.actions.claim import Claim
from duetime.model.actions.completion import Again, Ending
from duetime.model.actions.outcome import (
    End,
    Parked,
    Raised,
    Released,
    Returned,
    TimedOut,
    Undecodable,
    decide,
)
from duetime.model.actions.retry import Retry
from duetime.model.actions.signals import Cancel, Fail, Snooze
from duetime.model.clock import from_micros, maybe_from_micros, micros_of, seconds_of
from duetime.model.payloads.codec import to_json
from duetime.model.tenant import enter
from duetime.registry.context import Context
from duetime.registry.handlers import Handler
from duetime.registry.injection import Injection, drive, here
from duetime.registry.runtime import (
    Parts,
)
from duetime.store.base import Store
from duetime.store.current_transaction import current_joined
from duetime.store.flow import Flow
from duetime.store.settlement import parent_of
from duetime.store.transaction import Hop, Joined, Opener
from duetime.worker.leases.in_flight import Held, lease_of
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.running.threads import Threads
from duetime.worker.running.timeouts import Deadline, Deadlines, Watch
from duetime.worker.running.transactional import Late, Recorded, Timed, Transacting
from duetime.worker.settings import (
    WorkerSettings,
)

log = logging.getLogger("duetime.worker")

RELEASED = Released("released: its worker stopped before it came to an end")


class Runner:
    """The life of one claim, from the slot to its ending."""

    def __init__(
        self,
        parts: Parts,
        settings: WorkerSettings,
        threads: Threads,
        time: StoreTime,
        *,
        dice: Callable[[], float],
        ended: Callable[[Held, Ending], None],
        recorded: Callable[[Held, Recorded], None],
    ) -> None:
        """`ended` is told of endings to be recorded, `recorded` of those that are."""
        self._parts = parts
        self._settings = settings
        self._threads = threads
        self._time = time
        self._dice = dice
        self._ended = ended
        self._recorded = recorded
        self._deadlines = Deadlines()
        self._turn = asyncio.Lock()
        # What goes on although nobody waits for it any more.
        self._left: set[asyncio.Task[End | Recorded]] = set()

    async def run(self, held: Held) -> None:
        # Its time has come: a reply that was slow may since have made us know less of the time.
        claim = held.claim
        held.started_at = max(self._time.now(), claim.due_at)
        handler = self._parts.handlers.find(claim.kind, claim.version)
        end = _parked(claim) if handler is None else await self._attempt(held, handler)
        if isinstance(end, Recorded):
            self._recorded(held, end)
        elif end is not None:
            self._ended(held, self._decide(held, handler, end))

    def _decide(self, held: Held, handler: Handler | None, end: End) -> Ending:
        held.ended_at = self._time.now()
        ending = decide(
            held.claim,
            end,
            retry=Retry.none() if handler is None else handler.retry,
            chance=self._dice(),
            started_at=held.started_at,
            max_result=self._settings.max_result,
            asked_by=held.stop.by,
        )
        if not isinstance(end, Returned):
            _log_failure(held.claim, end, ending)
        return ending

    async def _attempt(self, held: Held, handler: Handler) -> End | Recorded | None:
        """How it ended; None if it goes on in a thread that the stopping worker leaves."""
        claim = held.claim
        enter(claim.tenant, claim.by)
        try:
            payload = self._parts.payloads.decode(claim.kind, claim.version, claim.payload)
        except InvalidPayload as error:
            return Undecodable(error)
        try:
            if handler.opener is not None:
                return await self._transact(held, handler, handler.opener, payload)
            return Returned(await self._call(held, handler, payload))
        except Late:
            return TimedOut(handler.timeout or 0.0)
        except asyncio.CancelledError as error:
            if not _is_ours(held):
                return Raised(error)
            return None if handler.in_thread else RELEASED
        except KeyboardInterrupt:
            raise
        except GeneratorExit as error:
            if not _is_running():
                raise  # the loop is gone, and this run with it
            return Raised(error)
        except BaseException as error:  # noqa: BLE001 - a handler may raise anything
            return Raised(error)

    async def _transact(
        self, held: Held, handler: Handler, opener: Opener, payload: object
    ) -> End | Recorded:
        """The handler's own time is what it works; to complete and commit is ours."""

        def steps(hop: Hop, timed: Timed) -> Coroutine[Any, Any, End | Recorded]:
            return Transacting(
                self._parts.store,
                opener,
                hop,
                lambda lent: self._inject_with(hop, held, handler, payload, lent),
                timed,
                lambda end: self._decide(held, handler, end),
                lambda ending: self._parts.telling.complete(
                    [(held.claim, ending)], impatient=False
                ),
            ).run()

        async def run() -> End | Recorded:
            if handler.node.blocking:
                watch = Watch(lambda: self._begin_time(held, handler))
                call = self._threads.run(lambda: drive(steps(here, watch.over)))
                return cast("End | Recorded", await watch.until(call))
            whole = steps(self._threads.run, lambda call: self._within(held, handler, call))
            return await (self._whole(whole) if handler.in_thread else whole)

        return await (self._in_turn(held, run) if opener.one_at_a_time else run())

    async def _in_turn(
        self, held: Held, run: Callable[[], Coroutine[Any, Any, End | Recorded]]
    ) -> End | Recorded:
        try:
            await self._turn.acquire()
        except asyncio.CancelledError:
            if not _is_ours(held):
                raise
            return RELEASED  # it had not begun
        try:
            return await run()
        finally:
            self._turn.release()

    def _whole(self, steps: Coroutine[Any, Any, End | Recorded]) -> Awaitable[End | Recorded]:
        """Whoever stops the worker cannot stop the thread: its transaction must not be taken
        from under it."""
        task = asyncio.get_running_loop().create_task(steps)
        self._left.add(task)
        task.add_done_callback(self._left.discard)
        return asyncio.shield(task)

    def _call(self, held: Held, handler: Handler, payload: object) -> Awaitable[Any]:
        call = self._inject(held, handler, payload)
        return call if handler.timeout is None else self._within(held, handler, call)

    async def _within(self, held: Held, handler: Handler, call: Awaitable[Any]) -> Any:
        deadline = self._begin_time(held, handler)
        try:
            return await call
        except asyncio.CancelledError:
            if deadline is not None and deadline.end():
                raise Late from None
            raise
        finally:
            if deadline is not None:
                deadline.end()

    def _begin_time(self, held: Held, handler: Handler) -> Deadline | None:
        """Its time begins. At its end a thread, which cannot be interrupted, is only asked to
        stop."""
        if handler.timeout is None:
            return None
        held.renew_until = self._time.monotonic() + handler.timeout + self._settings.grace
        interrupts = not handler.in_thread
        return self._deadlines.begin(held.stop, handler.timeout, interrupts=interrupts)

    def _inject(self, held: Held, handler: Handler, payload: object) -> Awaitable[Any]:
        """Make the dependencies, call, close. Where nothing needs the loop, all of it in one
        thread: what was opened there is used and closed there."""
        node = handler.node
        if node.blocking:
            return self._threads.run(lambda: drive(self._inject_with(here, held, handler, payload)))
        if not node.sources:
            # Nothing to make or close: the most common handler, at a third of the cost.
            plain = node.function(payload) if handler.takes_payload else node.function()
            return cast("Awaitable[Any]", plain)
        return self._inject_with(self._threads.run, held, handler, payload)

    async def _inject_with(
        self, hop: Hop, held: Held, handler: Handler, payload: object, lent: object = None
    ) -> Any:
        async with AsyncExitStack() as stack:
            context = self._context(held, handler)
            injection = Injection(context, self._parts.clock, hop, stack, lent)
            return await injection.call(handler.node, *handler.arguments(payload))

    def _context(self, held: Held, handler: Handler) -> Context:
        claim = held.claim
        return Context(
            action_id=claim.id,
            attempt=claim.attempt,
            due_at=from_micros(claim.due_at),
            tenant=claim.tenant,
            by=claim.by,
            correlation_id=claim.correlation_id,
            deadline=self._deadline(held, handler),
            job=claim.job,
            tick=maybe_from_micros(claim.tick),
            triggered_by=claim.triggered_by,
            stop=held.stop,
            note=lambda value: self._note(held, value, handler),
            note_blocking=lambda value: self._note_blocking(held, value, handler),
            ask_parent=lambda: self._parent(claim),
            ask_parent_blocking=lambda: self._parent_blocking(claim),
        )

    def _deadline(self, held: Held, handler: Handler) -> datetime | None:
        """Whoever waited for a transaction begins only now."""
        begun = held.started_at if handler.opener is None else self._time.now()
        if handler.timeout is None or begun is None:
            return None
        return from_micros(begun + micros_of(handler.timeout))

    async def _note(self, held: Held, value: object, handler: Handler) -> None:
        await self._noted_through(handler).perform(self._noting(held, value))

    def _note_blocking(self, held: Held, value: object, handler: Handler) -> None:
        self._noted_through(handler).perform_blocking(self._noting(held, value))

    def _noted_through(self, handler: Handler) -> Store | Joined:
        """Where one transaction locks all, progress is seen when it is committed."""
        alone = handler.opener is not None and handler.opener.one_at_a_time
        return (current_joined(self._parts.store) if alone else None) or self._parts.store

    def _noting(self, held: Held, value: object) -> Flow[None]:
        try:
            text = to_json(to_jsonable_python(value))
        except (PydanticSerializationError, ValueError) as error:
            raise InvalidArgument("progress", value, f"it is not JSON ({error})") from error
        return self._parts.store.progress(lease_of(held), text)

    async def _parent(self, claim: Claim) -> Action | None:
        store = self._parts.store
        here = current_joined(store) or store
        return self._shown(await here.perform(parent_of(store, claim.id)))

    def _parent_blocking(self, claim: Claim) -> Action | None:
        store = self._parts.store
        here = current_joined(store) or store
        return self._shown(here.perform_blocking(parent_of(store, claim.id)))

    def _shown(self, record: Record | None) -> Action | None:
        return None if record is None else self._parts.payloads.action(record)


def _parked(claim: Claim) -> Parked:
    return Parked(
        f"parked: no worker so far has a handler for kind {claim.kind!r}, "
        f"payload version {claim.version}"
    )


def _is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_ours(held: Held) -> bool:
    """Whether the worker cancelled the task; a handler may also raise CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0 and held.stop.asked


def _log_failure(claim: Claim, end: End, ending: Ending) -> None:
    """A failed attempt, with its traceback and the ids to find it by."""
    error = end.error if isinstance(end, Raised | Undecodable) else None
    failed = isinstance(end, Raised | TimedOut | Undecodable)
    if not failed or isinstance(error, Snooze | Cancel | Fail):
        return
    again = ending.delay if isinstance(ending, Again) else None
    log.error(
        "action %s (%s) failed in attempt %d%s: %s",
        claim.id,
        claim.kind,
        claim.attempt,
        "" if again is None else f", again in {seconds_of(again):.1f} s",
        ending.error,
        exc_info=error,
        extra={
            "action_id": str(claim.id),
            "kind": claim.kind,
            "attempt": claim.attempt,
            "tenant": claim.tenant,
            "correlation_id": claim.correlation_id,
        },
    )
