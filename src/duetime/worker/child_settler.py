"""Settles the children of finished actions: makes them due, or cancels them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from uuid import UUID

from duetime.events.outbox import OutboxStore
from duetime.logs import get_log
from duetime.model.actions.action import Record
from duetime.model.actions.chain import NO_TRACES, RunTraces
from duetime.store.base import Store
from duetime.store.settlement import MAX_SETTLED
from duetime.worker.refusals import REFUSALS
from duetime.worker.service import UNTIL_WOKEN, Service

log = get_log("duetime.worker")

MAX_LOGGED_PARENTS = 3


class ChildSettler:
    """Works independently of completion, which does not wait for children, one transaction at a
    time, for any number of children and levels. After a crash, a sweep finds what was left.

    `settled` gets the children; `all_settled` is called when no parents are left and children were
    found.
    """

    def __init__(
        self,
        store: Store,
        outbox_store: OutboxStore,
        settled: Callable[[Sequence[Record]], None],
        all_settled: Callable[[], None],
    ) -> None:
        self._store = store
        self._outbox_store = outbox_store
        self._settled = settled
        self._all_settled = all_settled
        # Each with the trace of its run, if that is known.
        self._parents: dict[UUID, str | None] = {}
        self._refused: set[UUID] = set()
        self.service = Service("chain", self._step, on_repeated_failure=self._leave_to_sweep)

    def __len__(self) -> int:
        return len(self._parents)

    def parents_finished(self, parents: Iterable[UUID], run_traces: RunTraces = NO_TRACES) -> None:
        """Settle the children of these parents, which link to the runs with these traces."""
        self._parents |= {parent: run_traces.get(parent) for parent in parents}
        if self._parents:
            self.service.wake()

    async def _step(self) -> float:
        found = False
        while self._parents:
            found = await self.settle_batch() or found
        if found:
            self._all_settled()
        return UNTIL_WOKEN

    async def settle_batch(self) -> bool:
        """Settle the children of some parents in one transaction; return whether there were any."""
        return await self._settle(list(islice(self._parents, MAX_SETTLED)))

    async def _settle(self, parents: Sequence[UUID]) -> bool:
        """Settle the children of these parents. A child that the store refuses must not block those
        of other parents, so refused parents are halved."""
        try:
            done = await self._store.perform(
                self._outbox_store.settle(parents, self._traces(parents))
            )
        except REFUSALS as error:
            if len(parents) == 1:
                self._leave_refused(parents[0], error)
                return False
            half = len(parents) // 2
            found = await self._settle(parents[:half])
            return await self._settle(parents[half:]) or found
        rest: dict[UUID, str | None] = dict.fromkeys(done.rest)
        for parent in parents:
            trace = self._parents.pop(parent)
            if parent in rest:
                rest[parent] = trace
        self._parents |= rest
        self._settled(done.settled)
        return bool(done.settled)

    def _traces(self, parents: Sequence[UUID]) -> RunTraces:
        known = ((parent, self._parents[parent]) for parent in parents)
        return {parent: trace for parent, trace in known if trace is not None}

    def _leave_refused(self, parent: UUID, error: Exception) -> None:
        """Leave a parent of a damaged child; sweeps report it again, which is logged once."""
        del self._parents[parent]
        if parent not in self._refused:
            log.error("the children of action %s cannot be settled: %s", parent, error)
        self._refused.add(parent)

    def _leave_to_sweep(self) -> str:
        """Forget the parents whose settlement fails each time; sweeps report them again."""
        parents = list(islice(self._parents, MAX_SETTLED))
        for parent in parents:
            del self._parents[parent]
        named = ", ".join(map(str, parents[:MAX_LOGGED_PARENTS]))
        return f"leaves the children of {len(parents)} finished actions ({named}) to the next sweep"
