"""Short histories for faults that chance seldom reaches: each leads to one difference.

The rounds depend on more than these tests: Hypothesis also draws constants that it finds in the
source of all imported modules.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from duetime.model.actions.claim import ClaimOrder
from duetime.model.actions.completion import Completion, Finish, Reschedule
from duetime.model.state import Outcome, State
from duetime.model.tenant import ANY
from duetime.store.base import Store
from duetime.testing import FakeClock
from store.state_machine import EVERY_LANE, StoreMachine
from store.store_comparison import ALL
from store.store_pair import NamedClaim
from store.strategies import EXPIRING, NO_ID, QUEUE, ActionDraft

SUCCESS = Finish(NO_ID, NO_ID, State.succeeded, Outcome.succeeded)
FAILURE = Finish(NO_ID, NO_ID, State.failed, Outcome.failed)
ANOTHER_ATTEMPT = Reschedule(NO_ID, NO_ID, Outcome.retried, delay=0)


class DirectedLife(StoreMachine):
    """Performs chosen steps, and compares the stores after each, as Hypothesis would."""

    def compare(self) -> None:
        self.compare_records()
        self.invariants_hold()

    def schedule(
        self,
        *,
        payload: str = "1",
        key: str | None = None,
        due_in: int = -9,
        priority: int = 1,
        after: UUID | None = None,
    ) -> UUID:
        parent = None if after is None else list(self.before).index(after)
        due = due_in if after is None else None
        fields = (priority, None, None, key, due, 0, "ann", parent)
        self.add([ActionDraft("mail", payload, *fields, "finished")], [], "return")
        self.compare()
        return self.sent[-1].id

    def replace(self, after: UUID | None = None) -> None:
        """Replace the only action with a key."""
        parent = None if after is None else list(self.before).index(after)
        fields = (1, None, None, "x", None, 0, "bob", parent)
        self.add([ActionDraft("mail", "2", *fields, "finished")], [], "replace")
        self.compare()

    def claim_all(self) -> dict[UUID, NamedClaim]:
        claims = self._claim(ClaimOrder("w1", EVERY_LANE, ALL, 5))
        self.compare()
        return {claim.id: claim for claim in claims}

    def end(self, *ends: tuple[NamedClaim, Completion]) -> None:
        self._send(ends, rescuing=False)
        self.compare()

    def pass_time(self, micros: int) -> None:
        self.clock.advance(microseconds=micros)
        self.compare()

    def request_stop(self, action_id: UUID, by: str) -> None:
        self._cancel(action_id, ANY, by, running=True)
        self.compare()


def stale_and_present_claims(life: DirectedLife) -> None:
    """Complete an action by an earlier claim, beside one that is completed by its present one."""
    first, second = life.schedule(), life.schedule(due_in=-8)
    stale = life.claim_all()
    life.end((stale[first], ANOTHER_ATTEMPT))
    life.claim_all()
    life.end((stale[first], SUCCESS), (stale[second], SUCCESS))


def ended_pause(life: DirectedLife) -> None:
    """Look at the pauses after one has ended while another lasts."""
    life.schedule()
    life.pause(QUEUE, "ann", 3, False)
    life.compare()
    life.pass_time(5)
    life.pause("other", "bob", None, False)
    life.compare()


def circle_of_three(life: DirectedLife) -> None:
    """Let an action wait for its own grandchild."""
    first = life.schedule(key="x", due_in=5)
    life.replace(after=life.schedule(after=life.schedule(after=first)))


def expiring_failure(life: DirectedLife) -> None:
    """Retry an action that expires."""
    failed = life.schedule(payload=EXPIRING)
    life.end((life.claim_all()[failed], FAILURE))
    life.retry(0, ANY, "ann")
    life.compare()


def finished_parent(life: DirectedLife) -> None:
    """Complete an action that a child waits for."""
    parent = life.schedule()
    life.schedule(after=parent)
    life.end((life.claim_all()[parent], SUCCESS))


def stopped_and_claimed_again(life: DirectedLife) -> None:
    """Claim an action anew that was asked to stop in its previous run."""
    stopped = life.schedule()
    claims = life.claim_all()
    life.request_stop(stopped, "ann")
    life.end((claims[stopped], ANOTHER_ATTEMPT))
    life.claim_all()


def replaced_after_an_attempt(life: DirectedLife) -> None:
    """Replace an action that ran before."""
    tried = life.schedule(key="x")
    life.end((life.claim_all()[tried], ANOTHER_ATTEMPT))
    life.replace()


def limited_claim(life: DirectedLife) -> None:
    """Claim fewer actions than are due, from several lanes."""
    life.schedule()
    life.schedule(due_in=-8, priority=2)
    life._claim_whole(ClaimOrder("w1", EVERY_LANE, ALL, 5), 1)
    life.compare()


def prolonged_pause(life: DirectedLife) -> None:
    """Pause a queue until another instant."""
    life.pause(QUEUE, "ann", 3, False)
    life.pause(QUEUE, "ann", 5, False)


def sweep_beside_a_parent(life: DirectedLife) -> None:
    """Sweep while a parent runs."""
    parent = life.schedule()
    life.schedule(after=parent)
    life.claim_all()
    life.sweep(0, ALL, False, False)
    life.compare()


def few_settled_children(life: DirectedLife) -> None:
    """Settle fewer children than could be."""
    parent = life.schedule()
    for _ in range(4):
        life.schedule(after=parent)
    life.end((life.claim_all()[parent], SUCCESS))
    for _ in range(4):
        life.settle([1], 1)
        life.compare()


LIVES: dict[str, Callable[[DirectedLife], None]] = {
    "finish_for_anyone": stale_and_present_claims,
    "look_at_ended_pauses": ended_pause,
    "pause_never_ends": ended_pause,
    "circle_of_two_at_most": circle_of_three,
    "retry_without_expiry": expiring_failure,
    "finish_forgets_children": finished_parent,
    "finish_tells_no_parents": finished_parent,
    "again_keeps_stop": stopped_and_claimed_again,
    "claim_above_limit": limited_claim,
    "pause_keeps_its_end": prolonged_pause,
    "sweep_tells_parents_that_run": sweep_beside_a_parent,
    "settle_newest_first": few_settled_children,
    "replace_keeps_attempts": replaced_after_an_attempt,
}


def live(clock: FakeClock, store: Store, steps: Callable[[DirectedLife], None]) -> None:
    """Perform these steps on an empty store with this clock, compared with the specification."""
    life = DirectedLife(clock, store)
    steps(life)
    life.teardown()
