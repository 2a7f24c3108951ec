"""People who pause, resume, trigger, remove, restore, put and backfill jobs at any time."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from duetime.api.jobs import JobClient
from duetime.api.operation import Operation
from duetime.config import Settings
from duetime.errors import DuetimeError
from duetime.events.bus import (
    Events,
)
from duetime.model.clock import from_micros
from duetime.model.ids import TimeOrderedIds
from duetime.model.tenant import ANY
from duetime.registry.runtime import Parts
from recurrence.act import Act
from recurrence.month import Month
from recurrence.release import Chore, Release
from recurrence.timetable import changed, draw_spec
from recurrence.wire import Wire
from simulation.clocks import LoopClock
from simulation.faulty import FaultyStore, named
from simulation.loop import Process
from simulation.node import HOUR, METERS
from simulation.truth import Truth

MINUTE = 60_000_000
DAY = 1440 * MINUTE

VERBS = {
    "pause": 4,
    "pause until": 4,
    "resume": 6,
    "trigger": 8,
    "remove": 2,
    "restore": 4,
    "put": 4,
    "backfill": 4,
}


class People:
    """One process; each act on its own, through the failing network, and never sent again."""

    def __init__(self, wire: Wire, truth: Truth, month: Month, release: Release) -> None:
        self._loop = wire.loop
        self._month = month
        self._dice = Random(f"{month.seed}/people")
        self._truth = truth
        self.process = Process("people")
        self._store = FaultyStore(truth, wire.line(self.process))
        wrong = LoopClock(self._loop, month.begun + self._dice.uniform(-HOUR, HOUR))
        parts = Parts(self._store, release.payloads, release.handlers, Events(), METERS, wrong)
        ids = TimeOrderedIds(wrong, self._dice.randbytes)
        self._client = JobClient(parts, ids, Settings(name=month.scenario.settings.app))
        self._declared = [*release.specs]
        self._loose = [f"shop-put-{number}" for number in range(max(month.jobs // 10, 2))]
        self._specs = {
            name: draw_spec(self._dice, name, month.begin, month.busy) for name in self._loose
        }
        self._acts = 0

    async def run(self, pace: float) -> None:
        while True:
            await asyncio.sleep(self._dice.expovariate(1 / pace))
            self._loop.spawn(self.process, self._act())

    async def _act(self) -> None:
        self._acts += 1
        verb = self._dice.choices([*VERBS], [*VERBS.values()])[0]
        name = self._dice.choice([*self._declared, *self._loose])
        act, plan = getattr(self, f"_{verb.replace(' ', '_')}")(name, f"person-{self._acts}")
        try:
            await self._store.perform(named("act", plan.flow, act))
        except DuetimeError:
            return

    # -- their verbs -----------------------------------------------------------------

    def _pause(self, name: str, by: str) -> tuple[Act, Operation[Any]]:
        return Act(verb="pause", name=name, by=by), self._client.pause(name, by=by, tenant=ANY)

    def _pause_until(self, name: str, by: str) -> tuple[Act, Operation[Any]]:
        until = self._soon()
        plan = self._client.pause(name, by=by, until=from_micros(until), tenant=ANY)
        return Act(verb="pause", name=name, by=by, until=until), plan

    def _soon(self) -> int:
        """Often a whole minute, at which a tick may be due; sometimes it has passed."""
        later = self._truth.now + self._dice.randint(-MINUTE, 3 * DAY)
        return later - later % (15 * MINUTE) if self._dice.random() < 0.7 else later

    def _resume(self, name: str, by: str) -> tuple[Act, Operation[Any]]:
        return Act(verb="resume", name=name, by=by), self._client.resume(name, by=by, tenant=ANY)

    def _trigger(self, name: str, by: str) -> tuple[Act, Operation[Any]]:
        return Act(verb="trigger", name=name, by=by), self._client.trigger(name, by=by, tenant=ANY)

    def _remove(self, name: str, by: str) -> tuple[Act, Operation[Any]]:
        return Act(verb="remove", name=name, by=by), self._client.remove(name, by=by, tenant=ANY)

    def _restore(self, name: str, by: str) -> tuple[Act, Operation[Any]]:
        return Act(verb="restore", name=name, by=by), self._client.restore(name, by=by, tenant=ANY)

    def _put(self, _: str, by: str) -> tuple[Act, Operation[Any]]:
        dice, month = self._dice, self._month
        name = dice.choice(self._loose)
        if dice.random() < 0.7:
            self._specs[name] = changed(dice, self._specs[name], month.begin, month.busy)
        spec = self._specs[name]
        plan = self._client.put(
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
        return Act(verb="put", name=name, by=by, spec=spec), plan

    def _backfill(self, name: str, by: str) -> tuple[Act, Operation[Any]]:
        end = self._truth.now - self._dice.randint(-MINUTE, 2 * DAY)
        start = end - self._dice.randint(MINUTE, DAY // 4)
        plan = self._client.backfill(
            name, from_micros(start), from_micros(end), dry_run=False, by=by, tenant=ANY
        )
        return Act(verb="backfill", name=name, by=by, start=start, end=end), plan
