"""Mutants: faults patched into the real code, which the simulation must catch.

The name of a mutant completes the sentence "a worker that ...".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from duetime.errors import StoreUnavailable
from duetime.model.actions import chain, completion
from duetime.model.actions.completion import Completion, Reschedule, decide_loss
from duetime.model.clock import SECOND, to_micros
from duetime.model.lane import parse_lane
from duetime.model.pause import QueuePause, next_pause
from duetime.model.state import FINISHED
from duetime.store.flow import Mode
from duetime.store.memory import queues as memory_queues
from duetime.store.memory.store import MemoryStore
from duetime.store.memory.tables import Tables, has_expired
from duetime.store.sql.postgres import attempt
from duetime.worker import sweeper
from duetime.worker.child_settler import ChildSettler
from duetime.worker.claiming import cursors
from duetime.worker.claiming.claimer import ClaimableLane, Claimer
from duetime.worker.claiming.heads import LaneHeads
from duetime.worker.claiming.launcher import Launcher
from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.completer import Completer
from duetime.worker.leases.heartbeat import Renewal
from duetime.worker.leases.in_flight import InFlightRun, RunsInFlight
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.running.runner import Runner
from duetime.worker.sweeper import Sweeper
from duetime.worker.worker import Worker
from patching import Patch
from simulation.scenario import (
    Scenario,
    draw_crashes,
    draw_paused,
    draw_saturated,
    draw_unheard,
)

APPLY_COMPLETION = MemoryStore._apply
CLAIM_ONE = MemoryStore._claim_one
SEND_BATCH = Completer._send
FINISH_RUN = Completer._finish_run
INIT_STORE_CLOCK = StoreClock.__init__
APPLY_RENEWAL = Renewal.apply


# -- the store's guard -------------------------------------------------------------------


def _with_current_token(store: Any, completion: Completion) -> Completion:
    """Return the completion with the token of the current claim."""
    row = store._rows.unfinished.get(completion.id)
    return completion if row is None else completion._replace(token=row.record.token)


def complete_by_state(store: Any, completion: Completion, now: int, rescuing: bool) -> bool:
    row = store._rows.unfinished.get(completion.id)
    running = row is not None and row.record.token is not None
    return APPLY_COMPLETION(
        store, _with_current_token(store, completion) if running else completion, now, rescuing
    )


def claim_and_remember(store: Any, action_id: UUID, order: Any, now: int) -> Any:
    claim = CLAIM_ONE(store, action_id, order, now)
    store.__dict__.setdefault("owners", {})[claim.token] = order.worker
    return claim


def complete_by_worker_name(store: Any, completion: Completion, now: int, rescuing: bool) -> bool:
    row = store._rows.unfinished.get(completion.id)
    owner = store.__dict__.get("owners", {}).get(completion.token)
    same = row is not None and row.record.worker == owner
    return APPLY_COMPLETION(
        store, _with_current_token(store, completion) if same else completion, now, rescuing
    )


def complete_unguarded(store: Any, completion: Completion, now: int, rescuing: bool) -> bool:
    return APPLY_COMPLETION(store, _with_current_token(store, completion), now, rescuing)


def complete_by_lease(store: Any, completion: Completion, now: int, rescuing: bool) -> bool:
    row = store._rows.unfinished.get(completion.id)
    if row is None or row.record.token is None or has_expired(row.record, now) != rescuing:
        return False
    return APPLY_COMPLETION(store, _with_current_token(store, completion), now, rescuing)


def complete_without_expiry_check(
    store: Any, completion: Completion, now: int, rescuing: bool
) -> bool:
    return APPLY_COMPLETION(store, completion, now, False)


# -- the worker --------------------------------------------------------------------------


def lower_nothing(self: Any, lane: str, due_at: int) -> None:
    """Never move the cursor back."""


def lose_without_refund(expired: Any) -> Completion:
    completion = decide_loss(expired)
    return completion._replace(refund=False) if isinstance(completion, Reschedule) else completion


def fill_without_lease(self: Any, pool: Any) -> None:
    while pool.ready and pool.running < pool.slots:
        self._start(pool.ready.popleft())


def open_lanes_with_room(self: Any, pool: Any) -> Any:
    heads = [(parse_lane(text), due) for text, due in self._heads.items()]
    own_slot, room = pool.free > pool.early, self._preclaim_capacity(pool) > 0
    return [
        ClaimableLane(lane, due, due if lane.suspect else due - self._preclaim_micros)
        for lane, due in heads
        if self._may_claim(pool, lane) and (own_slot if lane.suspect else room)
    ]


def keep_wall_clock(self: Any, clock: Any, monotonic: Callable[[], float]) -> None:
    INIT_STORE_CLOCK(self, clock, monotonic)
    self.wall = clock


def read_wall_clock(self: Any) -> int:
    return to_micros(self.wall.now())


def latest_is_now(self: Any) -> int:
    now: int = self.now()
    return now


def never_too_late(self: Any, claim: Any) -> None:
    """Start every action that is claimed, whenever that is."""


async def send_only_once(self: Any, batch: Any) -> None:
    try:
        await SEND_BATCH(self, batch)
    except StoreUnavailable:
        for run in batch:
            self._waiting.pop(run, None)
            self._runs.drop(run)


def report_as_accepted(self: Any, run: InFlightRun, accepted: bool) -> None:
    FINISH_RUN(self, run, True)


def start_at_once(self: Any, pool: Any, claimed: Sequence[InFlightRun]) -> None:
    for run in claimed:
        self._make_ready(run)


def drop_any_claim(self: Any, run: InFlightRun) -> None:
    self._runs.pop(run.claim.id.int, None)


def renew_nothing(self: Any, now: float) -> list[InFlightRun]:
    return []


def renew_what_runs(self: Any, now: float) -> list[InFlightRun]:
    return [run for run in self if run.finished_at is None]


def count_lease_from_reply(self: Any, renewing: Any, sent: float, renewed: Any) -> None:
    APPLY_RENEWAL(self, renewing, self._clock.monotonic(), renewed)


def count_no_suspects(self: Any) -> int:
    return 0


def release_nothing(self: Any, unstarted: list[InFlightRun]) -> None:
    """Leave claims that were not started to expire."""


async def rescue_at_once(self: Any, expired: Any) -> int:
    self._no_rescue_until = 0.0
    return await RESCUE_EXPIRED(self, expired)


RESCUE_EXPIRED = Sweeper._rescue


def plan_no_sweep(self: Any, sent: float, sweeping: bool, whole: bool) -> None:
    PLAN_NEXT_SWEEP(self, sent, False, whole)
    self._next_sweep = sent + 10_000.0


PLAN_NEXT_SWEEP = Sweeper._plan_next


def add_again(self: Any, new: Any, if_exists: Any, now: int, act: Any) -> UUID:
    fresh = new._replace(id=self._tokens()) if self._rows.record(new.id) is not None else new
    return ADD_ONE(self, fresh, if_exists, now, act)


ADD_ONE = MemoryStore._add_one


def forget_parents(self: Any, parents: Any) -> None:
    """Settle no children, neither after completions nor after sweeps."""


def find_no_parents(self: Any) -> list[UUID]:
    return []


def find_all_children(self: Any, parent: UUID) -> list[Any]:
    return [self.unfinished[child].record for child in self._children.get(parent, ())]


def believe_the_latest_wake(self: Any, wakes: Any) -> bool:
    NOTE_WAKES(self, wakes)
    for wake in wakes:
        if wake.lane in self._wakes:
            self._wakes[wake.lane] = wake.due_at
            self._heads.pop(wake.lane, None)
    return True


NOTE_WAKES = LaneHeads.note_wakes


def never_held(self: Any, run: InFlightRun) -> bool:
    return False


def look_and_forget_ends(self: Any, paused: Any, now: int) -> None:
    LOOK_AT_PAUSES(self, dict.fromkeys(paused), now)


LOOK_AT_PAUSES = KnownPauses.look_finished


def lift_when_it_ends(self: Any) -> float:
    """Take the end of a pause for the end of all pauses, without asking the store."""
    end = self._pauses.next_end
    if end is not None and self._clock.now() >= end:
        self._pauses.look_finished({}, end)
        self._claimer().service.wake()
    return PAUSE_ENDS_IN(self)


PAUSE_ENDS_IN = Sweeper._pause_ends_in


def never_ends(self: Any, now: int) -> bool:
    return True


def end_with_the_pause_before(before: QueuePause | None, wanted: QueuePause) -> QueuePause:
    after = NEXT_PAUSE(before, wanted)
    if before is None or before.paused_until is None:
        return after
    return replace(after, paused_until=before.paused_until)


NEXT_PAUSE = next_pause

NOT_DURABLE = {**attempt._DISABLED_SETTINGS, Mode.claim: ("synchronous_commit",)}


ANY_FINISHED_STATE = dict.fromkeys(("succeeded", "failed", "finished"), FINISHED)

MUTANTS: Mapping[str, list[Patch]] = {
    "completes any running action": [(MemoryStore, "_apply", complete_by_state)],
    "completes by the worker's name": [
        (MemoryStore, "_claim_one", claim_and_remember),
        (MemoryStore, "_apply", complete_by_worker_name),
    ],
    "completes without any guard": [(MemoryStore, "_apply", complete_unguarded)],
    "completes by the lease's time": [(MemoryStore, "_apply", complete_by_lease)],
    "rescues without checking the lease again": [
        (MemoryStore, "_apply", complete_without_expiry_check)
    ],
    "schedules again after a lost reply": [(MemoryStore, "_add_one", add_again)],
    "lets the cursor run ahead": [
        (cursors, "LAG_MICROS", -3600 * SECOND),
        (cursors.Cursors, "lower", lower_nothing),
    ],
    "burns an attempt when a neighbour crashes": [(sweeper, "decide_loss", lose_without_refund)],
    "starts actions whose lease it lost": [(Launcher, "_fill_slots", fill_without_lease)],
    "lets suspects wait until it idles": [(Claimer, "_claimable_lanes", open_lanes_with_room)],
    "trusts its own clock": [
        (StoreClock, "__init__", keep_wall_clock),
        (StoreClock, "now", read_wall_clock),
    ],
    "starts expired actions": [(Runner, "_too_late", never_too_late)],
    "forgets that a reply takes time": [(StoreClock, "latest", latest_is_now)],
    "starts at the claim, not at the time": [(Launcher, "accept", start_at_once)],
    "drops a completion during an outage": [(Completer, "_send", send_only_once)],
    "reports refused completions": [(Completer, "_finish_run", report_as_accepted)],
    "forgets a claim when an older claim of its action ends": [
        (RunsInFlight, "drop", drop_any_claim)
    ],
    "never renews": [(RunsInFlight, "renewable", renew_nothing)],
    "renews only running handlers": [(RunsInFlight, "renewable", renew_what_runs)],
    "counts a renewed lease from the reply": [(Renewal, "apply", count_lease_from_reply)],
    "takes suspects together": [(RunsInFlight, "suspect_count", count_no_suspects)],
    "rescues right after it was cut off": [(Sweeper, "_rescue", rescue_at_once)],
    "never fails actions that kill their workers": [(completion, "FATAL_LOSSES", 50)],
    "never suspects actions that kill their workers": [(completion, "SUSPECT_LOSSES", 50)],
    "stops without releasing unstarted claims": [(Worker, "_release", release_nothing)],
    "never settles children": [(ChildSettler, "parents_finished", forget_parents)],
    "settles only children of its own completions": [(Tables, "parents", find_no_parents)],
    "runs children in any final state of their parents": [(chain, "_MET_BY", ANY_FINISHED_STATE)],
    "settles children of parents that still run": [(Tables, "orphans", find_all_children)],
    "commits claims in memory alone": [(attempt, "_DISABLED_SETTINGS", NOT_DURABLE)],
    "relies on wakes alone": [(Sweeper, "_plan_next", plan_no_sweep)],
    "starts a pre-claim of a paused queue": [(Launcher, "_is_held", never_held)],
    "lifts a later pause when an earlier one ends": [
        (Sweeper, "_pause_ends_in", lift_when_it_ends)
    ],
    "keeps the end of an earlier pause": [(memory_queues, "next_pause", end_with_the_pause_before)],
}


# Breaks no guarantee, since sweeps find what it forgets, but starts are late.
BELIEVES_THE_LATEST_WAKE: list[Patch] = [(LaneHeads, "note_wakes", believe_the_latest_wake)]

# They break no guarantee either, but what waited for the end of a pause starts late.
FORGETS_THE_END: Mapping[str, list[Patch]] = {
    "a worker": [(KnownPauses, "look_finished", look_and_forget_ends)],
    "a store": [(QueuePause, "in_force", never_ends)],
}

# Mutants that only show in a special scenario.
SCENARIOS: Mapping[str, Callable[[int], Scenario]] = {
    "lets suspects wait until it idles": draw_saturated,
    "commits claims in memory alone": draw_crashes,
    "starts a pre-claim of a paused queue": draw_paused,
    "lifts a later pause when an earlier one ends": draw_unheard,
    "keeps the end of an earlier pause": draw_paused,
}
