"""The verbs of queues: each checks its arguments and returns an Operation.

`async_api.py` and `sync_api.py` perform the operations.
"""

from __future__ import annotations

from datetime import datetime

from duetime.api.arguments import MAX_QUEUE_LENGTH, to_act
from duetime.api.operation import Operation
from duetime.errors import InvalidArgument
from duetime.model.actions.claim import alive_micros
from duetime.model.clock import to_micros
from duetime.model.health.queues import PausedQueue, Queue, as_paused, queues_of
from duetime.model.health.stats import MOST_FINISHED
from duetime.model.notifications.delivery import NOTIFY_QUEUE
from duetime.model.validation import check_count, check_name, instant
from duetime.registry.runtime import AppRuntime
from duetime.store.flow import and_then
from duetime.words.phrase import phrase


class QueueVerbs:
    """Builds the operations of the queues, which are of all tenants."""

    def __init__(self, runtime: AppRuntime, sweep: float) -> None:
        self.runtime = runtime
        self._store = runtime.store
        self._alive_for = alive_micros(sweep)

    def list(self, *, most: int | None = None, connection: object = None) -> Operation[list[Queue]]:
        """The queues by name: those with unfinished actions, the paused ones, and those that a
        living worker names. Counts the actions of all tenants; with `most`, about so many, those
        that are due first."""
        counted = None if most is None else check_count("most", most, MOST_FINISHED)
        flow = self._store.queues(self._alive_for, counted)
        return Operation(flow, queues_of, connection=connection)

    def pause(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        until: datetime | None = None,
        connection: object = None,
    ) -> Operation[PausedQueue]:
        """Start nothing more of a queue, in any worker, until it is resumed or until the instant
        `until` by the store's clock. What runs goes on; ticks and retries arrive and wait.

        A pause replaces the one before. A queue that nobody serves can be paused, too: `served_by`
        of the result is then empty. `ignored_by` names living workers of older versions.
        """
        queue, act = check_name("name", name, MAX_QUEUE_LENGTH), to_act(by, note)
        _refuse_deliveries(queue)
        end = None if until is None else to_micros(instant("until", until))
        flow = and_then(
            self._store.pause_queue(queue, act, until=end),
            lambda _: self._store.workers(self._alive_for),
        )
        return Operation(flow, lambda done: as_paused(*done), connection=connection)

    def resume(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[bool]:
        """Let workers claim from the queue again. Returns whether it was paused; if it was not,
        nothing changes."""
        queue = check_name("name", name, MAX_QUEUE_LENGTH)
        flow = self._store.resume_queue(queue, to_act(by, note))
        return Operation(flow, bool, connection=connection)


def _refuse_deliveries(queue: str) -> None:
    if queue == NOTIFY_QUEUE:
        remedy = phrase(
            "notifications are sent by this queue, which cannot be paused: mute subscriptions"
        )
        raise InvalidArgument("name", queue, remedy)
