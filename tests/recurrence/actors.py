"""What the handlers of jobs do: they take their time, fail now and then, and are watched."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from random import Random
from uuid import UUID

from duetime.model.actions.signals import Fail
from duetime.model.jobs.job import Overlap
from duetime.registry.context import Context
from recurrence.book import Book
from recurrence.machine import Machine
from simulation.loop import Process, SimLoop

# Instants are cut to microseconds in two places.
ROUNDING = 1
HOUR = 3600.0


class Broken(Exception):
    """What a handler raises that may be tried again."""


class Actors:
    """All handlers of one history."""

    def __init__(
        self, loop: SimLoop, book: Book, seed: int, machine_of: Callable[[Process], Machine]
    ) -> None:
        self._loop = loop
        self._book = book
        self._dice = Random(f"{seed}/actors")
        self._machine_of = machine_of
        self._running: dict[str, dict[int, tuple[UUID, UUID]]] = defaultdict(dict)
        self._starts = 0

    async def play(self, _: int, ctx: Context) -> object:
        assert self._loop.current is not None
        assert ctx.job is not None
        token = self._machine_of(self._loop.current).token_of(ctx.action_id)
        assert token is not None, "a handler runs that its worker does not hold"
        self._judge_time(ctx)
        self._judge_company(ctx.job, ctx.action_id)
        self._starts += 1
        number, running = self._starts, self._running[ctx.job]
        running[number] = (ctx.action_id, token)
        name = self._book.trace.action(ctx.action_id)
        self._book.trace.add("starts", ctx.job, name, ctx.attempt)
        try:
            await asyncio.sleep(self._seconds(ctx.job))
            self._maybe_fail()
        finally:
            del running[number]
        return None

    def _seconds(self, job: str) -> float:
        """Mostly short; sometimes longer than its job leaves between two ticks."""
        dice = self._dice
        chance = dice.random()
        if chance < 0.9:
            return dice.expovariate(1 / 20)
        return dice.uniform(600, 3 * HOUR) if chance < 0.97 else dice.uniform(3, 30) * HOUR

    def _maybe_fail(self) -> None:
        chance = self._dice.random()
        if chance < 0.1:
            raise Broken
        if chance < 0.13:
            raise Fail("never again")

    def _judge_time(self, ctx: Context) -> None:
        ground = self._book.ground
        record = ground.record(ctx.action_id)
        if record is None or record.job != ctx.job:
            self._book.wrong("a handler runs for nothing", ctx.job)
            return
        earliest = max(record.due_at or 0, record.tick or 0)
        if ground.now + ROUNDING < earliest:
            self._book.wrong("started before its time", ctx.job, earliest - ground.now)

    def _judge_company(self, job: str, own: UUID) -> None:
        """One at a time, as long as the store knows of the other."""
        if self._book.accounts[job].spec.overlap is Overlap.allow:
            return
        for action_id, token in self._running[job].values():
            record = self._book.ground.record(action_id)
            if record is None or record.token != token or record.state.finished:
                self._book.trace.count("overlaps by a loss")
            else:
                self._book.wrong("two occurrences run at once", job)
