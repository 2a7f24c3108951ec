"""Settles the children of what has ended: makes them due, or cancels them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from uuid import UUID

from duetime.events.outbox_store import Telling
from duetime.model.actions.action import Record
from duetime.store.base import Store
from duetime.store.settlement import MOST
from duetime.worker.service import NO_HURRY, Service


class Chainer:
    """Apart from completion, which waits for no child; transaction by transaction, however many
    children and levels there are. What a crash leaves undone is found by a sweep.

    `settled` is told the children; `done` when none is left and some were found.
    """

    def __init__(
        self,
        store: Store,
        telling: Telling,
        settled: Callable[[Sequence[Record]], None],
        done: Callable[[], None],
    ) -> None:
        self._store = store
        self._telling = telling
        self._settled = settled
        self._done = done
        self._parents: dict[UUID, None] = {}
        self.service = Service("chain", self._step)

    def __len__(self) -> int:
        return len(self._parents)

    def ended(self, parents: Iterable[UUID]) -> None:
        self._parents |= dict.fromkeys(parents)
        if self._parents:
            self.service.wake()

    async def _step(self) -> float:
        found = False
        while self._parents:
            found = await self.settle_some() or found
        if found:
            self._done()
        return NO_HURRY

    async def settle_some(self) -> bool:
        """One transaction; whether it found any children."""
        parents = list(islice(self._parents, MOST))
        done = await self._store.perform(self._telling.settle(parents))
        for one in parents:
            del self._parents[one]
        self._parents |= dict.fromkeys(done.rest)
        self._settled(done.settled)
        return bool(done.settled)
