"""Claims actions that are due or soon will be: lane by lane, as many as there are slots for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from duetime.model.actions.claim import Claim, Claimed, ClaimOrder, LaneHead, LaneSpan
from duetime.model.clock import micros_of
from duetime.model.lane import Lane, readable_lane, visit_order
from duetime.store.base import Store
from duetime.store.flow import Wake
from duetime.worker.claiming.evidence import Evidence
from duetime.worker.claiming.fairness import Fairness, fair_batch
from duetime.worker.claiming.heads import LaneHeads
from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.claiming.refused_claim import CLAIM_REFUSALS, RefusedClaim
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import InFlightRun, RunsInFlight
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.service import UNTIL_WOKEN, Service
from duetime.worker.settings import WorkerSettings

MAX_LOGGED_LANES = 5


class ClaimableLane(NamedTuple):
    """A lane to claim from: when its next action is due, and the earliest time to claim it."""

    lane: Lane
    due_at: int
    claim_from: int


class Claimer:
    """Claims each action in time: `LaneHeads` knows when the next one of each lane is due. A claim
    that came back short requests a look-ahead. Cursors keep claims from scanning rows that are
    finished.
    """

    def __init__(
        self,
        worker: str,
        store: Store,
        clock: StoreClock,
        pools: Sequence[Pool],
        runs: RunsInFlight,
        pauses: KnownPauses,
        settings: WorkerSettings,
        *,
        start: Callable[[Pool, Sequence[InFlightRun]], None],
        release_early: Callable[[Pool, int], None],
        release_waiting: Callable[[Pool, int], None],
        can_run: Callable[[str, int], bool],
        request_look: Callable[[bool], None],
        busy: Callable[[], bool],
        caught_up: Callable[[Sequence[Claim]], None],
    ) -> None:
        self._worker = worker
        self._store = store
        self._clock = clock
        self._pools = pools
        self._runs = runs
        self._pauses = pauses
        self._lease, self._lease_micros = settings.lease, micros_of(settings.lease)
        self._preclaim, self._preclaim_micros = settings.preclaim, micros_of(settings.preclaim)
        self._batch = settings.batch
        self._start = start
        self._release_early = release_early
        self._release_waiting = release_waiting
        self._can_run = can_run
        self._request_look = request_look
        self._busy = busy
        self._caught_up = caught_up
        self._heads = LaneHeads()
        self._cursors = self._heads.cursors
        self._evidence = Evidence()
        self._fairness = {pool: Fairness() for pool in pools}
        self._turn = 0
        self._claimed_count = 0
        self.stopping = False
        self.service = Service("claim", self._step, on_repeated_failure=self._forget_heads)

    # -- input -----------------------------------------------------------------------

    def woken(self, wakes: Sequence[Wake]) -> None:
        """Note lanes in which actions became due; without any wakes, request a look-ahead."""
        taken_over = self._heads.note_wakes(wakes)
        if wakes:
            self.service.wake()
        if not wakes or not taken_over:
            self._request_look(True)

    def look_started(self) -> None:
        """A look-ahead was sent; it may miss wakes that arrive from now on."""
        self._heads.look_started()

    def look_finished(self, heads: Sequence[LaneHead], now: int, *, full: bool) -> None:
        """Take over the heads that a look-ahead returned; a full one lists all lanes."""
        self._heads.look_finished(heads, now, full=full, held=self._pauses.recent)
        self.service.wake()

    def slot_freed(self) -> None:
        self.service.wake()

    # -- for the sweeper -------------------------------------------------------------

    def drained_lanes(self) -> dict[str, int]:
        """Return the lanes that claims emptied since the last look-ahead, with their cursors."""
        return self._heads.drained_lanes()

    # -- claiming --------------------------------------------------------------------

    async def _step(self) -> float:
        """Claim until there is no capacity or nothing is due; return how long to sleep."""
        more = True
        while more:
            self._heads.take_wakes()
            if self.stopping or self._busy():
                return UNTIL_WOKEN
            more = any([await self._claim_for(pool) for pool in self._pools])
        return self._pause()

    async def _claim_for(self, pool: Pool) -> bool:
        """Send one claim for a pool; return whether more may be claimable at once. Due actions come
        before those that are due soon."""
        pool.measure(self._clock.monotonic())
        self._release_waiting(pool, pool.max_ready(self._preclaim))
        if pool.free > 0 and self._suspect_needs_slot(pool):
            self._release_early(pool, pool.early - pool.free + 1)
        now = self._clock.now()
        claimable_lanes = [
            claimable for claimable in self._claimable_lanes(pool) if claimable.claim_from <= now
        ]
        due = [claimable.lane for claimable in claimable_lanes if claimable.due_at <= now]
        suspect_lane = next((lane for lane in due if lane.suspect), None)
        if suspect_lane is not None:
            return await self._claim_suspect(pool, suspect_lane)
        if due:
            capacity = pool.capacity_for_due(self._preclaim, self._batch)
            capacity -= await self._claim_fairly(pool, due, capacity)
            return not capacity or await self._claim(pool, due, 0, capacity)
        soon = [claimable.lane for claimable in claimable_lanes]
        return bool(soon) and await self._claim(
            pool, soon, self._preclaim_micros, self._preclaim_capacity(pool)
        )

    def _claimable_lanes(self, pool: Pool) -> list[ClaimableLane]:
        """Return the lanes this pool may claim from: pre-claims while there is capacity for them,
        due actions while a slot is free.

        A suspect (an action that was lost twice) is claimed alone, into a slot that stays free
        until the claim returns. While a suspect is due and only that slot is missing, the pool
        claims nothing else: the next free slot is for the suspect.
        """
        if self._suspect_needs_slot(pool):
            return []
        lanes, own_slot = self._servable_lanes(pool), pool.free > pool.early
        has_capacity, has_slot = self._preclaim_capacity(pool) > 0, pool.free > 0
        suspects = [ClaimableLane(x, due, due) for x, due in lanes if x.suspect and own_slot]
        others = [(x, due) for x, due in lanes if not x.suspect and (has_capacity or has_slot)]
        return suspects + [
            ClaimableLane(x, due, due - self._preclaim_micros if has_capacity else due)
            for x, due in others
        ]

    def _suspect_needs_slot(self, pool: Pool) -> bool:
        """Return whether a suspect is due and no slot stays free for it."""
        now = self._clock.now()
        due = any(lane.suspect and due <= now for lane, due in self._servable_lanes(pool))
        return due and pool.free <= pool.early

    def _servable_lanes(self, pool: Pool) -> list[tuple[Lane, int]]:
        known = [(readable_lane(text), due) for text, due in self._heads.items()]
        return [(lane, due) for lane, due in known if lane and self._may_claim(pool, lane)]

    def _may_claim(self, pool: Pool, lane: Lane) -> bool:
        """Return whether the pool serves the lane. Nothing is claimed from a paused queue; parked
        actions only by workers that know their kind; suspects only one at a time."""
        if not pool.serves(lane.queue) or lane.queue in self._pauses.queues:
            return False
        if lane.parked is not None and not self._can_run(*lane.parked):
            return False
        return not lane.suspect or self._runs.suspect_count() == 0

    def _preclaim_capacity(self, pool: Pool) -> int:
        return pool.capacity_for_preclaim(self._preclaim, self._batch)

    async def _claim_suspect(self, pool: Pool, lane: Lane) -> bool:
        """Claim one suspect. If the claim comes back empty, the lane backs off and other lanes come
        first."""
        if await self._send_claim(pool, [lane], 0, 1):
            self._heads.reset_backoff(lane)
        else:
            self._heads.back_off(lane, self._clock.now())
            self._mark_drained([lane], found_any=True)
        return True

    async def _claim_fairly(self, pool: Pool, lanes: Sequence[Lane], capacity: int) -> int:
        """Claim a few actions of tenants that wait behind a crowd; return how many were claimed."""
        shared = [lane for lane in lanes if lane.shared]
        if not shared:
            return 0
        fairness, began = self._fairness[pool], self._clock.monotonic()
        excluded = fairness.crowding(pool, self._runs, began)
        if not excluded:
            return 0
        try:
            return await self._send_claim(pool, shared, 0, fair_batch(pool, capacity), excluded)
        finally:
            # Also after a timeout: the next such claim would be as slow.
            now = self._clock.monotonic()
            fairness.record_cost(now - began, now)

    async def _claim(self, pool: Pool, lanes: Sequence[Lane], ahead: int, limit: int) -> bool:
        taken = await self._send_claim(pool, lanes, ahead, limit)
        if taken >= limit:
            return True
        self._mark_drained(lanes, found_any=taken > 0)
        return False

    async def _send_claim(
        self,
        pool: Pool,
        lanes: Sequence[Lane],
        ahead: int,
        limit: int,
        excluded: frozenset[str] = frozenset(),
    ) -> int:
        """Send one claim and start what it returned; return the number of claims."""
        self._turn += 1
        visited = [lane.text for lane in visit_order(lanes, self._turn)]
        spans = [LaneSpan(lane, self._cursors.position(lane), ahead) for lane in visited]
        order = ClaimOrder(self._worker, spans, limit, self._lease_micros, excluded)
        sent = self._clock.monotonic()
        self._cursors.claim_sent()
        try:
            claimed = await self._store.perform(self._store.claim(order))
            if not excluded:
                self._cursors.advance(claimed)  # else excluded tenants may have earlier rows
        except CLAIM_REFUSALS as error:
            return await self._claim_around(pool, order, error)
        finally:
            self._cursors.claim_answered()
        self._clock.observe(claimed.now, sent)
        self._accept(pool, claimed, sent)
        return len(claimed.claims)

    async def _claim_around(self, pool: Pool, order: ClaimOrder, error: Exception) -> int:
        refused = RefusedClaim(
            self._store, self._clock, self._evidence, partial(self._accept, pool)
        )
        return await refused.resolve(order, error, self._claimed_count)

    def _accept(self, pool: Pool, claimed: Claimed, sent: float) -> None:
        """Register the claims as in flight, so that they are renewed, and start them when due."""
        caught_up = self._heads.claims_of_missed_lanes(claimed.claims)
        if caught_up:
            self._caught_up(caught_up)
        self._claimed_count += len(claimed.claims)
        lease_expires = sent + self._lease
        taken = [InFlightRun(claim, pool, lease_expires) for claim in claimed.claims]
        for run in taken:
            self._runs.add(run)
        self._start(pool, taken)

    def _mark_drained(self, lanes: Sequence[Lane], *, found_any: bool) -> None:
        """Forget the heads of these lanes; a look-ahead will tell when their next action is due."""
        self._heads.mark_drained(lanes)
        self._request_look(found_any)

    def _forget_heads(self) -> str:
        """Forget what to claim, since claims fail each time; the next look-ahead tells anew."""
        lanes = self._heads.forget_everything()
        self._request_look(False)
        return f"forgets the heads of {len(lanes)} lanes ({', '.join(lanes[:MAX_LOGGED_LANES])})"

    def _pause(self) -> float:
        """Return the seconds until the next lane is claimable. A pool without capacity is woken by
        a freed slot."""
        claim_times = [
            claimable.claim_from
            for pool in self._pools
            for claimable in self._claimable_lanes(pool)
        ]
        if not claim_times:
            return UNTIL_WOKEN
        return max(self._clock.until(min(claim_times)), 0.001)
