"""Operators: they pause, resume, trigger, remove, restore, put and backfill jobs at any time."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from duetime.api.jobs import JobVerbs
from duetime.api.operation import Operation
from duetime.config import Settings
from duetime.errors import DuetimeError
from duetime.events.bus import Events
from duetime.model.clock import from_micros
from duetime.model.ids import TimeOrderedIds
from duetime.model.tenant import ANY
from duetime.registry.runtime import AppRuntime
from job_simulation.job_specs import draw_spec, redrawn
from job_simulation.network import JobNetwork
from job_simulation.operator_call import OperatorCall
from job_simulation.release import Chore, Release
from job_simulation.scenario import JobScenario
from simulation.clocks import LoopClock
from simulation.faulty_store import FaultyStore, label
from simulation.node import HOUR, METERS
from simulation.real_store import RealStore
from simulation.virtual_loop import Process

MINUTE = 60_000_000
DAY = 1440 * MINUTE

VERB_WEIGHTS = {
    "pause": 4,
    "pause until": 4,
    "resume": 6,
    "trigger": 8,
    "remove": 2,
    "restore": 4,
    "put": 4,
    "backfill": 4,
}


class Operators:
    """One process that makes each call in a task of its own, without repeating lost calls."""

    def __init__(
        self, network: JobNetwork, real_store: RealStore, scenario: JobScenario, release: Release
    ) -> None:
        self._loop = network.loop
        self._scenario = scenario
        self._rng = Random(f"{scenario.seed}/people")
        self._real_store = real_store
        self.process = Process("operators")
        self._store = FaultyStore(real_store, network.line(self.process))
        skewed_clock = LoopClock(
            self._loop, scenario.begin_seconds + self._rng.uniform(-HOUR, HOUR)
        )
        runtime = AppRuntime(
            self._store, release.payloads, release.handlers, Events(), METERS, skewed_clock
        )
        ids = TimeOrderedIds(skewed_clock, self._rng.randbytes)
        self._verbs = JobVerbs(runtime, ids, Settings(name=scenario.cluster.settings.app))
        self._declared = [*release.specs]
        self._undeclared = [f"shop-put-{number}" for number in range(max(scenario.jobs // 10, 2))]
        self._specs = {
            name: draw_spec(self._rng, name, scenario.begin, scenario.busy)
            for name in self._undeclared
        }
        self._calls = 0

    async def run(self, pace: float) -> None:
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / pace))
            self._loop.spawn(self.process, self._call())

    async def _call(self) -> None:
        self._calls += 1
        verb = self._rng.choices([*VERB_WEIGHTS], [*VERB_WEIGHTS.values()])[0]
        name = self._rng.choice([*self._declared, *self._undeclared])
        call, operation = getattr(self, f"_{verb.replace(' ', '_')}")(
            name, f"operator-{self._calls}"
        )
        try:
            await self._store.perform(label("operator_call", operation.flow, call))
        except DuetimeError:
            return

    # -- verbs -----------------------------------------------------------------------

    def _pause(self, name: str, by: str) -> tuple[OperatorCall, Operation[Any]]:
        return OperatorCall(verb="pause", name=name, by=by), self._verbs.pause(
            name, by=by, tenant=ANY
        )

    def _pause_until(self, name: str, by: str) -> tuple[OperatorCall, Operation[Any]]:
        until = self._soon()
        operation = self._verbs.pause(name, by=by, until=from_micros(until), tenant=ANY)
        return OperatorCall(verb="pause", name=name, by=by, until=until), operation

    def _soon(self) -> int:
        """Return an instant: often a full quarter of an hour, sometimes in the past."""
        later = self._real_store.now + self._rng.randint(-MINUTE, 3 * DAY)
        return later - later % (15 * MINUTE) if self._rng.random() < 0.7 else later

    def _resume(self, name: str, by: str) -> tuple[OperatorCall, Operation[Any]]:
        return OperatorCall(verb="resume", name=name, by=by), self._verbs.resume(
            name, by=by, tenant=ANY
        )

    def _trigger(self, name: str, by: str) -> tuple[OperatorCall, Operation[Any]]:
        return OperatorCall(verb="trigger", name=name, by=by), self._verbs.trigger(
            name, by=by, tenant=ANY
        )

    def _remove(self, name: str, by: str) -> tuple[OperatorCall, Operation[Any]]:
        return OperatorCall(verb="remove", name=name, by=by), self._verbs.remove(
            name, by=by, tenant=ANY
        )

    def _restore(self, name: str, by: str) -> tuple[OperatorCall, Operation[Any]]:
        return OperatorCall(verb="restore", name=name, by=by), self._verbs.restore(
            name, by=by, tenant=ANY
        )

    def _put(self, _: str, by: str) -> tuple[OperatorCall, Operation[Any]]:
        rng, scenario = self._rng, self._scenario
        name = rng.choice(self._undeclared)
        if rng.random() < 0.7:
            self._specs[name] = redrawn(rng, self._specs[name], scenario.begin, scenario.busy)
        spec = self._specs[name]
        operation = self._verbs.put(
            name,
            spec.rule,
            payload=Chore(1),
            misfire=spec.misfire,
            overlap=spec.overlap,
            jitter=spec.jitter,
            alert_after=spec.alert_after,
            tenant=None,
            by=by,
        )
        return OperatorCall(verb="put", name=name, by=by, spec=spec), operation

    def _backfill(self, name: str, by: str) -> tuple[OperatorCall, Operation[Any]]:
        end = self._real_store.now - self._rng.randint(-MINUTE, 2 * DAY)
        start = end - self._rng.randint(MINUTE, DAY // 4)
        operation = self._verbs.backfill(
            name, from_micros(start), from_micros(end), dry_run=False, by=by, tenant=ANY
        )
        return OperatorCall(verb="backfill", name=name, by=by, start=start, end=end), operation
