"""Tells what was recorded: to the meters, and to subscribers of events."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from duetime.events.types import (
    ENDINGS,
    ActionCancelled,
    cancellations,
    ending_event,
    job_events,
    of_claim,
    of_record,
)
from duetime.model.actions.action import Record
from duetime.model.actions.claim import Claim
from duetime.model.actions.completion import Ending, Finish
from duetime.model.jobs.change import JobEnd
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.registry.runtime import Parts
from duetime.worker.leases.in_flight import Held


class Reporter:
    """Speaks only of what the store has accepted."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.store
        self._events = parts.events
        self._meters = parts.meters
        self._telling: set[asyncio.Task[None]] = set()

    def recorded(self, held: Held, ending: Ending) -> None:
        claim = held.claim
        if held.started_at is not None and held.ended_at is not None:
            self._meters.ran(
                claim.kind,
                claim.tenant,
                late=(held.started_at - claim.due_at) / 1_000_000,
                took=(held.ended_at - held.started_at) / 1_000_000,
            )
        if isinstance(ending, Finish):
            self._meters.finished(claim.kind, claim.tenant, ending.state)
            self._tell(claim, ending)

    def caught_up(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            self._meters.redispatched(claim.kind, claim.tenant)

    async def lost(self, ending: Ending) -> None:
        """A rescue that ended an action has no claim here: its record says what it was."""
        if isinstance(ending, Finish):
            record = await self._store.perform(self._store.get(ending.id, ANY))
            self._meters.finished(record.kind, record.tenant, ending.state)
            await self._events.emit([ending_event(of_record(record), ending)])

    def jobs_ended(self, ends: Sequence[JobEnd]) -> None:
        told = [event for one in ends for event in job_events(one.before, one.after)]
        if told:
            self._spawn(self._events.emit(told))

    def settled(self, children: Sequence[Record]) -> None:
        """Children whose parent did not end as they need it were cancelled."""
        for child in children:
            if child.state is State.cancelled:
                self._meters.finished(child.kind, child.tenant, State.cancelled)
        if self._events.wanted(ActionCancelled):
            self._spawn(self._events.emit(cancellations([], children)))

    async def settle(self) -> None:
        """Wait until every subscriber was told."""
        while self._telling:
            # Not gather: of tasks that are done it does not yield, and they would stay.
            await asyncio.wait(self._telling)

    def _tell(self, claim: Claim, ending: Finish) -> None:
        if self._events.wanted(ENDINGS[ending.state]):
            self._spawn(self._events.emit([ending_event(of_claim(claim), ending)]))

    def _spawn(self, telling: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(telling)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)
