"""Endings: what a run's end writes. A store applies them as they are, if the token fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from duetime.model.actions.claim import FATAL_LOSSES, SUSPECT_LOSSES, Expired
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State

if TYPE_CHECKING:
    from duetime.model.jobs.change import JobEnd


class Finish(NamedTuple):
    """The action is over and moves to history. `job` and `triggered_by` are the action's own. One
    that was `retried` by hand came to an end before, and its job was told so."""

    id: UUID
    token: UUID
    state: State
    outcome: Outcome
    result: str | None = None
    error: str | None = None
    started_at: int | None = None
    cancelled_by: str | None = None
    lost: int = 0
    job: str | None = None
    triggered_by: str | None = None
    retried: bool = False


class Again(NamedTuple):
    """The action is scheduled again, and the run goes to the record.

    `delay` counts from the store's now; None keeps `due_at`. `lane` None keeps the lane.
    `refund` gives the attempt back; `lost` adds to its losses.
    """

    id: UUID
    token: UUID
    outcome: Outcome
    delay: int | None = None
    lane: str | None = None
    refund: bool = False
    result: str | None = None
    error: str | None = None
    started_at: int | None = None
    lost: int = 0


Ending = Finish | Again


@dataclass(frozen=True, slots=True)
class Completed:
    """The actions whose endings took effect, of which the `earlier` ones did so by an earlier
    sending. `parents` are those of them that have come to their end and may have children that
    wait for it: settle them. `jobs` tells what the ends just now made of jobs, one by one, and
    `retold` what was told with a reply that may have been lost. The endings of the `busy` ones
    were left alone, because somebody holds their job."""

    ended: set[UUID]
    parents: set[UUID]
    jobs: Sequence[JobEnd] = ()
    retold: Sequence[JobEnd] = ()
    earlier: set[UUID] = field(default_factory=set)
    busy: set[UUID] = field(default_factory=set)


def decide_loss(expired: Expired) -> Ending:
    """A lease ran out: try again, alone from the second loss on, and fail at the fifth."""
    losses = expired.losses + 1
    if losses >= FATAL_LOSSES:
        return Finish(
            id=expired.id,
            token=expired.token,
            state=State.failed,
            outcome=Outcome.lost,
            error=f"lost {losses} times: each worker that ran it vanished or was cut off",
            lost=1,
            job=expired.job,
            triggered_by=expired.triggered_by,
        )
    suspect = losses >= SUSPECT_LOSSES
    return Again(
        id=expired.id,
        token=expired.token,
        outcome=Outcome.lost,
        lane=lane_of(expired.queue, expired.priority, expired.tenant, suspect=suspect),
        refund=True,
        error="the lease ran out: its worker vanished or was cut off",
        lost=1,
    )
