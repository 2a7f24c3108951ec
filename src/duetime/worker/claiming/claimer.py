"""Claims what is due, and shortly before: lane by lane, as much as there is room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from duetime.model.actions.claim import Claim, Claimed, ClaimOrder, LaneHead, Span
from duetime.model.clock import SECOND, micros_of
from duetime.model.lane import Lane, readable_lane, visit_order
from duetime.store.base import Store
from duetime.store.flow import Wake
from duetime.worker.backoff import Withheld
from duetime.worker.claiming.cursors import Cursors
from duetime.worker.claiming.fairness import Aside, few, shared
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import Held, Holdings
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.service import NO_HURRY, Service
from duetime.worker.settings import (
    WorkerSettings,
)


class Opening(NamedTuple):
    """A lane from which to claim: when its next action is due, and from when on to take it."""

    lane: Lane
    due: int
    since: int


class Claimer:
    """Knows, for each lane, when its next free action is due, and claims in time.

    `heads` is what is known: from looks at the store, from wakes, from claims that came
    back full. A claim that came back short leaves its lanes unknown and asks for a look.
    `cursors` keep claims off rows that are done with.
    """

    def __init__(
        self,
        worker: str,
        store: Store,
        time: StoreTime,
        pools: Sequence[Pool],
        holdings: Holdings,
        settings: WorkerSettings,
        *,
        start: Callable[[Pool, Sequence[Held]], None],
        spare: Callable[[Pool, int], None],
        give_back: Callable[[Pool, int], None],
        runs: Callable[[str, int], bool],
        look: Callable[[bool], None],
        busy: Callable[[], bool],
        caught_up: Callable[[Sequence[Claim]], None],
    ) -> None:
        self._worker = worker
        self._store = store
        self._time = time
        self._pools = pools
        self._holdings = holdings
        self._lease = settings.lease
        self._preclaim = settings.preclaim
        self._ahead = micros_of(settings.preclaim)
        self._batch = settings.batch
        self._start = start
        self._spare = spare
        self._give_back = give_back
        self._runs = runs
        self._look = look
        self._busy = busy
        self._caught_up = caught_up
        self._heads: dict[str, int] = {}
        self._cursors = Cursors()
        self._wakes: dict[str, int] = {}
        self._unseen: dict[str, int] = {}
        self._overlooked: set[str] = set()
        self._worked_off: set[str] = set()
        self._withheld = Withheld()
        self._asides = {pool: Aside() for pool in pools}
        self._turn = 0
        self.stopping = False
        self.service = Service("claim", self._step)

    # -- what it is told -------------------------------------------------------------

    def woken(self, wakes: Sequence[Wake]) -> None:
        """Work became due somewhere; without particulars, look."""
        for wake in wakes:
            self._wakes[wake.lane] = min(wake.due_at, self._wakes.get(wake.lane, wake.due_at))
        if wakes:
            self.service.wake()
        else:
            self._look(True)

    def looking(self) -> None:
        """A look is on its way: what we are told from here on it may not have seen."""
        self._unseen = {}
        self._worked_off = set()

    def looked(self, heads: Sequence[LaneHead], now: int) -> None:
        """A look at the store found these lanes. What was overdue unknown to us was
        overlooked: its wake was lost."""
        for head in heads:
            if head.next_due is None:
                self._heads.pop(head.lane, None)
                self._withheld.forget(head.lane)
                continue
            known = self._heads.get(head.lane)
            if known is None and head.next_due < now - SECOND:
                self._overlooked.add(head.lane)
            self._heads[head.lane] = self._withheld.due(head.lane, head.next_due)
            self._cursors.lower(head.lane, head.next_due)
        for lane, due_at in self._unseen.items():
            self._know(lane, due_at)
        self.service.wake()

    def slot_freed(self) -> None:
        self.service.wake()

    # -- what it is asked ------------------------------------------------------------

    def worked_off(self) -> dict[str, int]:
        """The lanes in which claims found nothing more since the last look, and from where on
        there may be something that nobody told us of."""
        return {lane: self._cursors.of(lane) for lane in self._worked_off}

    # -- claiming --------------------------------------------------------------------

    async def _step(self) -> float:
        """Claim until there is no room or nothing due; then say how long to sleep."""
        more = True
        while more:
            self._take_wakes()
            if self.stopping or self._busy():
                return NO_HURRY
            more = any([await self._fill(pool) for pool in self._pools])
        return self._pause()

    def _take_wakes(self) -> None:
        wakes, self._wakes = self._wakes, {}
        for lane, due_at in wakes.items():
            self._unseen[lane] = min(due_at, self._unseen.get(lane, due_at))
            self._withheld.forget(lane)
            self._know(lane, due_at)

    def _know(self, lane: str, due_at: int) -> None:
        self._heads[lane] = min(due_at, self._heads.get(lane, due_at))
        self._cursors.lower(lane, due_at)

    async def _fill(self, pool: Pool) -> bool:
        """One claim for one pool; true if there may be more at once. What is due comes before
        anything that is due soon."""
        pool.measure(self._time.monotonic())
        self._give_back(pool, pool.bearable(self._preclaim))
        if pool.free > 0 and self._lacks_slot(pool):
            self._spare(pool, pool.early - pool.free + 1)
        now = self._time.now()
        openings = [one for one in self._openings(pool) if one.since <= now]
        due = [one.lane for one in openings if one.due <= now]
        lone = next((lane for lane in due if lane.suspect), None)
        if lone is not None:
            return await self._claim_alone(pool, lone)
        if due:
            room = pool.room_now(self._preclaim, self._batch)
            room -= await self._claim_aside(pool, due, room)
            return not room or await self._claim(pool, due, 0, room)
        soon = [one.lane for one in openings]
        return bool(soon) and await self._claim(pool, soon, self._ahead, self._room(pool))

    def _openings(self, pool: Pool) -> list[Opening]:
        """The lanes this pool could take from: before its time what there is room for, due
        what finds a slot. An action that was lost twice is taken alone, into a slot that stays
        free until it is there. If it is due and only that slot is missing, the pool takes
        nothing else: the next free slot is its own."""
        if self._lacks_slot(pool):
            return []
        reached, own_slot = self._reached(pool), pool.free > pool.early
        room, slot = self._room(pool) > 0, pool.free > 0
        alone = [Opening(x, due, due) for x, due in reached if x.suspect and own_slot]
        others = [(x, due) for x, due in reached if not x.suspect and (room or slot)]
        return alone + [Opening(x, due, due - self._ahead if room else due) for x, due in others]

    def _lacks_slot(self, pool: Pool) -> bool:
        """Whether an action that is taken alone is due, and no slot stays free for it."""
        now = self._time.now()
        due = any(lane.suspect and due <= now for lane, due in self._reached(pool))
        return due and pool.free <= pool.early

    def _reached(self, pool: Pool) -> list[tuple[Lane, int]]:
        known = [(readable_lane(text), due) for text, due in self._heads.items()]
        return [(lane, due) for lane, due in known if lane and self._reaches(pool, lane)]

    def _reaches(self, pool: Pool, lane: Lane) -> bool:
        """What is parked is taken by workers that know its kind; of those that were lost
        twice, one at a time."""
        if not pool.serves(lane.queue):
            return False
        if lane.parked is not None and not self._runs(*lane.parked):
            return False
        return not lane.suspect or self._holdings.suspects() == 0

    def _room(self, pool: Pool) -> int:
        return pool.room(self._preclaim, self._batch)

    async def _claim_alone(self, pool: Pool, lane: Lane) -> bool:
        """If it does not come the others come first, whoever keeps it and for how long."""
        if await self._ask(pool, [lane], 0, 1):
            self._withheld.forget(lane.text)
        else:
            self._withheld.note(lane.text, self._time.now())
            self._exhausted([lane], fruitful=True)
        return True

    async def _claim_aside(self, pool: Pool, lanes: Sequence[Lane], room: int) -> int:
        """Some of those that wait behind what others have crowded in; how many came."""
        lanes, aside, began = shared(lanes), self._asides[pool], self._time.monotonic()
        apart = aside.crowding(pool, self._holdings, began) if lanes else frozenset()
        if not apart:
            return 0
        try:
            return await self._ask(pool, lanes, 0, few(pool, room), apart)
        finally:
            # Also if it took too long for an answer: the next one would too.
            now = self._time.monotonic()
            aside.took(now - began, now)

    async def _claim(self, pool: Pool, lanes: Sequence[Lane], ahead: int, limit: int) -> bool:
        taken = await self._ask(pool, lanes, ahead, limit)
        if taken >= limit:
            return True
        self._exhausted(lanes, fruitful=taken > 0)
        return False

    async def _ask(
        self,
        pool: Pool,
        lanes: Sequence[Lane],
        ahead: int,
        limit: int,
        apart: frozenset[str] = frozenset(),
    ) -> int:
        """How many came."""
        self._turn += 1
        visited = [lane.text for lane in visit_order(lanes, self._turn)]
        spans = [Span(lane, self._cursors.of(lane), ahead) for lane in visited]
        order = ClaimOrder(self._worker, spans, limit, micros_of(self._lease), apart)
        sent = self._time.monotonic()
        self._cursors.sent()
        claimed = await self._store.perform(self._store.claim(order))
        self._time.heard(claimed.now, sent)
        if not apart:
            self._cursors.advance(claimed)  # else those that were left out stand before these
        self._take(pool, claimed, sent)
        return len(claimed.claims)

    def _take(self, pool: Pool, claimed: Claimed, sent: float) -> None:
        """From here on the claims are ours: held, renewed, and started in their time."""
        self._count_overlooked(claimed.claims)
        lease_ends = sent + self._lease
        taken = [Held(claim, pool, lease_ends) for claim in claimed.claims]
        for held in taken:
            self._holdings.add(held)
        self._start(pool, taken)

    def _count_overlooked(self, claims: Sequence[Claim]) -> None:
        if self._overlooked:
            self._caught_up([c for c in claims if c.lane in self._overlooked])
            self._overlooked -= {c.lane for c in claims}

    def _exhausted(self, lanes: Sequence[Lane], *, fruitful: bool) -> None:
        """Nothing more is due in these lanes as far as the claim saw: when next, a look
        tells."""
        for lane in lanes:
            self._heads.pop(lane.text, None)
            self._overlooked.discard(lane.text)
            self._worked_off.add(lane.text)
        self._look(fruitful)

    def _pause(self) -> float:
        """Until the next opening. What a pool without room waits for is a freed slot."""
        wanted = [one.since for pool in self._pools for one in self._openings(pool)]
        if not wanted:
            return NO_HURRY
        return max(self._time.until(min(wanted)), 0.001)
