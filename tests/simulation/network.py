"""The unreliable network between processes and the store: slow, lossy, sometimes down."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Any, TypeVar, cast

from duetime.errors import DuetimeError, StoreUnavailable
from duetime.store.base import Listener, OnWake
from duetime.store.flow import Flow, Wake
from duetime.store.sql.postgres.notify import parse_message
from simulation.faulty_store import Call
from simulation.pause_checker import PauseChecker
from simulation.real_store import RealStore
from simulation.scenario import Scenario
from simulation.trace import Trace
from simulation.transaction_checker import TransactionChecker
from simulation.virtual_loop import Process, SimLoop

T = TypeVar("T")

CALM_LATENCY_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class CallFate:
    """Delays and losses of one call."""

    there: float
    back: float
    lost_request: bool
    lost_reply: bool
    noticed: float


class Network:
    """Carries calls to the real store, and wakes back to the processes."""

    def __init__(
        self,
        loop: SimLoop,
        real_store: RealStore,
        transaction_checker: TransactionChecker,
        pause_checker: PauseChecker,
        scenario: Scenario,
        trace: Trace,
    ) -> None:
        self.loop = loop
        self.trace = trace
        self._real_store = real_store
        self._checker = transaction_checker
        self._pause_checker = pause_checker
        self._scenario = scenario
        self._rng = Random(f"{scenario.seed}/network")
        self._lines: list[ProcessConnection] = []
        self._down_until = 0.0
        self._calm = False

    def line(self, process: Process) -> ProcessConnection:
        return ProcessConnection(self, process)

    def go_down(self, seconds: float) -> None:
        self._down_until = max(self._down_until, self.loop.time() + seconds)

    def calm_down(self) -> None:
        """Deliver everything quickly from now on."""
        self._calm = True
        self._down_until = 0.0

    def reaches(self, line: ProcessConnection) -> bool:
        down = max(self._down_until, line.cut_until)
        return self._calm or self.loop.time() >= down

    @property
    def call_timeout(self) -> float:
        return self._scenario.call_timeout

    @property
    def lease(self) -> float:
        return self._scenario.settings.lease

    def fate(self) -> CallFate:
        rng, faults = self._rng, self._scenario.faults
        if self._calm:
            return CallFate(
                rng.random() * CALM_LATENCY_SECONDS,
                rng.random() * CALM_LATENCY_SECONDS,
                False,
                False,
                0,
            )
        return CallFate(
            there=self._delay(),
            back=self._delay(),
            lost_request=rng.random() < faults.lost_request,
            lost_reply=rng.random() < faults.lost_reply,
            noticed=rng.random(),
        )

    def _delay(self) -> float:
        if self._rng.random() < self._scenario.faults.slow:
            return self._rng.uniform(0.5, 2.5 * self._scenario.settings.lease)
        return self._rng.expovariate(1 / self._scenario.latency)

    def execute(self, process: Process, call: Call[T]) -> T | DuetimeError:
        """Perform a call that has arrived at the store, and check its transaction."""
        before = self._real_store.snapshot()
        value: T | DuetimeError
        try:
            value = self._real_store.perform_blocking(call)
        except DuetimeError as error:
            value = error
        self._checker.check_transaction(process, call, before, value)
        if not isinstance(value, DuetimeError):
            self._pause_checker.executed(call)
        return value

    def delivered(self, value: object) -> None:
        self._checker.delivered(value)

    def read(self, process: Process, value: object) -> None:
        """A process goes on with an answer that was delivered to it."""
        self._pause_checker.read(process, value, self.loop.time())

    # -- waking ----------------------------------------------------------------------

    def subscribe(self, line: ProcessConnection) -> None:
        self._lines.append(line)

    def unsubscribe(self, line: ProcessConnection) -> None:
        if line in self._lines:
            self._lines.remove(line)

    def deliver_wakes(self, wakes: Sequence[Wake]) -> None:
        faults = self._scenario.faults
        for line in self._lines:
            if self._calm:
                self._wake_later(line, wakes)
            elif self._rng.random() < faults.lost_wake or not self.reaches(line):
                self.trace.count("wakes lost")
            else:
                self._wake_later(line, wakes)
                if self._rng.random() < faults.doubled_wake:
                    self._wake_later(line, wakes)

    def forge(self, message: str) -> None:
        """Deliver a stranger's message as the listener of PostgreSQL would."""
        try:
            notice = parse_message(message)
        except (ValueError, RecursionError):
            self.trace.count("wakes refused")
            return
        self.trace.count("wakes forged")
        if notice.due is None or notice.due:
            for line in self._lines:
                self._wake_later(line, [Wake(lane, due_at, 0) for lane, due_at in notice.due or ()])

    def _wake_later(self, line: ProcessConnection, wakes: Sequence[Wake]) -> None:
        self.loop.call_later_outside(self.fate().there, line.wake, wakes)


class ProcessConnection:
    """Connection of one process to the store, and its listener for wakes."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network = network
        self._loop = network.loop
        self.process = process
        self.cut_until = 0.0
        self.last_trouble_at = -1.0
        self.cut_off_at = -1e9
        self._on_wake: OnWake | None = None

    problem = None
    refused_wakes = 0

    @property
    def alive(self) -> bool:
        return self._network.reaches(self)

    def cut(self, seconds: float) -> None:
        self.cut_until = max(self.cut_until, self._loop.time() + seconds)

    async def perform(self, call: Flow[T]) -> T:
        if self.process.dead:
            raise asyncio.CancelledError
        reply: asyncio.Future[T] = self._loop.create_future()
        labelled = cast("Call[T]", call)
        self._check_rescue(labelled)
        self._send(labelled, self._network.fate(), reply)
        value = await reply
        self._network.read(self.process, value)
        return value

    def _check_rescue(self, call: Call[Any]) -> None:
        """Check that a worker that was cut off lets the others renew first."""
        since = self._loop.time() - self.cut_off_at
        if call.verb == "rescue" and since < self._network.lease:
            name = self.process.name
            self._network.trace.violation(f"G6 rescues {since:.3f} s after being cut off", name)

    def _send(self, call: Call[T], fate: CallFate, reply: asyncio.Future[T]) -> None:
        later, call_timeout = self._loop.call_later_outside, self._call_timeout(call)
        if fate.there + fate.back > self._network.lease / 6:
            self.last_trouble_at = self._loop.time()
        if fate.lost_request:
            self._network.trace.count("requests lost")
            later(fate.noticed * call_timeout, self._fail, call, reply, "request lost")
            return
        if fate.there + fate.back > call_timeout:
            later(call_timeout, self._fail, call, reply, "no answer in time")
        later(fate.there, self._arrive, call, fate, reply)

    def _call_timeout(self, call: Call[Any]) -> float:
        max_seconds = self._network.call_timeout
        return max_seconds if call.deadline is None else min(call.deadline, max_seconds)

    def _arrive(self, call: Call[T], fate: CallFate, reply: asyncio.Future[T]) -> None:
        if not self._network.reaches(self):
            self._network.trace.count("calls refused")
            self._fail(call, reply, "connection refused")
            return
        value = self._network.execute(self.process, call)
        if fate.lost_reply:
            self._network.trace.count("replies lost")
            noticed = fate.noticed * self._call_timeout(call)
            self._loop.call_later_outside(noticed, self._fail, call, reply, "reply lost")
            return
        self._loop.call_later_outside(fate.back, self._deliver, call, value, reply)

    def _deliver(self, call: Call[T], value: Any, reply: asyncio.Future[T]) -> None:
        if not self._network.reaches(self):
            self._fail(call, reply, "connection lost")
        elif reply.done() or self.process.dead:
            self._network.trace.count("replies too late")
        elif isinstance(value, DuetimeError):
            reply.set_exception(value)
        else:
            self._network.delivered(value)
            reply.set_result(value)

    def _fail(self, call: Call[T], reply: asyncio.Future[T], why: str) -> None:
        if not reply.done():
            self._network.trace.add(self.process.name, call.verb, why)
            self.last_trouble_at = self._loop.time()
            if call.verb == "sweep":
                self.cut_off_at = self._loop.time()
            reply.set_exception(StoreUnavailable(f"{call.verb}: {why}"))

    # -- listening -------------------------------------------------------------------

    def listen(self, on_wake: OnWake) -> AbstractAsyncContextManager[Listener]:
        self._on_wake = on_wake
        return self

    def wake(self, wakes: Sequence[Wake]) -> None:
        if self._on_wake is not None and not self.process.dead:
            with self._loop.within(self.process):
                self._loop.call_soon(self._on_wake, wakes)

    async def __aenter__(self) -> Listener:
        self._network.subscribe(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._network.unsubscribe(self)
