"""An operator who pauses and resumes queues at random moments, through a failing network."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from duetime.errors import DuetimeError
from duetime.model.act import Act
from duetime.store.flow import Flow
from simulation.faulty_store import FaultyStore
from simulation.network import Network
from simulation.real_store import RealStore
from simulation.scenario import Scenario
from simulation.virtual_loop import Process

QUEUES = ["default", "bulk"]
OPERATOR = Act("operator")


class Pauser:
    """Pauses with an end, pauses without one, replaces pauses, and resumes."""

    def __init__(self, network: Network, real_store: RealStore, scenario: Scenario) -> None:
        self._trace = network.trace
        self._scenario = scenario
        self._real_store = real_store
        self._rng = Random(f"{scenario.seed}/pauser")
        self.process = Process("operator")
        self._store = FaultyStore(real_store, network.line(self.process))

    async def run(self) -> None:
        """Act until cancelled."""
        mean = self._scenario.pausing
        while mean:
            await asyncio.sleep(self._rng.expovariate(1 / mean))
            try:
                await self._store.perform(self._act(self._rng.choice(QUEUES)))
            except DuetimeError as error:
                self._trace.count(f"refused: {type(error).__name__}")

    def _act(self, queue: str) -> Flow[Any]:
        kind = self._rng.choice(["for a while", "for a while", "pause", "resume"])
        if kind == "resume":
            return self._store.resume_queue(queue, OPERATOR)
        until = None
        if kind == "for a while":
            length = self._scenario.pausing * self._rng.choice([0.5, 2.0]) * self._rng.random()
            until = self._real_store.now + 1 + int(length * 1_000_000)
        return self._store.pause_queue(queue, OPERATOR, until=until)

    def resume_all(self) -> None:
        """Resume all queues in the store itself, so that everything can finish."""
        for queue in QUEUES:
            self._real_store.perform_blocking(self._real_store.resume_queue(queue, OPERATOR))
