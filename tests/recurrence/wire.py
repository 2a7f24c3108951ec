"""The network of a history of jobs: as faulty as any, and read by the book."""

from __future__ import annotations

from typing import TypeVar

from duetime.errors import DuetimeError
from recurrence.book import Book
from recurrence.ground import Ground
from simulation.faulty import Call
from simulation.loop import Process, SimLoop
from simulation.network import Network
from simulation.scenario import Scenario
from simulation.trace import Trace
from simulation.witness import Witness

T = TypeVar("T")


class Wire(Network):
    """Snapshots of all that ever happened would cost more than what happens."""

    def __init__(
        self, loop: SimLoop, ground: Ground, book: Book, scenario: Scenario, trace: Trace
    ) -> None:
        super().__init__(loop, ground, Witness(ground, trace), scenario, trace)
        self._ground = ground
        self._book = book

    def execute(self, process: Process, call: Call[T]) -> T | DuetimeError:
        before = self._book.before(call)
        self._ground.changes = []
        value: T | DuetimeError
        try:
            value = self._ground.perform_blocking(call)
        except DuetimeError as error:
            self._ground.changes = []
            value = error
        self._book.saw(process, call, before, value)
        return value

    def delivered(self, value: object) -> None:
        """Whom a reply reached is of no account here."""
