"""Starts claims: at their time, when a slot is free, while the lease is still ours."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from duetime.worker.claiming.precise_timer import Alarm
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import Held, Holdings
from duetime.worker.leases.store_clock import StoreTime

# Timers may fire a little early and sleep a little long; look again at least this often.
LONGEST_WAIT = 60.0


class Starter:
    """Keeps what was claimed before its time, and starts each at its time.

    Between `open` and `close`.
    """

    def __init__(
        self,
        time: StoreTime,
        alarm: Callable[[Callable[[], None]], Alarm],
        holdings: Holdings,
        run: Callable[[Held], Coroutine[Any, Any, None]],
        freed: Callable[[], None],
        ahead: Callable[[Pool], int],
        give_back: Callable[[Held], None],
    ) -> None:
        self._time = time
        self._make_alarm = alarm
        self._holdings = holdings
        self._run = run
        self._freed = freed
        self._ahead = ahead
        self._give_back = give_back
        self._early: list[tuple[int, int, Held]] = []
        self._doubtful: list[Held] = []
        self._order = itertools.count()

    def open(self) -> None:
        self._alarm = self._make_alarm(self.due)

    def close(self, pools: Sequence[Pool]) -> None:
        """Start nothing more."""
        self.unstarted(pools)
        self._alarm.close()

    def take(self, pool: Pool, claimed: Sequence[Held]) -> None:
        """Start fresh claims of one pool now, or each when it is due."""
        now = self._time.now()
        for held in claimed:
            if held.claim.due_at <= now:
                pool.ready.append(held)
            else:
                pool.early += 1
                heapq.heappush(self._early, (held.claim.due_at, next(self._order), held))
        self._fill(pool)
        self._arm()
        # What was in doubt may be among the claims, and so be lost.
        self._decide_doubts()

    def spare(self, pool: Pool, count: int) -> None:
        """Give back so many of what a pool took before its time, the last to come due first."""
        ours = sorted(one for one in self._early if one[2].pool is pool)[-count:]
        self._early = [one for one in self._early if one not in ours]
        heapq.heapify(self._early)
        pool.early -= len(ours)
        for _, _, held in ours:
            self._give_back(held)
        self._arm()

    def due(self) -> None:
        """Move what is due from waiting to running; called by the alarm or a moved clock."""
        now = self._time.now()
        while self._early and self._early[0][0] <= now:
            held = heapq.heappop(self._early)[2]
            held.pool.early -= 1
            self._ready(held)
            # Its slot may be taken by what came meanwhile.
            self.give_back(held.pool, self._ahead(held.pool))
        self._arm()

    def renewed(self) -> None:
        """The store has answered for the leases: what waited for it starts, or is forgotten. And
        where runs go on for so long, nobody else may have asked what waits for them."""
        self._decide_doubts()
        self._freed()

    def give_back(self, pool: Pool, most: int) -> None:
        """All but so many of what waits for a slot, the last first: another worker may have one,
        or something more urgent is to come before them."""
        while len(pool.ready) > most:
            self._give_back(pool.ready.pop())

    def _decide_doubts(self) -> None:
        doubtful, self._doubtful = self._doubtful, []
        for held in doubtful:
            held.pool.doubtful -= 1
            self._ready(held)

    def ended(self, held: Held) -> None:
        """A handler came to its end: its slot goes to the next one."""
        held.pool.ended()
        if held.pool.ready:
            self._fill(held.pool)
        self._freed()

    def unstarted(self, pools: Sequence[Pool]) -> list[Held]:
        """Take away all that was claimed and not started."""
        waiting = [held for _, _, held in self._early] + self._doubtful
        self._early.clear()
        self._doubtful.clear()
        for pool in pools:
            waiting += pool.ready
            pool.ready.clear()
            pool.early = pool.doubtful = 0
        return waiting

    def _ready(self, held: Held) -> None:
        held.pool.ready.append(held)
        self._fill(held.pool)

    def _fill(self, pool: Pool) -> None:
        now = self._time.monotonic()
        while pool.ready and pool.running < pool.slots:
            held = pool.ready.popleft()
            if now < held.lease_ends and not held.lost:
                self._start(held)
            else:
                self._set_aside(held)

    def _set_aside(self, held: Held) -> None:
        """What was lost is not ours; and if its lease may be over, it must not start before a
        renewal says that nobody else has taken it."""
        if held.lost:
            self._holdings.drop(held)
        else:
            self._doubtful.append(held)
            held.pool.doubtful += 1
        self._freed()

    def _start(self, held: Held) -> None:
        held.pool.started()
        # A context of its own: nothing that one run sets is seen by the next.
        held.task = asyncio.get_running_loop().create_task(
            self._run(held), context=contextvars.Context()
        )

    def _arm(self) -> None:
        """Without anything to start it may ring in vain."""
        if self._early:
            self._alarm.set(min(max(self._time.until(self._early[0][0]), 0.0), LONGEST_WAIT))
