"""A client process that schedules, cancels, moves and retries, through a failing network."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from duetime.api.actions import ActionVerbs
from duetime.api.operation import Operation
from duetime.errors import DuetimeError, StoreUnavailable
from duetime.events.bus import Events
from duetime.model.actions.action import Action
from duetime.model.actions.chain import On
from duetime.model.actions.new_actions import IfExists
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import Priority
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.registry.runtime import AppRuntime
from simulation.clocks import LoopClock
from simulation.faulty_store import FaultyStore
from simulation.handler_script import Script
from simulation.handlers import ALL, PAYLOADS, TYPES
from simulation.network import Network
from simulation.node import HOUR, METERS
from simulation.real_store import RealStore
from simulation.scenario import Scenario
from simulation.virtual_loop import Process

ON: list[On] = ["succeeded", "failed", "finished"]
IF_EXISTS: list[IfExists] = ["return", "replace", "raise"]


class Client:
    """Records which calls were acknowledged, for the final check."""

    def __init__(
        self, network: Network, real_store: RealStore, scenario: Scenario, scripts: Sequence[Script]
    ) -> None:
        self._loop = network.loop
        self._trace = network.trace
        self._real_store = real_store
        self._scenario = scenario
        self._scripts = scripts
        self._rng = Random(f"{scenario.seed}/customer")
        self._expiry_rng = Random(f"{scenario.seed}/expiry")
        self._clock = LoopClock(self._loop)
        self.process = Process("customer")
        store = FaultyStore(real_store, network.line(self.process))
        skewed = LoopClock(self._loop, self._rng.uniform(-HOUR, HOUR))
        ids = TimeOrderedIds(skewed, self._rng.randbytes)
        runtime = AppRuntime(store, PAYLOADS, ALL, Events(), METERS, skewed)
        self._verbs = ActionVerbs(runtime, ids, 1_000_000)
        self._store = store
        self.promised: list[UUID] = []
        self.cancelled: list[UUID] = []

    async def run(self) -> None:
        """Schedule everything while faults are injected, and edit actions at the same time."""
        pause = self._scenario.chaos / len(self._scripts) / 2
        for number, script in enumerate(self._scripts):
            self._start(self._schedule(number, script))
            self._start(self._edit())
            await asyncio.sleep(self._rng.expovariate(1 / pause))

    def _start(self, call: Any) -> None:
        """Start a task of its own, so that a lost reply delays no other call."""
        self._loop.spawn(self.process, call)

    # -- scheduling ------------------------------------------------------------------

    async def _schedule(self, number: int, script: Script) -> None:
        rng = self._rng
        operation = self._verbs.schedule(
            TYPES[script.kind](number),
            **self._with_expiry(self._when()),
            key=rng.choice([None, None, None, "k1", "k2"]),
            if_exists=rng.choice(IF_EXISTS),
            **self._lane() | self._parent(),
            correlation_id=rng.choice([None, "c1", "c2"]),
        )
        action = await self._schedule_until_acknowledged(operation)
        if action is not None:
            self.promised.append(action.id)

    def _parent(self) -> dict[str, Any]:
        """Return arguments that make a third of the actions children of an existing one."""
        parent = self._pick() if self._rng.random() < 0.35 else None
        record = self._real_store.record(parent) if parent else None
        if record is None:
            return {}
        return {"after": parent, "on": self._rng.choice(ON), "tenant": record.tenant}

    def _lane(self) -> dict[str, Any]:
        rng = self._rng
        if self._scenario.one_lane:
            return {}
        return {
            "queue": rng.choice([None, None, "bulk"]),
            "priority": rng.choice(list(Priority)),
            "tenant": rng.choice([None, None, "t1", "t2"]),
        }

    def _when(self) -> dict[str, Any]:
        rng, length = self._rng, self._scenario.chaos
        return rng.choice(
            [
                {},
                {"delay": rng.uniform(0, length)},
                {"delay": rng.uniform(0, 2)},
                {"at": self._at(rng.uniform(0, length))},
                {"at": self._at(rng.uniform(-5, 0))},
            ]
        )

    def _with_expiry(self, when: dict[str, Any]) -> dict[str, Any]:
        """Let some of the actions expire a while after they are due."""
        rng = self._expiry_rng
        if rng.random() >= self._scenario.expiring:
            return when
        due = when.get("at") or self._at(when.get("delay", 0.0))
        left = timedelta(seconds=rng.choice([1.0, self._scenario.chaos / 2]) * rng.uniform(0.1, 1))
        return when | {"expires": max(due, self._clock.now()) + left}

    def _at(self, seconds: float) -> datetime:
        return self._clock.now() + timedelta(seconds=seconds)

    async def _schedule_until_acknowledged(self, operation: Operation[Action]) -> Action | None:
        """Repeat the same flow until it is answered; the action id makes repetition safe."""
        while True:
            try:
                action: Action = await self._perform(operation)
                return action
            except StoreUnavailable:
                self._trace.count("schedules sent again")
                await asyncio.sleep(self._rng.uniform(0.1, 1))
            except DuetimeError:
                return None

    async def _perform(self, operation: Operation[Any]) -> Any:
        return operation.to_result(await self._store.perform(operation.flow))

    # -- editing ---------------------------------------------------------------------

    async def _edit(self) -> None:
        await asyncio.sleep(self._rng.expovariate(1))
        edit = self._rng.choice(
            [
                self._cancel,
                self._cancel,
                self._reschedule,
                self._reschedule,
                self._retry,
                self._edit_group,
            ]
        )
        try:
            await edit()
        except DuetimeError as error:
            self._trace.count(f"refused: {type(error).__name__}")

    def _pick(self, state: State | None = None) -> UUID | None:
        ids = [i for i, r in self._real_store.snapshot().items() if state in (None, r.state)]
        return self._rng.choice(ids) if ids else None

    async def _cancel(self) -> None:
        running = self._rng.random() < 0.5
        if (action_id := self._pick(State.running if running else None)) is None:
            return
        action = await self._perform(self._verbs.cancel(action_id, running=running, tenant=ANY))
        if action.state is State.cancelled:
            self.cancelled.append(action_id)

    async def _reschedule(self) -> None:
        if (action_id := self._pick(self._rng.choice([None, State.scheduled]))) is not None:
            seconds = self._rng.uniform(-1, self._scenario.chaos / 2)
            operation = self._verbs.reschedule(action_id, at=self._at(seconds), tenant=ANY)
            await self._perform(operation)

    async def _retry(self) -> None:
        if (action_id := self._pick(State.failed)) is not None:
            await self._perform(self._verbs.retry(action_id, tenant=ANY))

    async def _edit_group(self) -> None:
        group = self._rng.choice(["c1", "c2"])
        if self._rng.random() < 0.5:
            await self._perform(self._verbs.retry_many(correlation_id=group, tenant=ANY))
        elif self._rng.random() < 0.2:
            await self._perform(self._verbs.cancel_many(correlation_id=group, tenant=ANY))
