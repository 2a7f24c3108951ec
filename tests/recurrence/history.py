"""One history of jobs, from the seed to the verdict."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random
from unittest.mock import patch

from duetime.errors import StoreUnavailable
from duetime.model.actions.claim import alive_for
from duetime.worker import pruner
from recurrence.actors import Actors
from recurrence.balance import Balance
from recurrence.book import Book
from recurrence.ground import Ground
from recurrence.machine import Machine
from recurrence.month import DAY, Month, draw
from recurrence.people import People
from recurrence.release import Release, draw_releases
from recurrence.wire import Wire
from simulation.chaos import Chaos
from simulation.cluster import watched_log
from simulation.loop import Deadlock, Process, SimLoop
from simulation.node import Node
from simulation.trace import Trace

# Kills for redeployment follow each other so closely, in seconds.
ROLLING = 300.0


@dataclass(frozen=True, slots=True)
class History:
    """What came of one seed."""

    seed: int
    hash: str
    days: float
    ticks: int
    violations: tuple[str, ...]
    tally: Counter[str]
    lines: tuple[str, ...]


class Shop:
    """The nodes of one app, what is deployed on them, and when they are all down."""

    def __init__(self, loop: SimLoop, month: Month, trace: Trace) -> None:
        self._loop = loop
        self._month = month
        self._trace = trace
        self._dice = Random(f"{month.seed}/shop")
        self._releases = draw_releases(
            self._dice, month.releases, month.jobs, month.begin, month.busy
        )
        self._current = self._releases[0]
        self._machines: dict[Process, Machine] = {}
        self._down = False
        self._calm = False
        settings = month.scenario.settings
        self._ground = Ground(loop, Random(f"{month.seed}/ground"), month.begin)
        alive = alive_for(settings.sweep)
        self.book = Book(self._ground, trace, alive, self._release_of)
        self._wire = Wire(loop, self._ground, self.book, month.scenario, trace)
        self._people = People(self._wire, self._ground, month, self._releases[0])
        loop.play = Actors(loop, self.book, month.seed, self._machines.__getitem__).play

    def _release_of(self, process: Process) -> Release:
        return self._machines[process].release

    # -- the history -----------------------------------------------------------------

    async def run(self) -> None:
        month = self._month
        async with self._ground.listen(self._wire.woken):
            for slot in range(month.scenario.nodes):
                self._boot(slot)
            doing = [asyncio.ensure_future(self._deploy()), asyncio.ensure_future(self._rage())]
            if month.people:
                people = self._people
                doing.append(self._loop.spawn(people.process, people.run(month.people)))
            await self._live()
            for task in doing:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            if not self._trace.violations:
                await self._settle()
                Balance(self.book, self._ground, month.scenario.settings.sweep + 60).check()
        self._shut_down()
        await asyncio.sleep(0)

    async def _live(self) -> None:
        """To the end, or to the first violation: what follows from it tells no more."""
        for _ in range(round(self._month.days * 8)):
            if not self._trace.violations:
                await asyncio.sleep(DAY / 8)

    async def _rage(self) -> None:
        chaos = Chaos(
            self._wire,
            self._month.scenario,
            self._trace,
            nodes=self._working,
            kill=self._kill,
            stop=self._stop,
        )
        await chaos.run()

    async def _deploy(self) -> None:
        """A release every few days; for one of them everything is down for a day."""
        month = self._month
        pause = (month.length - month.downtime) / len(self._releases)
        closed = self._dice.randrange(1, len(self._releases))
        for number, release in enumerate(self._releases):
            if number:
                if number == closed and month.downtime:
                    await self._close()
                self._current = release
                self._trace.add("release", number)
                await self._roll()
            await asyncio.sleep(pause)

    async def _close(self) -> None:
        self._trace.count("days of downtime")
        self._trace.add("all down")
        self._down = True
        for machine in self._alive():
            self._dice.choice([self._kill, self._stop])(machine)
        await asyncio.sleep(self._month.downtime)
        self._down = False
        self._trace.add("all up")

    async def _roll(self) -> None:
        """One node after another gets the new code."""
        for slot in range(self._month.scenario.nodes):
            old = [one for one in self._alive() if one.slot == slot]
            for machine in old:
                if machine.works:
                    self._stop(machine)
            if not old:
                self._boot(slot)
            await asyncio.sleep(self._dice.uniform(0, ROLLING))

    async def _settle(self) -> None:
        """Long enough for what was lost to be found, and for what came late to be run."""
        self._trace.add("calm")
        self._calm = True
        self._wire.calm_down()
        for machine in self._alive():
            machine.thaw()
        settings = self._month.scenario.settings
        await asyncio.sleep(4 * settings.lease + DAY / 8)

    def _shut_down(self) -> None:
        self._loop.kill(self._people.process)
        for machine in self._alive():
            machine.kill()

    # -- its nodes -------------------------------------------------------------------

    def _alive(self) -> list[Machine]:
        return [machine for machine in self._machines.values() if machine.alive]

    def _working(self) -> list[Node]:
        return [machine for machine in self._alive() if machine.works]

    def _boot(self, slot: int) -> None:
        if self._down or any(one.slot == slot for one in self._alive()):
            return
        month = self._month
        machine = Machine(
            self._wire,
            self._ground,
            month.scenario,
            self._dice,
            self._current,
            begun=month.begun,
            slot=slot,
            number=len(self._machines),
        )
        self._machines[machine.process] = machine
        self._trace.add("boot", machine.process.name, machine.release.number)
        self._trace.count("boots")
        starting = self._loop.spawn(machine.process, machine.start())
        starting.add_done_callback(lambda task: self._started(machine, task))

    def _started(self, machine: Machine, task: asyncio.Task[None]) -> None:
        if machine.alive and not task.cancelled():
            error = task.exception()
            if isinstance(error, StoreUnavailable):
                self._end(machine, "cannot start")
            elif error is not None:
                self._trace.violation("a worker cannot start", repr(error))

    def _kill(self, node: Node) -> None:
        self._trace.count("kills")
        self._end(node, "kill")

    def _stop(self, node: Node) -> None:
        self._trace.count("orderly stops")
        node.stopping = True
        stopping = self._loop.spawn(node.process, node.stop())
        stopping.add_done_callback(lambda task: self._stopped(node, task))

    def _stopped(self, node: Node, task: asyncio.Task[None]) -> None:
        if not node.alive:
            return
        if not task.cancelled() and task.exception() is not None:
            self._trace.violation("an orderly stop failed", repr(task.exception()))
        self._end(node, "stopped")

    def _end(self, node: Node, how: str) -> None:
        self._trace.add(how, node.process.name)
        node.kill()
        quick = self._calm or not self._month.scenario.faults.kill
        wait = 1.0 if quick else self._dice.choice([1.0, self._dice.uniform(1, 1800)])
        self._loop.world_later(wait, self._boot, node.slot)


def run(seed: int, *, month: Callable[[int], Month] = draw, keep: bool = False) -> History:
    """Live through one history and judge it."""
    loop = SimLoop()
    trace = Trace(loop.time, keep=keep)
    shop = Shop(loop, month(seed), trace)
    with watched_log(trace), _in_no_haste():
        try:
            loop.run_until_complete(shop.run())
        except Deadlock as error:
            trace.violation("the shop stands still", error)
        finally:
            loop.close()
    for error_text in loop.errors:
        trace.violation("nobody caught", error_text)
    ticks = sum(len(account.ticks) for account in shop.book.accounts.values())
    return History(
        seed,
        trace.hash,
        loop.time() / DAY,
        ticks,
        tuple(trace.violations),
        trace.tally,
        tuple(trace.lines),
    )


@contextmanager
def _in_no_haste() -> Iterator[None]:
    """What is looked for every minute, in months of it is looked for every half hour."""
    with patch.object(pruner, "INTERVAL", 3600.0):
        yield
