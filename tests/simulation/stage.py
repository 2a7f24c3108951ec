"""Where handlers play their scripts, and where poison kills the process it runs in."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from random import Random

from duetime.errors import LeaseLost, StoreUnavailable
from duetime.model.actions.signals import Cancel, Fail, Snooze
from duetime.registry.context import Context
from simulation.clocks import instant
from simulation.ledger import Ledger, Start
from simulation.loop import Process, SimLoop, SimTask
from simulation.node import Node
from simulation.scenario import Scenario
from simulation.script import Script, Step
from simulation.trace import Trace

SLACK = 1.0


class Broken(Exception):
    """What a handler raises that fails."""


class Stage:
    """All handlers of one history."""

    def __init__(
        self,
        loop: SimLoop,
        scenario: Scenario,
        scripts: Sequence[Script],
        ledger: Ledger,
        trace: Trace,
        *,
        node: Callable[[Process], Node],
        crash: Callable[[Node, Start], None],
    ) -> None:
        self._loop = loop
        self._scenario = scenario
        self._scripts = scripts
        self._ledger = ledger
        self._trace = trace
        self._node = node
        self._crash = crash
        self._dice = Random(f"{scenario.seed}/stage")
        self.calm_at: float | None = None

    async def play(self, number: int, ctx: Context) -> object:
        process = self._loop.current
        assert process is not None
        node = self._node(process)
        step = self._scripts[number].step(self._ledger.earlier(ctx.action_id))
        try:
            start = self._start(node, ctx)
        except Exception as error:
            self._trace.violation("the simulation cannot follow", repr(error))
            raise
        try:
            return await self._run(node, start, step)
        except asyncio.CancelledError:
            if node.alive:
                self._ledger.end(start, "interrupted")
            raise
        finally:
            if node.alive:
                self._judge_told(node, start)

    def _start(self, node: Node, ctx: Context) -> Start:
        task = asyncio.current_task()
        token = node.token_of(ctx.action_id)
        assert isinstance(task, SimTask)
        assert token is not None, "a handler runs that its worker does not hold"
        self._ledger.judge_beliefs(node.beliefs())
        return self._ledger.start(node.process, token, ctx, task.made_at, node.disturbed_at)

    async def _run(self, node: Node, start: Start, step: Step) -> object:
        await self._pass(start.context, step)
        try:
            if step.notes:
                await start.context.progress(start.number)
        except (LeaseLost, StoreUnavailable):
            self._ledger.end(start, "raise")
            raise
        if step.end == "poison" or (step.end == "exit" and self._dice.random() < 0.5):
            self._crash(node, start)
            await self._loop.create_future()
        return self._finish(start, step)

    async def _pass(self, ctx: Context, step: Step) -> None:
        """Work for a while; who heeds looks now and then whether to stop."""
        if not step.heeds:
            await asyncio.sleep(step.seconds)
            return
        looks = math.ceil(step.seconds / (self._scenario.settings.lease / 6))
        for _ in range(looks):
            if not ctx.cancelled:
                await asyncio.sleep(step.seconds / looks)

    def _finish(self, start: Start, step: Step) -> object:
        result = {"start": start.number}
        how = "ok" if step.end == "exit" else step.end
        self._ledger.end(start, how, result)
        match how:
            case "raise":
                raise Broken(start.number)
            case "snooze":
                return Snooze(self._dice.uniform(0, 3))
            case "fail":
                raise Fail("never again")
            case "cancel":
                return Cancel("no longer wanted")
        return result

    def _judge_told(self, node: Node, start: Start) -> None:
        """A handler that lost its lease, or was asked to stop, knows it after a heartbeat."""
        lease, patience = self._scenario.settings.lease, self._scenario.patience
        hold, now = start.hold, instant(self._loop.time())
        lost = instant(node.disturbed_at)
        if hold.ended_at is not None:
            bound = (lease / 3 + patience + SLACK) * 1_000_000
            if now - max(lost, hold.ended_at) > bound and not start.context.cancelled:
                self._trace.violation("a handler was not told that its lease is lost", start.number)
        elif hold.stop_asked_at is not None and self.calm_at is not None:
            asked = max(hold.stop_asked_at, instant(self.calm_at + patience), lost)
            if now - asked > (lease / 3 + SLACK) * 1_000_000 and not start.context.cancelled:
                self._trace.violation("a handler was not asked to stop", start.number)
