"""The contract of pauses of queues, and of what operators read about queues and actions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from uuid import UUID

from duetime.model.act import Act
from duetime.model.health.queues import QueueCounts, QueueGauges
from duetime.model.pause import QueuePause
from duetime.model.reason import Circumstances
from duetime.model.tenant import Scope
from duetime.store.flow import Flow


class QueueContract(ABC):
    """The verbs of queues, which are of all tenants. A claim knows nothing of pauses: workers do,
    from the look-aheads and sweeps that list the paused queues."""

    @abstractmethod
    def pause_queue(self, queue: str, act: Act, *, until: int | None) -> Flow[QueuePause]:
        """Pause a queue, also one that nobody serves, and return the pause as stored.
        `model.pause.next_pause` decides; a change is audited, and wakes with PAUSES_LANE."""

    @abstractmethod
    def resume_queue(self, queue: str, act: Act) -> Flow[bool]:
        """End the pause of a queue, audited, and wake with PAUSES_LANE. Return False, and change
        nothing, if it is not paused now."""

    @abstractmethod
    def queues(self, alive: int, most: int | None = None) -> Flow[QueueCounts]:
        """Count the unfinished actions of all tenants by queue; list the pauses that are in force,
        and the workers that were seen within the last `alive` microseconds. A read that blocks no
        other verb; its parts need not be of one snapshot. `most` is that of `stats`."""

    @abstractmethod
    def queue_gauges(self, alive: int) -> Flow[QueueGauges]:
        """Count as `queues` does, what gauges show of it. A single read."""

    @abstractmethod
    def circumstances(self, action_id: UUID, tenant: Scope, *, alive: int) -> Flow[Circumstances]:
        """Return an action, and what decides whether it runs. A read that locks nothing; its parts
        need not be of one snapshot. ActionNotFound outside the tenant's scope."""
