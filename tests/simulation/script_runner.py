"""Runs the scripts of handlers; a poison script kills the process that it runs in."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from random import Random

from duetime.errors import LeaseLost, StoreUnavailable
from duetime.model.actions.signals import Cancel, Fail, Release, Snooze
from duetime.registry.context import Context
from simulation.clocks import instant
from simulation.handler_script import Script, Step
from simulation.ledger import Ledger, Start
from simulation.node import Node
from simulation.scenario import Scenario
from simulation.trace import Trace
from simulation.virtual_loop import Process, SimLoop, SimTask

SLACK_SECONDS = 1.0


class HandlerError(Exception):
    """Raised by a handler whose script says so."""


class ScriptRunner:
    """Runs all handlers of one history."""

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
        self._rng = Random(f"{scenario.seed}/stage")
        self.calm_at: float | None = None

    async def play(self, number: int, ctx: Context) -> object:
        process = self._loop.current
        assert process is not None
        node = self._node(process)
        step = self._scripts[number].step(self._ledger.count_starts(ctx.action_id))
        try:
            start = self._start(node, ctx)
        except Exception as error:
            self._trace.violation("the simulation cannot record a start", repr(error))
            raise
        try:
            return await self._run(node, start, step)
        except asyncio.CancelledError:
            if node.alive:
                self._ledger.end(start, "interrupted")
            raise
        finally:
            if node.alive:
                self._check_notified(node, start)

    def _start(self, node: Node, ctx: Context) -> Start:
        task = asyncio.current_task()
        token = node.token_of(ctx.action_id)
        assert isinstance(task, SimTask)
        assert token is not None, "a handler runs that its worker does not hold"
        self._ledger.check_assumed_leases(node.assumed_leases())
        return self._ledger.start(node.process, token, ctx, task.created_at, node.disturbed_at)

    async def _run(self, node: Node, start: Start, step: Step) -> object:
        await self._work(start.context, step)
        try:
            if step.notes_progress:
                await start.context.progress(start.number)
        except (LeaseLost, StoreUnavailable):
            self._ledger.end(start, "raise")
            raise
        if step.end == "poison" or (step.end == "exit" and self._rng.random() < 0.5):
            self._crash(node, start)
            await self._loop.create_future()
        return self._finish(start, step)

    async def _work(self, ctx: Context, step: Step) -> None:
        """Take the scripted time; a cooperative handler checks now and then whether to stop."""
        if not step.cooperative:
            await asyncio.sleep(step.seconds)
            return
        checks = math.ceil(step.seconds / (self._scenario.settings.lease / 6))
        for _ in range(checks):
            if not ctx.cancelled:
                await asyncio.sleep(step.seconds / checks)

    def _finish(self, start: Start, step: Step) -> object:
        result = {"start": start.number}
        how: str = "ok" if step.end == "exit" else step.end
        if how in ("cancel", "release") and start.context.stop_reason is not None:
            # Whoever asked says what becomes of the action.
            how = f"stopped: {start.context.stop_reason}"
            self._trace.count(how)
        self._ledger.end(start, how, result)
        match step.end:
            case "raise":
                raise HandlerError(start.number)
            case "snooze":
                return Snooze(self._rng.uniform(0, 3))
            case "fail":
                raise Fail("never again")
            case "cancel":
                return Cancel("no longer wanted")
            case "release":
                raise Release("handed back")
        return result

    def _check_notified(self, node: Node, start: Start) -> None:
        """Check that a handler learned of a lost lease or stop request within a heartbeat."""
        lease, call_timeout = self._scenario.settings.lease, self._scenario.call_timeout
        claim, now = start.claim, instant(self._loop.time())
        disturbed_at = instant(node.disturbed_at)
        if claim.finished_at is not None:
            bound = (lease / 3 + call_timeout + SLACK_SECONDS) * 1_000_000
            if now - max(disturbed_at, claim.finished_at) > bound and not start.context.cancelled:
                self._trace.violation("a handler was not notified of its lost lease", start.number)
        elif claim.stop_requested_at is not None and self.calm_at is not None:
            requested_at = max(
                claim.stop_requested_at, instant(self.calm_at + call_timeout), disturbed_at
            )
            if (
                now - requested_at > (lease / 3 + SLACK_SECONDS) * 1_000_000
                and not start.context.cancelled
            ):
                self._trace.violation("a handler was not asked to stop", start.number)
