"""Stops a worker in order when a handler raises KeyboardInterrupt, cancels the worker's tasks or
stops the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any
from uuid import UUID

from duetime.errors import WorkerInterrupted
from duetime.logs import get_log
from duetime.model.actions.claim import Claim
from duetime.worker.leases.in_flight import RunsInFlight

log = get_log("duetime.worker")

MAX_NAMED_ACTIONS = 10


class CancellationProbe(asyncio.Future[None]):
    """A future that never completes; reports which task cancels the task that awaits it."""

    def __init__(self, cancelling: Callable[[asyncio.Task[Any] | None], None]) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self._when_cancelling = cancelling

    def cancel(self, msg: Any | None = None) -> bool:
        self._when_cancelling(asyncio.current_task(self.get_loop()))
        return super().cancel(msg)


class Interruption:
    """Ends the `async with` block of a worker from within, by cancelling the task that runs it."""

    def __init__(self, worker: str, runs: RunsInFlight) -> None:
        self._worker = worker
        self._runs = runs
        self._owner: asyncio.Task[Any] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._stopping = False
        self._reported = False
        self._error: BaseException | None = None
        # The actions whose handlers caused the interruption.
        self._interrupting_claims: dict[UUID, Claim] = {}

    def enter(self) -> None:
        """Begin the block that may be ended. Code that cancels all tasks also cancels the one that
        awaits the probe."""
        self._owner = asyncio.current_task()
        self._probe = CancellationProbe(self._cancelling)
        self._watch = self.start(_wait(self._probe))

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a service, without which the worker must not go on."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._service_ended)
        return task

    def stop(self) -> None:
        """The worker stops: the block need not be ended any more."""
        self._stopping = True

    def close(self) -> None:
        """The worker has stopped."""
        if self._watch is not None and not self._probe.done():
            self._probe.set_result(None)

    @property
    def all_tasks_cancelled(self) -> bool:
        """Whether all tasks of the worker are cancelled: then none waits for its runs, either."""
        return self._watch is not None and self._watch.cancelling() > 0

    @property
    def caused_by_handler(self) -> bool:
        """Whether a handler caused the interruption, and not code outside the worker."""
        return bool(self._interrupting_claims)

    def handler_raised(self, claim: Claim, error: KeyboardInterrupt) -> None:
        self._interrupting_claims[claim.id] = claim
        log.error("worker %s stops: %s raised KeyboardInterrupt", self._worker, _names([claim]))
        self._cancel_owner(error)

    def raise_error(self, raised: type[BaseException] | None) -> None:
        """Raise what ended the block, unless the block raised an error of its own."""
        own = raised is not None and not issubclass(raised, asyncio.CancelledError)
        if self._error is None or own:
            return
        while self._owner is not None and self._owner.cancelling():
            self._owner.uncancel()
        raise self._error

    def _cancelling(self, by: asyncio.Task[Any] | None) -> None:
        for run in self._runs if by is not None else ():
            if run.task is by:
                self._interrupting_claims[run.claim.id] = run.claim

    def _service_ended(self, task: asyncio.Task[None]) -> None:
        interrupted_stop = self._stopping and not self.all_tasks_cancelled
        if not task.cancelled() or self._reported or interrupted_stop:
            return
        self._reported = True
        started = [run.claim for run in self._runs if run.started_at is not None]
        reason = _reason([*self._interrupting_claims.values()], started)
        log.error("worker %s stops: %s", self._worker, reason)
        self._cancel_owner(WorkerInterrupted(self._worker, reason))

    def _cancel_owner(self, error: BaseException) -> None:
        """End the block. If it ends by itself, because its task is cancelled like the others, it
        raises another error only if a handler caused that."""
        ending = self._stopping or self._owner is None or self._owner.cancelling()
        if not ending or self.caused_by_handler:
            self._error = self._error or error
        if not ending and self._owner is not None:
            self._owner.cancel()


async def _wait(probe: CancellationProbe) -> None:
    await probe


def _reason(interrupting: Sequence[Claim], started: Sequence[Claim]) -> str:
    if interrupting:
        return f"{_names(interrupting)} cancelled its tasks; handlers may cancel tasks of their own"
    during = f", while these ran: {_names(started)}" if started else ""
    return f"its tasks were cancelled, or its event loop was stopped, from outside{during}"


def _names(claims: Sequence[Claim]) -> str:
    shown = [f"action {claim.id} ({claim.kind})" for claim in claims[:MAX_NAMED_ACTIONS]]
    more = len(claims) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
