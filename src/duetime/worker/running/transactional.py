"""Runs a handler in a transaction whose commit is also the completion."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

from duetime.errors import ConfigError, StoreUnavailable
from duetime.model.actions.completion import Completed, Ending, Finish
from duetime.model.actions.outcome import Broken, End, Released, Returned, describe
from duetime.model.actions.signals import Cancel, Fail, Snooze
from duetime.model.state import State
from duetime.store.base import Store
from duetime.store.current_transaction import within
from duetime.store.flow import Flow
from duetime.store.transaction import Hop, LeftAtWork, Opener, OwnCommit

log = logging.getLogger("duetime.worker")

# A database that cannot be reached is asked again so many seconds later.
PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """The run is over, and the store knows it; or will not hear of it: its lease was lost."""

    ending: Ending
    accepted: bool
    done: Completed


class Late(Exception):
    """The handler's own time is over; not a TimeoutError that it met itself."""


# What the handler does with what its transaction gave it, and within what time.
Work = Callable[[object], Coroutine[Any, Any, Any]]
Timed = Callable[[Awaitable[Any]], Awaitable[Any]]
Decide = Callable[[End], Ending]


class Transacting:
    """One run: begin, work, complete, commit. What the handler raises takes everything back."""

    def __init__(
        self,
        store: Store,
        opener: Opener,
        hop: Hop,
        work: Work,
        timed: Timed,
        decide: Decide,
        complete: Callable[[Ending], Flow[Completed]],
    ) -> None:
        self._store = store
        self._opener = opener
        self._transaction = opener.open()
        self._hop = hop
        self._work = work
        self._timed = timed
        self._decide = decide
        self._flow_of = complete

    async def run(self) -> End | Recorded:
        try:
            lent = await self._transaction.begin(self._hop)
        except Exception as error:
            await self._close()
            if isinstance(error, ConfigError | TypeError):
                raise  # waiting will not mend it
            return _given_back("its transaction could not begin", error)
        try:
            end = await self._run_with(lent)
        except GeneratorExit:
            raise  # the loop is gone, and nobody is left to wait for anything
        except BaseException:
            await self._close()
            raise
        await self._close()
        return end

    async def _run_with(self, lent: object) -> End | Recorded:
        try:
            value = await self._worked(lent)
            await self._transaction.check(self._hop)
            ending = self._decide(Returned(value))
            _refuse_result(value, ending)
            return await self._conclude(ending)
        except GeneratorExit:
            raise
        except BaseException as error:
            await self._roll_back()
            end = self._judged(error)
            if end is None:
                raise
            return end

    async def _worked(self, lent: object) -> Any:
        try:
            with within(self._store, self._transaction.joined):
                return await self._timed(self._transaction.work(self._work(lent)))
        except GeneratorExit:
            raise
        except BaseException as error:
            if await self._ended_early(error):
                # What is recorded tells of the commit; what it raised must not go unseen.
                log.error(
                    "a handler ended its transaction by itself, and then raised %s",
                    describe(error),
                    exc_info=error,
                )
                raise OwnCommit from error
            raise

    async def _ended_early(self, error: BaseException) -> bool:
        try:
            return await self._transaction.ended_early(self._hop, error)
        except LeftAtWork as left:
            raise left from error
        except Exception as failure:
            # What the handler said stands; and if its connection broke, that is found next.
            level = logging.DEBUG if self._transaction.broken(failure) else logging.WARNING
            log.log(level, "whether a handler ended its transaction is unknown", exc_info=True)
            return False

    def _judged(self, error: BaseException) -> End | None:
        """What it means, now that all that could be was taken back; None if the error itself says
        it. Raises Fail if the handler ended the transaction, or may have, so that part of it may be
        kept."""
        if refusal := self._transaction.refusal(error):
            # To run it again would end in the same way, or do twice what it committed.
            raise Fail(str(refusal)) from error
        chosen = isinstance(error, Snooze | Cancel | Fail | Late | asyncio.CancelledError)
        if not chosen and self._transaction.broken(error):
            return Broken(f"its transaction broke: {describe(error)}")
        return None

    async def _conclude(self, ending: Ending) -> End | Recorded:
        try:
            done = await self._complete(ending)
        except Exception as error:
            await self._refuse_own_commit(error)
            if not self._transaction.met_another(error):
                raise
            await self._roll_back()
            return _given_back("its completion met a lock, or its session lost a plan", error)
        accepted = ending.id in done.ended
        await (self._commit(ending) if accepted else self._roll_back())
        return Recorded(ending, accepted, done)

    async def _refuse_own_commit(self, error: Exception) -> None:
        """What the handler committed by itself must not be done again, whatever became of the
        completion."""
        if not isinstance(error, OwnCommit) and await self._ended_early(error):
            raise OwnCommit from error

    async def _complete(self, ending: Ending) -> Completed:
        """The last statement, fenced: only for it is the action's row locked."""
        flow, joined = self._flow_of(ending), self._transaction.joined
        if self._opener.blocking:
            return cast("Completed", await self._hop(lambda: joined.perform_last_blocking(flow)))
        return await joined.perform_last(flow)

    async def _commit(self, ending: Ending) -> None:
        try:
            await _whole(self._transaction.commit(self._hop))
        except Exception as error:
            # A transaction that is still open would hold the very row that is asked for.
            await self._roll_back()
            await self._close()
            if not await self._took_effect(ending):
                raise
            log.info("a commit whose reply was lost did happen: %s", describe(error))
        self._transaction.committed()

    async def _took_effect(self, ending: Ending) -> bool:
        """Ask until the store answers: nobody else can say whether there was a commit."""
        flow = self._opener.took_effect(ending)
        while True:
            try:
                return bool(await self._hop(lambda: self._store.perform_blocking(flow)))
            except StoreUnavailable as error:
                log.warning("whether action %s was committed is unknown: %s", ending.id, error)
                await self._hop(lambda: time.sleep(PAUSE))

    async def _roll_back(self) -> None:
        await self._quietly(self._transaction.rollback(self._hop))

    async def _close(self) -> None:
        await self._quietly(self._transaction.close(self._hop))

    async def _quietly(self, ending: Coroutine[Any, Any, None]) -> None:
        """What broke cannot be rolled back or closed, and need not be: without its connection the
        database keeps nothing of it."""
        try:
            await ending
        except Exception as error:
            level = logging.DEBUG if self._transaction.broken(error) else logging.WARNING
            log.log(level, "a transaction could not be ended in order", exc_info=True)


def _given_back(what: str, error: Exception) -> Released:
    """Not the handler's fault, and nothing of it remains: it costs no attempt."""
    reason = f"{what}: {describe(error)}"
    log.warning("%s", reason)
    return Released(reason, PAUSE)


def _refuse_result(value: object, ending: Ending) -> None:
    """A result that cannot be kept fails the run: then nothing else of it may be kept either."""
    if isinstance(ending, Finish) and ending.state is State.failed and not isinstance(value, Fail):
        raise Fail(ending.error or "")


async def _whole(commit: Coroutine[Any, Any, None]) -> None:
    """A commit under way is not interrupted, neither by a stop nor by anything else."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        await commit  # in a thread, where nothing interrupts
        return
    task = loop.create_task(commit)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise
        await asyncio.wait([task])
        task.result()
