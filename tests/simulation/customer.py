"""A client process that schedules, cancels, moves and retries, through a failing network."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from duetime.api.actions import Client
from duetime.api.operation import Operation
from duetime.errors import DuetimeError, StoreUnavailable
from duetime.events.bus import (
    Events,
)
from duetime.model.actions.action import Action
from duetime.model.actions.chain import On
from duetime.model.actions.new_actions import IfExists
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import Priority
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.registry.runtime import Parts
from simulation.clocks import LoopClock
from simulation.faulty import FaultyStore
from simulation.handlers import ALL, PAYLOADS, TYPES
from simulation.loop import Process
from simulation.network import Network
from simulation.node import HOUR, METERS
from simulation.scenario import Scenario
from simulation.script import Script
from simulation.truth import Truth

ON: list[On] = ["succeeded", "failed", "finished"]
IF_EXISTS: list[IfExists] = ["return", "replace", "raise"]


class Customer:
    """Knows what it was promised: that is what the checker holds the cluster to."""

    def __init__(
        self, network: Network, truth: Truth, scenario: Scenario, scripts: Sequence[Script]
    ) -> None:
        self._loop = network.loop
        self._trace = network.trace
        self._truth = truth
        self._scenario = scenario
        self._scripts = scripts
        self._dice = Random(f"{scenario.seed}/customer")
        self._clock = LoopClock(self._loop)
        self.process = Process("customer")
        store = FaultyStore(truth, network.line(self.process))
        skewed = LoopClock(self._loop, self._dice.uniform(-HOUR, HOUR))
        ids = TimeOrderedIds(skewed, self._dice.randbytes)
        parts = Parts(store, PAYLOADS, ALL, Events(), METERS, skewed)
        self._client = Client(parts, ids, 1_000_000)
        self._store = store
        self.promised: list[UUID] = []
        self.cancelled: list[UUID] = []

    async def run(self) -> None:
        """Schedule everything in the first part of the chaos, and meddle all the time."""
        pause = self._scenario.chaos / len(self._scripts) / 2
        for number, script in enumerate(self._scripts):
            self._start(self._schedule(number, script))
            self._start(self._meddle())
            await asyncio.sleep(self._dice.expovariate(1 / pause))

    def _start(self, doing: Any) -> None:
        """Each on its own: what waits for a lost reply holds up nothing else."""
        self._loop.spawn(self.process, doing)

    # -- scheduling ------------------------------------------------------------------

    async def _schedule(self, number: int, script: Script) -> None:
        dice = self._dice
        plan = self._client.schedule(
            TYPES[script.kind](number),
            **self._when(),
            key=dice.choice([None, None, None, "k1", "k2"]),
            if_exists=dice.choice(IF_EXISTS),
            **self._lane() | self._parent(),
            correlation_id=dice.choice([None, "c1", "c2"]),
        )
        action = await self._insist(plan)
        if action is not None:
            self.promised.append(action.id)

    def _parent(self) -> dict[str, Any]:
        """A third waits for one that is there, finished or not."""
        parent = self._pick() if self._dice.random() < 0.35 else None
        record = self._truth.record(parent) if parent else None
        if record is None:
            return {}
        return {"after": parent, "on": self._dice.choice(ON), "tenant": record.tenant}

    def _lane(self) -> dict[str, Any]:
        dice = self._dice
        if self._scenario.one_lane:
            return {}
        return {
            "queue": dice.choice([None, None, "bulk"]),
            "priority": dice.choice(list(Priority)),
            "tenant": dice.choice([None, None, "t1", "t2"]),
        }

    def _when(self) -> dict[str, Any]:
        dice, length = self._dice, self._scenario.chaos
        return dice.choice(
            [
                {},
                {"delay": dice.uniform(0, length)},
                {"delay": dice.uniform(0, 2)},
                {"at": self._at(dice.uniform(0, length))},
                {"at": self._at(dice.uniform(-5, 0))},
            ]
        )

    def _at(self, seconds: float) -> datetime:
        return self._clock.now() + timedelta(seconds=seconds)

    async def _insist(self, plan: Operation[Action]) -> Action | None:
        """Perform the same flow until it was answered: the id makes that safe."""
        while True:
            try:
                action: Action = await self._perform(plan)
                return action
            except StoreUnavailable:
                self._trace.count("schedules sent again")
                await asyncio.sleep(self._dice.uniform(0.1, 1))
            except DuetimeError:
                return None

    async def _perform(self, plan: Operation[Any]) -> Any:
        return plan.then(await self._store.perform(plan.flow))

    # -- meddling --------------------------------------------------------------------

    async def _meddle(self) -> None:
        await asyncio.sleep(self._dice.expovariate(1))
        doing = self._dice.choice(
            [
                self._cancel,
                self._cancel,
                self._reschedule,
                self._reschedule,
                self._retry,
                self._many,
            ]
        )
        try:
            await doing()
        except DuetimeError as error:
            self._trace.count(f"refused: {type(error).__name__}")

    def _pick(self, state: State | None = None) -> UUID | None:
        found = [i for i, r in self._truth.snapshot().items() if state in (None, r.state)]
        return self._dice.choice(found) if found else None

    async def _cancel(self) -> None:
        running = self._dice.random() < 0.5
        if (action_id := self._pick(State.running if running else None)) is None:
            return
        action = await self._perform(self._client.cancel(action_id, running=running, tenant=ANY))
        if action.state is State.cancelled:
            self.cancelled.append(action_id)

    async def _reschedule(self) -> None:
        if (action_id := self._pick(self._dice.choice([None, State.scheduled]))) is not None:
            seconds = self._dice.uniform(-1, self._scenario.chaos / 2)
            plan = self._client.reschedule(action_id, at=self._at(seconds), tenant=ANY)
            await self._perform(plan)

    async def _retry(self) -> None:
        if (action_id := self._pick(State.failed)) is not None:
            await self._perform(self._client.retry(action_id, tenant=ANY))

    async def _many(self) -> None:
        group = self._dice.choice(["c1", "c2"])
        if self._dice.random() < 0.5:
            await self._perform(self._client.retry_many(correlation_id=group, tenant=ANY))
        elif self._dice.random() < 0.2:
            await self._perform(self._client.cancel_many(correlation_id=group, tenant=ANY))
