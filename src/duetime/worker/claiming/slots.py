"""Slots: how much runs at once, by queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from duetime.errors import ConfigError
from duetime.model.validation import check_name

if TYPE_CHECKING:
    from duetime.worker.leases.in_flight import Held

# Seconds between two measures of the rate at least; what was known before counts half after them.
SHORTEST = 0.1

# What waits for so many windows was claimed in vain.
PATIENCE = 4

Queues = Mapping[str, int] | Sequence[str] | None


class Pool:
    """Slots of one queue, or those that all other queues share.

    `ready` holds claims that are due and wait for a slot, oldest first. `early` counts those
    whose time has not come: they hold no slot. `doubtful` counts those whose lease may be over:
    they start as soon as the store answers, so their slots are kept.
    """

    def __init__(self, slots: int, serves: Callable[[str], bool]) -> None:
        self.slots = slots
        self.serves = serves
        self.running = 0
        self.early = 0
        self.doubtful = 0
        self.ready: deque[Held] = deque()
        self._ends = 0
        self._since = 0.0
        self._rate = 0.0

    @property
    def free(self) -> int:
        return self.slots - self.running - len(self.ready) - self.doubtful

    def room(self, window: float, most: int) -> int:
        """How many to claim before their time: free slots, and as many as become free in one
        window at the last rate. Slow work has a low rate, so it is never hoarded while another
        worker is free; what has only started says nothing of when its slot is free again.

        Nothing while half of that still waits for a slot: a claim for many takes hardly longer
        than one for few, and its answer comes while there is enough to do."""
        ahead = self.ahead(window, most)
        room = self.free + ahead - self.early
        return 0 if self.ready and room < ahead // 2 else min(room, most)

    def room_now(self, window: float, most: int) -> int:
        """How many to claim of what is due: a free slot waits for nothing."""
        return min(max(self.free, self.room(window, most)), most)

    def bearable(self, window: float) -> int:
        """How many may wait for a slot, at the rate of now, before some are given back. More than
        are claimed ahead, lest what is claimed is given back again and again; and what may begin
        next stays, lest younger ones overtake it."""
        return max(int(self._rate * window * PATIENCE), self.slots)

    def ahead(self, window: float, most: int) -> int:
        """How many may wait for a slot when they are claimed. None where a slot is not freed twice
        in a window: slow runs that began together end together, and what waits for that long
        another worker might have run. And two batches at most: one to work on while the other is
        on its way."""
        ends = int(self._rate * window)
        return 0 if ends < 2 * self.slots else min(ends, 2 * most)

    def started(self) -> None:
        self.running += 1

    def ended(self) -> None:
        self.running -= 1
        self._ends += 1

    def measure(self, now: float) -> None:
        """Take the rate of ends since the last measure, at most ten a second, smoothed: the longer
        ago the last was, the less it says of what is run now."""
        elapsed = now - self._since
        if elapsed >= SHORTEST:
            rate = self._ends / elapsed
            self._rate = rate + (self._rate - rate) * 0.5 ** (elapsed / SHORTEST)
            self._ends, self._since = 0, now


def pools_of(concurrency: int, queues: Queues) -> list[Pool]:
    """`queues={"billing": 5}` gives billing slots of its own and all others `concurrency`;
    `queues=["billing"]` serves billing only, with `concurrency` slots."""
    if queues is None:
        return [Pool(concurrency, lambda queue: True)]
    if isinstance(queues, str):
        raise ConfigError(f'queues={queues!r} is a string; write queues=["{queues}"]')
    names = [check_name("queues", name, 200) for name in queues]
    if not isinstance(queues, Mapping):
        only = frozenset(names)
        return [Pool(concurrency, lambda queue: queue in only)]
    own = [Pool(_slots(name, n), _just(name)) for name, n in queues.items()]
    return [*own, Pool(concurrency, lambda queue: queue not in queues)]


def _just(name: str) -> Callable[[str], bool]:
    return lambda queue: queue == name


def _slots(name: str, slots: int) -> int:
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
        raise ConfigError(f"queues[{name!r}]={slots!r} is not valid: give at least 1 slot")
    return slots
