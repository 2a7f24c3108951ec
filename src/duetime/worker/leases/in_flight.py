"""What a worker holds: claims whose end is not recorded yet."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from duetime.model.actions.claim import SUSPECT_LOSSES, Claim, Lease
from duetime.registry.context import Stop

if TYPE_CHECKING:
    from duetime.worker.claiming.slots import Pool


class Held:
    """One claim on its way through this worker."""

    __slots__ = (
        "claim",
        "ended_at",
        "lease_ends",
        "lost",
        "pool",
        "renew_until",
        "started_at",
        "stop",
        "task",
    )

    def __init__(self, claim: Claim, pool: Pool, lease_ends: float) -> None:
        self.claim = claim
        self.pool = pool
        self.lease_ends = lease_ends
        self.renew_until: float | None = None
        self.lost = False
        self.started_at: int | None = None
        self.ended_at: int | None = None
        self.stop = Stop()
        self.task: Task[None] | None = None

    def give_up(self) -> None:
        """It is no longer ours: never started from here on, and asked to stop if it runs."""
        self.lost = self.stop.asked = True


class Holdings:
    """All that is held. The heartbeat's thread reads it: iterating copies in one step.

    By the number of its id: a UUID's own hash is a call of its own, and this is asked four
    times for each run.
    """

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))

    def add(self, held: Held) -> None:
        """An older run of the same action has lost its lease."""
        number = held.claim.id.int
        older = self._held.get(number)
        if older is not None:
            older.give_up()
        self._held[number] = held

    def holds(self, action_id: UUID, token: UUID, now: float) -> bool:
        """Whether this run is ours and may still be renewed."""
        held = self._held.get(action_id.int)
        if held is None or held.claim.token != token:
            return False
        return held.renew_until is None or now < held.renew_until

    def drop(self, held: Held) -> None:
        """Forget it, unless the same action was claimed anew meanwhile."""
        number = held.claim.id.int
        if self._held.get(number) is held:
            del self._held[number]

    def renewable(self, now: float) -> list[Held]:
        """Those that may be renewed: not past their deadline and its grace."""
        return [h for h in self if h.renew_until is None or now < h.renew_until]

    def suspects(self) -> int:
        return sum(h.claim.losses >= SUSPECT_LOSSES for h in self)


def lease_of(held: Held) -> Lease:
    return Lease(held.claim.id, held.claim.token)
