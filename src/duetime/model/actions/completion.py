"""Completions: what a finished run writes. A store applies one if its fence is current."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from duetime.model.actions.claim import FATAL_LOSSES, SUSPECT_LOSSES, Expired
from duetime.model.error_group import error_group
from duetime.model.lane import lane_of
from duetime.model.state import Outcome, State

if TYPE_CHECKING:
    from duetime.model.jobs.change import JobUpdate


class Finish(NamedTuple):
    """The action is finished and moves to history.

    `job` and `triggered_by` are the action's own. `retried` marks an action that failed before
    and was retried by hand: its job has already counted that failure. `traceback` is that of a
    failed attempt. `refund` marks a claim that started no run: it gives the attempt back, and the
    action keeps no start of it.
    """

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
    traceback: str | None = None
    refund: bool = False

    @property
    def error_group(self) -> str | None:
        """The group of the error of a failure."""
        failed = self.state is State.failed and self.error is not None
        return error_group(self.error or "") if failed else None


class Reschedule(NamedTuple):
    """The action is scheduled again, and its run is recorded.

    `delay` counts from the store's now; None keeps `due_at`. `lane` None keeps the lane.
    `refund` gives the attempt back; `lost` is added to the action's losses; `traceback` is that of
    a failed attempt.
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
    traceback: str | None = None


Completion = Finish | Reschedule


@dataclass(frozen=True, slots=True)
class CompletionResult:
    """The result of storing completions.

    `applied` are the actions whose completions took effect, `applied_earlier` those among them
    that an earlier sending had applied. `parents` are the finished ones that may have waiting
    children: settle those. `jobs` are the job changes made now, in order; `replayed_jobs` those of
    an earlier sending whose reply may have been lost. Completions of `busy` actions were not
    applied, because another transaction had locked their job.
    """

    applied: set[UUID]
    parents: set[UUID]
    jobs: Sequence[JobUpdate] = ()
    replayed_jobs: Sequence[JobUpdate] = ()
    applied_earlier: set[UUID] = field(default_factory=set)
    busy: set[UUID] = field(default_factory=set)


def fail_lost(expired: Expired, reason: str) -> Finish:
    """Return what ends an action whose lease ran out and that nobody is to run again."""
    return Finish(
        id=expired.id,
        token=expired.token,
        state=State.failed,
        outcome=Outcome.lost,
        error=reason,
        lost=1,
        job=expired.job,
        triggered_by=expired.triggered_by,
    )


def decide_loss(expired: Expired) -> Completion:
    """Decide what follows an expired lease: another run, claimed alone from the second loss on;
    failure at the fifth."""
    losses = expired.losses + 1
    if losses >= FATAL_LOSSES:
        return fail_lost(
            expired, f"lost {losses} times: each worker that ran it vanished or was cut off"
        )
    suspect = losses >= SUSPECT_LOSSES
    return Reschedule(
        id=expired.id,
        token=expired.token,
        outcome=Outcome.lost,
        lane=lane_of(expired.queue, expired.priority, expired.tenant, suspect=suspect),
        refund=True,
        error="the lease ran out: its worker vanished or was cut off",
        lost=1,
    )
