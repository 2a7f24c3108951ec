"""Reports stored completions: to meters, and to subscribers of events."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from duetime.events.types import (
    EVENT_BY_STATE,
    ActionCancelled,
    cancelled_events,
    claim_subject,
    finish_event,
    job_events,
    record_subject,
)
from duetime.model.actions.action import Record
from duetime.model.actions.claim import Claim, Expired
from duetime.model.actions.completion import Completion, Finish
from duetime.model.jobs.change import AppliedJobChange, JobUpdate
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.model.trace import scheduling_trace
from duetime.registry.runtime import AppRuntime
from duetime.telemetry.tracing import span
from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.figures import FigureCounter
from duetime.worker.leases.in_flight import InFlightRun


class Reporter:
    """Reports only what the store has accepted."""

    def __init__(
        self, runtime: AppRuntime, figures: FigureCounter, pauses: KnownPauses | None = None
    ) -> None:
        self._pauses = pauses or KnownPauses()
        self._store = runtime.store
        self._events = runtime.events
        self._meters = runtime.meters
        self._figures = figures
        self._emitting: set[asyncio.Task[None]] = set()

    def recorded(self, run: InFlightRun, completion: Completion) -> None:
        claim = run.claim
        if run.started_at is not None and run.finished_at is not None:
            self._figures.count(claim, completion.outcome, run.started_at, run.finished_at)
        if self._meters.measuring:
            self._measure(run, completion)
        if run.span is not None:
            run.span.accepted(completion.outcome, completion.error)
        if isinstance(completion, Finish):
            self._emit_finished(claim, completion)

    def _measure(self, run: InFlightRun, completion: Completion) -> None:
        claim = run.claim
        if run.started_at is not None and run.finished_at is not None:
            startable_at = claim.due_at
            if self._pauses.lifted:
                startable_at = self._pauses.startable_from(claim.lane, startable_at)
            self._meters.ran(
                claim,
                completion.outcome,
                late=(run.started_at - startable_at) / 1_000_000,
                took=(run.finished_at - run.started_at) / 1_000_000,
            )
        state = completion.state if isinstance(completion, Finish) else None
        self._meters.ended(claim, completion.outcome, state)

    def caught_up(self, claims: Sequence[Claim]) -> None:
        with span(
            "duetime.catch_up",
            [scheduling_trace(claim.trace) for claim in claims],
            {"messaging.batch.message_count": len(claims)},
        ):
            for claim in claims:
                self._meters.redispatched(claim)

    async def lost(self, expired: Expired, completion: Completion, now: int) -> None:
        """Report a run that was lost. If the rescue finished its action, the record is read: there
        is no claim here."""
        self._figures.count_lost(expired, now)
        self._meters.lost(expired)
        if isinstance(completion, Finish):
            record = await self._store.perform(self._store.get(completion.id, ANY))
            self._meters.record_finished(record, completion.state)
            await self._events.emit([finish_event(record_subject(record), completion)])

    def jobs_changed(self, ends: Sequence[JobUpdate]) -> None:
        events = [event for end in ends for event in job_events(end.before, end.after)]
        if events:
            self._spawn(self._events.emit(events))

    def ticked(self, changes: Sequence[AppliedJobChange]) -> None:
        """Report occurrences of jobs whose ticks have come."""
        if self._meters.measuring:
            for change in changes:
                self._meters.occurred(change.occurrences)
        self.jobs_changed([JobUpdate(each.before, each.after) for each in changes if each.before])

    def children_settled(self, children: Sequence[Record]) -> None:
        """Report children that were cancelled because their parent did not finish as required."""
        for child in children:
            if child.state is State.cancelled:
                self._meters.record_finished(child, State.cancelled)
        if self._events.has_subscribers(ActionCancelled):
            self._spawn(self._events.emit(cancelled_events([], children)))

    async def drain(self) -> None:
        """Wait until every subscriber was called."""
        while self._emitting:
            # Not gather: with finished tasks it does not yield, and they would never be discarded.
            await asyncio.wait(self._emitting)

    def _emit_finished(self, claim: Claim, completion: Finish) -> None:
        event = EVENT_BY_STATE[completion.state]
        if self._events.wants(event, kind=claim.kind, tenant=claim.tenant):
            self._spawn(self._events.emit([finish_event(claim_subject(claim), completion)]))

    def _spawn(self, emission: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(emission)
        self._emitting.add(task)
        task.add_done_callback(self._emitting.discard)
