"""Records how runs ended: in batches, fenced, sent again until the store has answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from uuid import UUID

from duetime.errors import DuetimeError, LeaseLost, StoreUnavailable
from duetime.model.ending import Ending, Finish
from duetime.model.outcome import cut
from duetime.model.state import Outcome, State
from duetime.store.base import Store
from duetime.worker.held import Held, Holdings
from duetime.worker.service import Service

log = logging.getLogger("duetime.worker")

GATHER = 0.02


class Completer:
    """Holds ended runs until their end is on record; only then are they let go.

    Until then the heartbeat renews their leases, so that an outage of the store repeats
    nothing.
    """

    def __init__(
        self,
        store: Store,
        holdings: Holdings,
        batch: int,
        recorded: Callable[[Held, Ending], None],
        flushed: Callable[[], None],
    ) -> None:
        self._store = store
        self._holdings = holdings
        self._batch = batch
        self._recorded = recorded
        self._flushed = flushed
        self._waiting: dict[UUID, tuple[Held, Ending]] = {}
        self._full = asyncio.Event()
        self.service = Service("completion", self._step)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, held: Held, ending: Ending) -> None:
        first = not self._waiting
        self._waiting[held.claim.token] = (held, ending)
        if first:
            self.service.wake()
        if len(self._waiting) >= self._batch:
            self._full.set()

    async def _step(self) -> float:
        if not self._waiting:
            return 3600.0
        await self._gather()
        await self.flush()
        return 0.0 if self._waiting else 3600.0

    async def _gather(self) -> None:
        """Wait a moment for company, one statement for many endings; but not if nothing
        else runs that could end meanwhile."""
        self._full.clear()
        if len(self._waiting) >= min(self._batch, len(self._holdings)):
            return
        try:
            async with asyncio.timeout(GATHER):
                await self._full.wait()
        except TimeoutError:
            return

    async def flush(self) -> None:
        """Record everything that waits now."""
        for batch in _batches(self._waiting.values(), self._batch):
            await self._send(batch)

    async def _send(self, batch: list[tuple[Held, Ending]]) -> None:
        try:
            accepted = await self._store.perform(self._store.complete([e for _, e in batch]))
        except StoreUnavailable:
            raise
        except DuetimeError as error:
            await self._isolate(batch, error)
            return
        for held, ending in batch:
            self._settle(held, ending, ending.id in accepted)
        self._flushed()

    async def _isolate(self, batch: list[tuple[Held, Ending]], error: DuetimeError) -> None:
        """The store refused the data of some ending: halve until it is found, fail that one."""
        if len(batch) > 1:
            half = len(batch) // 2
            await self._send(batch[:half])
            await self._send(batch[half:])
            return
        held, ending = batch[0]
        plain = Finish(
            id=ending.id,
            token=ending.token,
            state=State.failed,
            outcome=Outcome.failed,
            error=cut(f"its outcome could not be stored: {error}"),
            started_at=ending.started_at,
        )
        if ending == plain:
            raise error
        self._waiting[held.claim.token] = (held, plain)
        await self._send([(held, plain)])

    def _settle(self, held: Held, ending: Ending, accepted: bool) -> None:
        del self._waiting[held.claim.token]
        self._holdings.drop(held)
        if accepted:
            self._recorded(held, ending)
        else:
            log.warning("%s", LeaseLost(held.claim.id))


def _batches(waiting: Iterable[tuple[Held, Ending]], size: int) -> list[list[tuple[Held, Ending]]]:
    """In order, and one ending per action in each: a worker that stood still for a lease may
    hold the old and the new run of the same action."""
    batches: list[dict[UUID, tuple[Held, Ending]]] = [{}]
    for held, ending in waiting:
        if ending.id in batches[-1] or len(batches[-1]) >= size:
            batches.append({})
        batches[-1][ending.id] = (held, ending)
    return [list(batch.values()) for batch in batches if batch]
