"""Faults planted in the real code: a simulation that does not notice them is too weak.

Each mutant names the line of thought it breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from duetime.errors import StoreUnavailable
from duetime.model.actions import chain
from duetime.model.actions import completion as ending
from duetime.model.actions.completion import Again, Ending, decide_loss
from duetime.model.clock import SECOND, to_micros
from duetime.model.lane import parse_lane
from duetime.model.state import FINISHED
from duetime.store.memory.store import MemoryStore
from duetime.store.memory.tables import Rows, has_expired
from duetime.worker import sweeper
from duetime.worker.child_settler import Chainer
from duetime.worker.claiming import cursors
from duetime.worker.claiming.claimer import Claimer, Opening
from duetime.worker.claiming.launcher import Starter
from duetime.worker.completer import Completer
from duetime.worker.leases.heartbeat import Renewal
from duetime.worker.leases.in_flight import Held, Holdings
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.sweeper import Sweeper
from duetime.worker.worker import Worker
from planting import Patch
from simulation.scenario import Scenario, draw_saturated

END = MemoryStore._end
CLAIM_ONE = MemoryStore._claim_one
SEND = Completer._send
SETTLE = Completer._settle
KNOW_TIME = StoreTime.__init__
HEARD = Renewal.heard


# -- the store's guard -------------------------------------------------------------------


def _as_holder(store: Any, ending: Ending) -> Ending:
    """The ending as if whoever holds the action now had sent it."""
    row = store._rows.unfinished.get(ending.id)
    return ending if row is None else ending._replace(token=row.record.token)


def end_by_state(store: Any, ending: Ending, now: int, rescuing: bool) -> bool:
    row = store._rows.unfinished.get(ending.id)
    running = row is not None and row.record.token is not None
    return END(store, _as_holder(store, ending) if running else ending, now, rescuing)


def claim_and_remember(store: Any, action_id: UUID, order: Any, now: int) -> Any:
    claim = CLAIM_ONE(store, action_id, order, now)
    store.__dict__.setdefault("owners", {})[claim.token] = order.worker
    return claim


def end_by_owner(store: Any, ending: Ending, now: int, rescuing: bool) -> bool:
    row = store._rows.unfinished.get(ending.id)
    owner = store.__dict__.get("owners", {}).get(ending.token)
    same = row is not None and row.record.worker == owner
    return END(store, _as_holder(store, ending) if same else ending, now, rescuing)


def end_unguarded(store: Any, ending: Ending, now: int, rescuing: bool) -> bool:
    return END(store, _as_holder(store, ending), now, rescuing)


def end_by_lease(store: Any, ending: Ending, now: int, rescuing: bool) -> bool:
    row = store._rows.unfinished.get(ending.id)
    if row is None or row.record.token is None or has_expired(row.record, now) != rescuing:
        return False
    return END(store, _as_holder(store, ending), now, rescuing)


def end_without_expiry(store: Any, ending: Ending, now: int, rescuing: bool) -> bool:
    return END(store, ending, now, False)


# -- the worker --------------------------------------------------------------------------


def lower_nothing(self: Any, lane: str, due_at: int) -> None:
    """The cursor only ever goes up."""


def lose_without_refund(expired: Any) -> Ending:
    ending = decide_loss(expired)
    return ending._replace(refund=False) if isinstance(ending, Again) else ending


def fill_without_lease(self: Any, pool: Any) -> None:
    while pool.ready and pool.running < pool.slots:
        self._start(pool.ready.popleft())


def open_whatever_has_room(self: Any, pool: Any) -> Any:
    heads = [(parse_lane(text), due) for text, due in self._heads.items()]
    own_slot, room = pool.free > pool.early, self._room(pool) > 0
    return [
        Opening(lane, due, due if lane.suspect else due - self._ahead)
        for lane, due in heads
        if self._reaches(pool, lane) and (own_slot if lane.suspect else room)
    ]


def know_wall_clock(self: Any, clock: Any, monotonic: Callable[[], float]) -> None:
    KNOW_TIME(self, clock, monotonic)
    self.wall = clock


def tell_wall_clock(self: Any) -> int:
    return to_micros(self.wall.now())


async def send_once(self: Any, batch: Any) -> None:
    try:
        await SEND(self, batch)
    except StoreUnavailable:
        for held in batch:
            self._waiting.pop(held, None)
            self._holdings.drop(held)


def settle_as_accepted(self: Any, held: Held, accepted: bool) -> None:
    SETTLE(self, held, True)


def take_at_once(self: Any, pool: Any, claimed: Sequence[Held]) -> None:
    for held in claimed:
        self._ready(held)


def drop_whatever_is_held(self: Any, held: Held) -> None:
    self._held.pop(held.claim.id.int, None)


def renew_nothing(self: Any, now: float) -> list[Held]:
    return []


def renew_what_runs(self: Any, now: float) -> list[Held]:
    return [held for held in self if held.ended_at is None]


def hear_from_the_reply_on(self: Any, asked: Any, sent: float, renewed: Any) -> None:
    HEARD(self, asked, self._time.monotonic(), renewed)


def any_suspect(self: Any) -> int:
    return 0


def release_nothing(self: Any, unstarted: list[Held]) -> None:
    """What a stopping worker has claimed and not started is left to its lease."""


async def rescue_at_once(self: Any, expired: Any) -> int:
    self._no_rescue_until = 0.0
    return await RESCUE(self, expired)


RESCUE = Sweeper._rescue


def plan_no_sweep(self: Any, sent: float, sweeping: bool, whole: bool) -> None:
    PLAN(self, sent, False, whole)
    self._next_sweep = sent + 10_000.0


PLAN = Sweeper._plan_next


def add_again(self: Any, new: Any, if_exists: Any, now: int) -> UUID:
    fresh = new._replace(id=self._tokens()) if self._rows.record(new.id) is not None else new
    return ADD_ONE(self, fresh, if_exists, now)


ADD_ONE = MemoryStore._add_one


def forget_parents(self: Any, parents: Any) -> None:
    """Neither completions nor sweeps lead to children."""


def find_no_parents(self: Any) -> list[UUID]:
    return []


def find_all_children(self: Any, parent: UUID) -> list[Any]:
    return [self.unfinished[child].record for child in self._children.get(parent, ())]


WHATEVER = dict.fromkeys(("succeeded", "failed", "finished"), FINISHED)

MUTANTS: Mapping[str, list[Patch]] = {
    "completes what is running, whoever runs it": [(MemoryStore, "_end", end_by_state)],
    "completes by the worker's name": [
        (MemoryStore, "_claim_one", claim_and_remember),
        (MemoryStore, "_end", end_by_owner),
    ],
    "completes without any guard": [(MemoryStore, "_end", end_unguarded)],
    "completes by the lease's time": [(MemoryStore, "_end", end_by_lease)],
    "rescues without looking at the lease again": [(MemoryStore, "_end", end_without_expiry)],
    "schedules again after a lost reply": [(MemoryStore, "_add_one", add_again)],
    "lets the cursor run ahead": [
        (cursors, "LAG", -3600 * SECOND),
        (cursors.Cursors, "lower", lower_nothing),
    ],
    "burns an attempt when a neighbour crashes": [(sweeper, "decide_loss", lose_without_refund)],
    "starts what is no longer its own": [(Starter, "_fill", fill_without_lease)],
    "lets what is run alone wait until it idles": [(Claimer, "_openings", open_whatever_has_room)],
    "trusts its own clock": [
        (StoreTime, "__init__", know_wall_clock),
        (StoreTime, "now", tell_wall_clock),
    ],
    "starts at the claim, not at the time": [(Starter, "take", take_at_once)],
    "drops an ending when the store is away": [(Completer, "_send", send_once)],
    "reports what was refused": [(Completer, "_settle", settle_as_accepted)],
    "forgets a claim when an older one of its action ends": [
        (Holdings, "drop", drop_whatever_is_held)
    ],
    "never renews": [(Holdings, "renewable", renew_nothing)],
    "renews only what runs": [(Holdings, "renewable", renew_what_runs)],
    "counts a renewed lease from the reply": [(Renewal, "heard", hear_from_the_reply_on)],
    "takes suspects together": [(Holdings, "suspects", any_suspect)],
    "rescues right after it was cut off": [(Sweeper, "_rescue", rescue_at_once)],
    "never gives up what kills its workers": [(ending, "FATAL_LOSSES", 50)],
    "never suspects what kills its workers": [(ending, "SUSPECT_LOSSES", 50)],
    "stops and keeps what it has not started": [(Worker, "_release", release_nothing)],
    "forgets what waits for others": [(Chainer, "ended", forget_parents)],
    "settles only what it ended itself": [(Rows, "parents", find_no_parents)],
    "runs children whatever became of their parents": [(chain, "_MET_BY", WHATEVER)],
    "settles children of parents that still run": [(Rows, "orphans", find_all_children)],
    "relies on wakes alone": [(Sweeper, "_plan_next", plan_no_sweep)],
}


# Where a mutant does harm, if not in any history.
SCENES: Mapping[str, Callable[[int], Scenario]] = {
    "lets what is run alone wait until it idles": draw_saturated,
}
