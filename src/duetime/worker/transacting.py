"""Runs a handler in a transaction whose commit is also the completion."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from duetime.errors import ConfigError, StoreUnavailable
from duetime.model.ending import Completed, Ending, Finish
from duetime.model.outcome import Broken, Cancel, End, Fail, Released, Returned, Snooze, describe
from duetime.model.state import State
from duetime.store.ambient import within
from duetime.store.base import Store
from duetime.store.transaction import Hop, Opener, OwnCommit, Transaction, met_a_lock

log = logging.getLogger("duetime.worker")

# A database that cannot be reached is asked again so many seconds later.
PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """The run is over, and the store knows it; or will not hear of it: its lease was lost.
    `parents` is it, if children may wait for it."""

    ending: Ending
    accepted: bool
    parents: Collection[UUID] = ()


# What the handler does with what its transaction gave it.
Work = Callable[[object], Awaitable[Any]]
Decide = Callable[[End], Ending]


async def transact(
    store: Store, opener: Opener, hop: Hop, work: Work, decide: Decide
) -> End | Recorded:
    """Begin, work, complete, commit. What the handler raises takes everything back."""
    transaction = opener.open()
    try:
        lent = await transaction.begin(hop)
    except Exception as error:
        await _quietly(transaction.close(hop))
        if isinstance(error, ConfigError | TypeError):
            raise  # waiting will not mend it
        return _given_back("its transaction could not begin", error)
    try:
        end = await _within(store, opener, transaction, lent, hop, work, decide)
    except GeneratorExit:
        raise  # the loop is gone, and nobody is left to wait for anything
    except BaseException:
        await _quietly(transaction.close(hop))
        raise
    await _quietly(transaction.close(hop))
    return end


async def _within(
    store: Store,
    opener: Opener,
    transaction: Transaction,
    lent: object,
    hop: Hop,
    work: Work,
    decide: Decide,
) -> End | Recorded:
    try:
        with within(store, transaction.joined):
            value = await work(lent)
        transaction.check()
        ending = decide(Returned(value))
        _refuse_result(value, ending)
        try:
            done = await _complete(store, opener, transaction, hop, ending)
        except Exception as error:
            if not met_a_lock(error):
                raise
            await _quietly(transaction.rollback(hop))
            return _given_back("its completion met a lock", error)
        accepted = ending.id in done.ended
        if accepted:
            await _commit(store, transaction, hop, ending)
        else:
            await _quietly(transaction.rollback(hop))
        return Recorded(ending, accepted, done.parents)
    except GeneratorExit:
        raise
    except BaseException as error:
        await _quietly(transaction.rollback(hop))
        chosen = isinstance(error, Snooze | Cancel | Fail)
        if not chosen and transaction.broken(error):
            return Broken(f"its transaction broke: {describe(error)}")
        if transaction.refused(error):
            # To run it again would end in the same way, or do twice what it committed.
            raise Fail(str(OwnCommit())) from error
        raise


def _given_back(what: str, error: Exception) -> Released:
    """Not the handler's fault, and nothing of it remains: it costs no attempt."""
    reason = f"{what}: {describe(error)}"
    log.warning("%s", reason)
    return Released(reason, PAUSE)


def _refuse_result(value: object, ending: Ending) -> None:
    """A result that cannot be kept fails the run: then nothing else of it may be kept either."""
    if isinstance(ending, Finish) and ending.state is State.failed and not isinstance(value, Fail):
        raise Fail(ending.error or "")


async def _complete(
    store: Store, opener: Opener, transaction: Transaction, hop: Hop, ending: Ending
) -> Completed:
    """The last statement, fenced: only for it is the action's row locked."""
    flow, joined = store.complete([ending]), transaction.joined
    if opener.blocking:
        return cast("Completed", await hop(lambda: joined.perform_last_blocking(flow)))
    return await joined.perform_last(flow)


async def _commit(store: Store, transaction: Transaction, hop: Hop, ending: Ending) -> None:
    try:
        await _whole(transaction.commit(hop))
    except Exception as error:
        # A transaction that is still open would hold the very row that is asked for.
        await _quietly(transaction.rollback(hop))
        await _quietly(transaction.close(hop))
        if not await _took_effect(store, hop, ending):
            raise
        log.info("a commit whose reply was lost did happen: %s", describe(error))
    transaction.committed()


async def _took_effect(store: Store, hop: Hop, ending: Ending) -> bool:
    """Ask until the store answers: nobody else can say whether there was a commit."""
    while True:
        try:
            return bool(await hop(lambda: store.perform_blocking(store.took_effect(ending))))
        except StoreUnavailable as error:
            log.warning("whether action %s was committed is unknown: %s", ending.id, error)
            await hop(lambda: time.sleep(PAUSE))


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


async def _quietly(ending: Coroutine[Any, Any, None]) -> None:
    """What cannot be rolled back or closed is broken: the server has rolled it back."""
    try:
        await ending
    except Exception:
        log.debug("a transaction could not be ended in order", exc_info=True)
