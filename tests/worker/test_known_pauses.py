"""What a worker knows of pauses, and what follows from it, without a store."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

from duetime.model.actions.claim import LaneHead
from duetime.model.lane import lane_of, parking_lane
from duetime.worker.claiming.heads import LaneHeads
from duetime.worker.claiming.launcher import Launcher
from duetime.worker.claiming.pauses import KnownPauses
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import InFlightRun, RunsInFlight

BILLING, MAIL = lane_of("billing", 1, None), lane_of("mail", 1, None)
NOW = 10**15
SECOND = 1_000_000


def paused(*queues: str) -> KnownPauses:
    pauses = KnownPauses()
    pauses.look_finished(dict.fromkeys(queues), NOW)
    return pauses


def test_all_lanes_of_a_paused_queue_are_held() -> None:
    pauses = paused("billing", "q.with.dots")
    for lane in (BILLING, "s." + BILLING, parking_lane("mail", 1, BILLING), "2.7.q.with.dots"):
        assert pauses.hold(lane)
    for lane in (MAIL, "damaged", "", "1.0.billing.more"):
        assert not pauses.hold(lane)


def test_a_pause_counts_past_its_end_until_a_look_says_otherwise() -> None:
    pauses = KnownPauses()
    assert pauses.next_end is None
    pauses.look_finished({"billing": NOW + 5, "mail": NOW + 3, "other": None}, NOW)
    assert pauses.next_end == NOW + 3
    assert pauses.hold(MAIL)
    pauses.look_finished({"billing": NOW + 9}, NOW + 3)
    assert not pauses.hold(MAIL)
    assert pauses.hold(BILLING)
    assert pauses.next_end == NOW + 9


def test_lateness_counts_from_the_end_of_a_pause() -> None:
    pauses = paused("billing")
    pauses.look_finished({}, NOW + 7)
    assert pauses.startable_from(BILLING, NOW - 5) == NOW + 7
    assert pauses.startable_from(BILLING, NOW + 8) == NOW + 8
    assert pauses.startable_from(MAIL, NOW - 5) == NOW - 5


def test_what_waited_in_a_paused_queue_was_not_missed() -> None:
    heads, pauses = LaneHeads(), paused("billing")
    listed = [LaneHead(BILLING, NOW - 60 * SECOND), LaneHead(MAIL, NOW - 60 * SECOND)]
    heads.look_started()
    heads.look_finished(listed, NOW, full=True, held=pauses.recent)
    claims: Any = [SimpleNamespace(lane=BILLING), SimpleNamespace(lane=MAIL)]
    assert [claim.lane for claim in heads.claims_of_missed_lanes(claims)] == [MAIL]


def test_a_queue_that_was_resumed_a_moment_ago_has_missed_nothing() -> None:
    heads, pauses = LaneHeads(), paused("billing")
    pauses.look_finished({}, NOW)
    heads.look_started()
    heads.look_finished([LaneHead(BILLING, 0)], NOW, full=True, held=pauses.recent)
    claims: Any = [SimpleNamespace(lane=BILLING)]
    assert heads.claims_of_missed_lanes(claims) == []
    pauses.look_finished({}, NOW)
    assert pauses.recent == frozenset()


class ObservedLauncher:
    """A launcher whose starts and releases are noted."""

    def __init__(self) -> None:
        self.started: list[InFlightRun] = []
        self.released: list[InFlightRun] = []
        self.pauses = KnownPauses()
        self.pool = Pool(1, lambda queue: True)
        clock: Any = SimpleNamespace(
            now=lambda: NOW, monotonic=lambda: 0.0, until=lambda instant: 60.0
        )
        timer: Any = SimpleNamespace(set=lambda seconds: None, close=lambda: None)
        self.launcher = Launcher(
            clock,
            lambda fire: timer,
            RunsInFlight(),
            self.pauses,
            lambda run: run,  # type: ignore[arg-type, return-value]
            lambda: None,
            lambda pool: 100,
            self.released.append,
        )
        self.launcher._start = self._start  # type: ignore[method-assign]
        self.launcher.open()

    def _start(self, run: InFlightRun) -> None:
        run.pool.run_started()
        self.started.append(run)

    def accept(self, lane: str, due_at: int = NOW, lease: float = 15.0) -> InFlightRun:
        claim: Any = SimpleNamespace(lane=lane, due_at=due_at)
        run = InFlightRun(claim, self.pool, lease)
        self.launcher.accept(self.pool, [run])
        return run

    def pause(self, *queues: str) -> None:
        self.pauses.look_finished(dict.fromkeys(queues), NOW)
        self.launcher.release_paused([self.pool])


def test_all_that_has_not_started_is_given_back() -> None:
    seen = ObservedLauncher()
    running = seen.accept(BILLING)
    ready, early = seen.accept(BILLING), seen.accept(BILLING, NOW + SECOND)
    others = [seen.accept(MAIL), seen.accept(MAIL, NOW + SECOND)]
    assert seen.started == [running]
    assert (seen.pool.early, len(seen.pool.ready)) == (2, 2)
    seen.pause("billing")
    assert {*seen.released} == {ready, early}
    assert seen.pool.early == 1
    assert seen.pool.ready == deque(others[:1])
    assert seen.launcher.take_unstarted([seen.pool]) == [others[1], others[0]]


def test_a_run_whose_lease_is_unsure_is_given_back() -> None:
    seen = ObservedLauncher()
    unsure = seen.accept(BILLING, lease=0.0)
    assert seen.pool.lease_unsure == 1
    seen.pause("billing")
    assert (seen.released, seen.started) == ([unsure], [])
    assert seen.pool.lease_unsure == 0


def test_a_claim_of_a_paused_queue_is_given_back_at_once() -> None:
    seen = ObservedLauncher()
    seen.pause("billing")
    early, due = seen.accept(BILLING, NOW + SECOND), seen.accept(BILLING)
    assert seen.released == [early, due]
    other = seen.accept(MAIL)
    assert seen.started == [other]


def test_the_pauses_are_asked_once_more_before_a_start() -> None:
    """A run that waits for a slot, which nobody has given back."""
    seen = ObservedLauncher()
    running, waiting = seen.accept(MAIL), seen.accept(BILLING)
    seen.pauses.look_finished({"billing": None}, NOW)
    seen.launcher.run_finished(running)
    assert seen.started == [running]
    assert seen.released == [waiting]
