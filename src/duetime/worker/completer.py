"""Records how runs ended: in batches, fenced, sent again until the store has answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from duetime.errors import InvalidArgument, InvalidPayload, LeaseLost
from duetime.events.outbox_store import Telling
from duetime.model.actions.completion import Completed, Ending, Finish
from duetime.model.actions.outcome import cut
from duetime.model.state import Outcome, State
from duetime.store.base import Store
from duetime.worker.backoff import HeldUp
from duetime.worker.leases.in_flight import Held, Holdings
from duetime.worker.service import NO_HURRY, Service

log = logging.getLogger("duetime.worker")

GATHER = 0.02

# Which of those that wait are sent together; asked of all at once, not by a call for each.
Sort = Callable[[Iterable[Held]], Iterator[Held]]


class Completer:
    """Holds ended runs until their end is on record; only then are they let go.

    Until then the heartbeat renews their leases, so that an outage of the store repeats
    nothing. Where a batch is full while another is under way, it is sent beside it: the disk
    takes its time, and so do networks.
    """

    def __init__(
        self,
        store: Store,
        holdings: Holdings,
        batch: int,
        telling: Telling,
        recorded: Callable[[Held, Ending], None],
        flushed: Callable[[], None],
        ended: Callable[[Completed], None],
    ) -> None:
        self._store = store
        self._holdings = holdings
        self._batch = batch
        self._telling = telling
        self._recorded = recorded
        self._flushed = flushed
        self._ended = ended
        self._waiting: dict[Held, Ending] = {}
        self._sent: dict[Held, Ending] = {}
        self._put_off: dict[Held, Ending] = {}
        self._held_up = HeldUp()
        self._full = asyncio.Event()
        self.service = Service("completion", self._step)
        self.beside = Service("completion beside another", self._step_beside)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._sent) + len(self._put_off)

    def add(self, held: Held, ending: Ending) -> None:
        first = not self._waiting
        self._waiting[held] = ending
        if first:
            self.service.wake()
        if len(self._waiting) >= self._batch:
            self._full.set()
            self.beside.wake()

    async def _step(self) -> float:
        if not self._waiting:
            return NO_HURRY
        await self._gather()
        # One of each sort: while plain ones never cease, the others must not wait for a pause.
        for sort in SORTS:
            await self._send_next(sort)
        return 0.0 if self._waiting else NO_HURRY

    async def _step_beside(self) -> float:
        if len(self._waiting) < self._batch or not self._sent:
            return NO_HURRY
        return 0.0 if await self._send_next(_plain) else NO_HURRY

    async def _gather(self) -> None:
        """Wait a moment for company, one statement for many endings; but not if nothing
        else runs that could end meanwhile."""
        self._full.clear()
        if len(self._waiting) >= min(self._batch, len(self._holdings) - len(self._sent)):
            return
        try:
            async with asyncio.timeout(GATHER):
                await self._full.wait()
        except TimeoutError:
            return

    async def flush(self) -> None:
        """Record everything that waits now."""
        for sort in SORTS:
            for _ in range(0, len([*sort(self._waiting)]), self._most(sort)):
                await self._send_next(sort)

    def _most(self, sort: Sort) -> int:
        """A lost one goes alone: what became of its action since may be among the others."""
        return 1 if sort is _lost else self._batch

    async def _send_next(self, sort: Sort) -> bool:
        """Whether there was any."""
        batch = list(islice(sort(self._waiting), self._most(sort)))
        if not batch:
            return False
        for held in batch:
            self._sent[held] = self._waiting.pop(held)
        try:
            await self._send(batch)
        except BaseException:
            self._take_back(batch)
            raise
        return True

    def _take_back(self, batch: Sequence[Held]) -> None:
        """What has no answer is sent again: nobody but us knows of it."""
        self._waiting |= {held: self._sent.pop(held) for held in batch if held in self._sent}
        self.service.wake()

    async def _send(self, batch: list[Held]) -> None:
        try:
            sent = [(held.claim, self._sent[held]) for held in batch]
            done = await self._store.perform(self._telling.complete(sent, impatient=True))
        except (InvalidArgument, InvalidPayload) as error:
            await self._isolate(batch, error)
            return
        everything = len(done.ended) == len(batch)
        for held in batch:
            if everything or held.claim.id not in done.busy:
                self._settle(held, everything or held.claim.id in done.ended)
        self._wait_for_jobs(batch if done.busy else [])
        self._ended(done)
        self._flushed()

    def _wait_for_jobs(self, batch: Sequence[Held]) -> None:
        """Those that were left alone are sent again in a moment: nobody else waits for them."""
        busy = {held: self._sent.pop(held) for held in batch if held in self._sent}
        if busy:
            self._put_off |= busy
            asyncio.get_running_loop().call_later(self._held_up.again(), self.take_up)
        elif not self._put_off:
            self._held_up.over()

    def take_up(self) -> None:
        """What was put off waits like all others again."""
        again, self._put_off = self._put_off, {}
        for held, ending in again.items():
            self.add(held, ending)

    async def _isolate(self, batch: list[Held], error: Exception) -> None:
        """The store refused the data of some ending: halve until it is found, fail that one.
        Any other error is no reason to change what a handler did: it is sent again."""
        if len(batch) > 1:
            half = len(batch) // 2
            await self._send(batch[:half])
            await self._send(batch[half:])
            return
        [held] = batch
        ending = self._sent[held]
        plain = Finish(
            id=ending.id,
            token=ending.token,
            state=State.failed,
            outcome=Outcome.failed,
            error=cut(f"its outcome could not be stored: {error}"),
            started_at=ending.started_at,
            job=held.claim.job,
            triggered_by=held.claim.triggered_by,
            retried=held.claim.base_attempt > 0,
        )
        if ending == plain:
            # Not even that it failed: it must not hold up the others.
            log.error("the end of action %s cannot be stored: %s", held.claim.id, error)
            self._settle(held, accepted=False)
            return
        self._sent[held] = plain
        await self._send([held])

    def _settle(self, held: Held, accepted: bool) -> None:
        ending = self._sent.pop(held)
        self._holdings.drop(held)
        if accepted:
            self._recorded(held, ending)
        else:
            log.warning("%s", LeaseLost(held.claim.id))


def _lost(waiting: Iterable[Held]) -> Iterator[Held]:
    return (held for held in waiting if held.lost)


def _plain(waiting: Iterable[Held]) -> Iterator[Held]:
    return (held for held in waiting if not held.lost and held.claim.job is None)


def _of_jobs(waiting: Iterable[Held]) -> Iterator[Held]:
    """These may have to wait for a job that somebody holds: nobody else shall."""
    return (held for held in waiting if not held.lost and held.claim.job is not None)


# At most one ending for an action in each batch: a worker that stood still for a lease may hold
# the old and the new run of it, and has lost the old one.
SORTS: Sequence[Sort] = (_lost, _plain, _of_jobs)
