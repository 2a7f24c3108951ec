"""Runs a handler in a transaction whose commit also stores its completion."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from duetime.errors import ConfigError, StoreUnavailable
from duetime.logs import get_log
from duetime.model.actions.completion import Completion, CompletionResult
from duetime.model.actions.outcome import (
    ConnectionBroken,
    HandlerResult,
    Released,
    Returned,
    describe,
)
from duetime.model.actions.signals import SIGNALS, Cancel, Fail, Release, RetryAfter
from duetime.model.state import Outcome
from duetime.store.base import Store
from duetime.store.current_transaction import use_transaction
from duetime.store.flow import Flow
from duetime.store.transaction import (
    ConnectionStillInUse,
    JoinedStore,
    RunBlocking,
    TransactionFactory,
    UserCommitted,
)

T = TypeVar("T")

log = get_log("duetime.worker")

# Pause before an unreachable database is asked again.
RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run whose completion the store has answered: accepted, or refused because its lease was
    lost."""

    completion: Completion
    accepted: bool
    result: CompletionResult


class HandlerTimeout(Exception):
    """The handler's own timeout expired; distinct from a TimeoutError that the handler raised."""


# The handler's call with the lent connection, and the wrapper that limits its time.
Work = Callable[[object], Coroutine[Any, Any, Any]]
WithTimeout = Callable[[Awaitable[Any]], Awaitable[Any]]
DecideCompletion = Callable[[HandlerResult], Completion]


class AwaitableJoinedStore(JoinedStore):
    """The store joined to a blocking transaction, for verbs that middleware or an async dependency
    awaits. A statement that waits for a lock must not stop the loop: the owner of the lock may need
    it to commit."""

    def __init__(self, joined: JoinedStore, run_blocking: RunBlocking) -> None:
        self._joined = joined
        self._run_blocking = run_blocking

    async def perform(self, flow: Flow[T]) -> T:
        done = await self._run_blocking(lambda: self._joined.perform_blocking(flow))
        return cast("T", done)

    def perform_blocking(self, flow: Flow[T]) -> T:
        return self._joined.perform_blocking(flow)

    def after_commit(self, call: Callable[[], None]) -> bool:
        return self._joined.after_commit(call)


class TransactionalRun:
    """One run: begin, work, complete, commit. An exception of the handler rolls everything back."""

    def __init__(
        self,
        store: Store,
        factory: TransactionFactory,
        run_blocking: RunBlocking,
        work: Work,
        timed: WithTimeout,
        decide: DecideCompletion,
        complete: Callable[[Completion], Flow[CompletionResult]],
    ) -> None:
        self._store = store
        self._factory = factory
        self._transaction = factory.open()
        self._run_blocking = run_blocking
        self._work = work
        self._timed = timed
        self._decide = decide
        self._completion_flow = complete

    async def run(self) -> HandlerResult | RecordedRun:
        try:
            lent = await self._transaction.begin(self._run_blocking)
        except Exception as error:
            await self._close()
            if isinstance(error, ConfigError | TypeError):
                raise  # a retry would fail in the same way
            return _released("its transaction could not begin", error)
        try:
            result = await self._run_with(lent)
        except GeneratorExit:
            raise  # the loop is closed: nothing can be awaited any more
        except BaseException:
            await self._close()
            raise
        await self._close()
        return result

    async def _run_with(self, lent: object) -> HandlerResult | RecordedRun:
        try:
            value = await self._run_handler(lent)
            await self._transaction.check(self._run_blocking)
            completion = self._decide(Returned(value))
            _refuse_commit(value, completion)
            return await self._complete_and_commit(completion)
        except GeneratorExit:
            raise
        except BaseException as error:
            await self._roll_back()
            result = self._outcome_of(error)
            if result is None:
                raise
            return result

    async def _run_handler(self, lent: object) -> Any:
        try:
            with use_transaction(self._store, self._joined_for_handler()):
                return await self._timed(self._transaction.run_handler(self._work(lent)))
        except GeneratorExit:
            raise
        except BaseException as error:
            if await self._ended_by_handler(error):
                # The completion reports the commit; the exception must not go unnoticed.
                log.error(
                    "a handler ended its transaction by itself and then raised %s",
                    describe(error),
                    exc_info=error,
                )
                raise UserCommitted from error
            raise

    def _joined_for_handler(self) -> JoinedStore:
        joined = self._transaction.joined
        return (
            AwaitableJoinedStore(joined, self._run_blocking) if self._factory.blocking else joined
        )

    async def _ended_by_handler(self, error: BaseException) -> bool:
        try:
            return await self._transaction.closed_by_handler(self._run_blocking, error)
        except ConnectionStillInUse as left:
            raise left from error
        except Exception as failure:
            # The handler's exception stands; a broken connection is detected next.
            level = logging.DEBUG if self._transaction.is_disconnect(failure) else logging.WARNING
            log.log(level, "cannot tell whether a handler ended its transaction", exc_info=True)
            return False

    def _outcome_of(self, error: BaseException) -> HandlerResult | None:
        """Return the outcome that an error means after the rollback; None if the error itself says
        it. Raises Fail if the handler ended the transaction, or may have, so that part of its work
        may be committed."""
        if refusal := self._transaction.refusal(error):
            # Another attempt would fail in the same way, or repeat what was committed.
            raise Fail(str(refusal)) from error
        chosen = isinstance(error, (*SIGNALS, HandlerTimeout, asyncio.CancelledError))
        if not chosen and self._transaction.is_disconnect(error):
            return ConnectionBroken(f"its transaction broke: {describe(error)}")
        return None

    async def _complete_and_commit(self, completion: Completion) -> HandlerResult | RecordedRun:
        try:
            done = await self._complete(completion)
        except Exception as error:
            await self._refuse_own_commit(error)
            if not self._transaction.is_conflict(error):
                raise
            await self._roll_back()
            return _released("its completion met a lock, or its session lost a plan", error)
        accepted = completion.id in done.applied
        await (self._commit(completion) if accepted else self._roll_back())
        return RecordedRun(completion, accepted, done)

    async def _refuse_own_commit(self, error: Exception) -> None:
        """Raise if the handler committed by itself: its work must not be repeated, whatever
        happened to the completion."""
        if not isinstance(error, UserCommitted) and await self._ended_by_handler(error):
            raise UserCommitted from error

    async def _complete(self, completion: Completion) -> CompletionResult:
        """Perform the last statement, which is fenced: only it locks the action's row."""
        flow, joined = self._completion_flow(completion), self._transaction.joined
        if self._factory.blocking:
            return cast(
                "CompletionResult",
                await self._run_blocking(lambda: joined.perform_final_blocking(flow)),
            )
        return await joined.perform_final(flow)

    async def _commit(self, completion: Completion) -> None:
        try:
            await _uninterrupted(self._transaction.commit(self._run_blocking))
        except Exception as error:
            # A transaction that is still open would lock the row that is read next.
            await self._roll_back()
            await self._close()
            if not await self._took_effect(completion):
                raise
            log.info("a commit took effect although its reply was lost: %s", describe(error))
        self._transaction.run_after_commit()

    async def _took_effect(self, completion: Completion) -> bool:
        """Return whether the commit took effect. Asks until the store answers: only the store
        knows."""
        flow = self._factory.took_effect(completion)
        while True:
            try:
                return bool(await self._run_blocking(lambda: self._store.perform_blocking(flow)))
            except StoreUnavailable as error:
                log.warning(
                    "cannot tell yet whether action %s was committed: %s", completion.id, error
                )
                await self._run_blocking(lambda: time.sleep(RETRY_SECONDS))

    async def _roll_back(self) -> None:
        await self._logging_errors(self._transaction.rollback(self._run_blocking))

    async def _close(self) -> None:
        await self._logging_errors(self._transaction.close(self._run_blocking))

    async def _logging_errors(self, cleanup: Coroutine[Any, Any, None]) -> None:
        """Await a rollback or close, and log its errors. A broken transaction needs neither:
        without its connection the database discards it."""
        try:
            await cleanup
        except Exception as error:
            level = logging.DEBUG if self._transaction.is_disconnect(error) else logging.WARNING
            log.log(level, "a transaction could not be rolled back or closed", exc_info=True)


def _released(what: str, error: Exception) -> Released:
    """Release the run without counting an attempt: the handler is not at fault, and nothing of its
    work remains."""
    reason = f"{what}: {describe(error)}"
    log.warning("%s", reason)
    return Released(reason, RETRY_SECONDS)


def _refuse_commit(value: object, completion: Completion) -> None:
    """Raise what rolls the handler's work back, unless its run ends as the handler meant: a result
    that cannot be stored fails, and work that is done again must not be committed."""
    if isinstance(value, Release) or (
        isinstance(value, Cancel) and completion.outcome is not Outcome.cancelled
    ):
        raise value
    if completion.outcome is Outcome.failed and not isinstance(value, Fail | RetryAfter):
        raise Fail(completion.error or "")


async def _uninterrupted(commit: Coroutine[Any, Any, None]) -> None:
    """Await a commit to its end, even if the task is cancelled."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        await commit  # in a thread, where there is no cancellation
        return
    task = loop.create_task(commit)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise
        await asyncio.wait([task])
        task.result()
