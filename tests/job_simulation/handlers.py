"""Handlers of simulated jobs: they take random time, fail now and then, and check their start."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from random import Random
from uuid import UUID

from duetime.model.actions.signals import Fail
from duetime.model.jobs.job import Overlap
from duetime.registry.context import Context
from job_simulation.job_checker import JobChecker
from job_simulation.node import JobNode
from simulation.virtual_loop import Process, SimLoop

# Instants are truncated to microseconds in two places.
ROUNDING_MICROS = 1
HOUR = 3600.0


class HandlerError(Exception):
    """An error that may be retried."""


class JobHandlers:
    """Runs all handlers of one history."""

    def __init__(
        self, loop: SimLoop, checker: JobChecker, seed: int, node_of: Callable[[Process], JobNode]
    ) -> None:
        self._loop = loop
        self._checker = checker
        self._rng = Random(f"{seed}/actors")
        self._node_of = node_of
        self._running: dict[str, dict[int, tuple[UUID, UUID]]] = defaultdict(dict)
        self._starts = 0

    async def play(self, _: int, ctx: Context) -> object:
        assert self._loop.current is not None
        assert ctx.job is not None
        token = self._node_of(self._loop.current).token_of(ctx.action_id)
        assert token is not None, "a handler runs that its worker does not hold"
        self._check_time(ctx)
        self._check_overlap(ctx.job, ctx.action_id)
        self._starts += 1
        number, running = self._starts, self._running[ctx.job]
        running[number] = (ctx.action_id, token)
        name = self._checker.trace.action(ctx.action_id)
        self._checker.trace.add("starts", ctx.job, name, ctx.attempt)
        try:
            await asyncio.sleep(self._seconds(ctx.job))
            self._maybe_fail()
        finally:
            del running[number]
        return None

    def _seconds(self, job: str) -> float:
        """Draw a duration: mostly short, sometimes longer than the interval between ticks."""
        rng = self._rng
        chance = rng.random()
        if chance < 0.9:
            return rng.expovariate(1 / 20)
        return rng.uniform(600, 3 * HOUR) if chance < 0.97 else rng.uniform(3, 30) * HOUR

    def _maybe_fail(self) -> None:
        chance = self._rng.random()
        if chance < 0.1:
            raise HandlerError
        if chance < 0.13:
            raise Fail("never again")

    def _check_time(self, ctx: Context) -> None:
        store = self._checker.store
        record = store.record(ctx.action_id)
        if record is None or record.job != ctx.job:
            self._checker.violation("a handler runs without a record", ctx.job)
            return
        earliest = max(record.due_at or 0, record.tick or 0)
        if store.now + ROUNDING_MICROS < earliest:
            self._checker.violation("started before its time", ctx.job, earliest - store.now)

    def _check_overlap(self, job: str, own: UUID) -> None:
        """Check that no other occurrence runs whose claim is still valid in the store."""
        if self._checker.expected_jobs[job].spec.overlap is Overlap.allow:
            return
        for action_id, token in self._running[job].values():
            record = self._checker.store.record(action_id)
            if record is None or record.token != token or record.state.finished:
                self._checker.trace.count("overlaps by a loss")
            else:
                self._checker.violation("two occurrences run at once", job)
