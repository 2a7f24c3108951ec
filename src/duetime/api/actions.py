"""The verbs of actions, written once: each checks its arguments and returns an Operation.

`async_api.py` and `sync_api.py` perform the operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from duetime.api.arguments import (
    MAX_LABEL_LENGTH,
    MAX_QUEUE_LENGTH,
    Delay,
    Parent,
    TenantArgument,
    to_actor,
    to_filter,
    to_id,
    to_if_exists,
    to_scope,
    to_state,
    to_when,
)
from duetime.api.operation import Operation
from duetime.api.requests import Request, RequestBuilder
from duetime.errors import InvalidArgument
from duetime.events.types import cancelled_events, rescheduled_events
from duetime.model.actions.action import (
    Action,
    Added,
    Page,
    Record,
    Run,
    StoredRun,
    as_action,
    as_run,
)
from duetime.model.actions.availability import why_unavailable
from duetime.model.actions.chain import On
from duetime.model.actions.claim import alive_micros
from duetime.model.actions.new_actions import IfExists, InsertedBatch, NewActions
from duetime.model.clock import to_micros
from duetime.model.filter import Filter, from_cursor, page_limit, to_cursor
from duetime.model.health.stats import MOST_FINISHED, Stats, StoreCounts, clock_offset, stats_of
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import Priority
from duetime.model.payloads.registry import maybe_json
from duetime.model.state import State
from duetime.model.tenant import AMBIENT, Ambient
from duetime.model.validation import check_optional, instant
from duetime.registry.runtime import AppRuntime
from duetime.store.flow import Flow, and_then
from duetime.store.settlement import Settlement, settle_descendants, with_settled

T = TypeVar("T")


class ActionVerbs:
    """Builds the operations of one app's actions."""

    def __init__(
        self, runtime: AppRuntime, ids: TimeOrderedIds, max_payload: int, *, sweep: float = 10.0
    ) -> None:
        self._store = runtime.store
        self._payloads = runtime.payloads
        self._meters = runtime.meters
        self._requests = RequestBuilder(runtime.payloads, ids, max_payload)
        self._clock = runtime.clock
        self._alive_for = alive_micros(sweep)

    # -- writing ---------------------------------------------------------------------

    def schedule(
        self,
        payload: object,
        *,
        at: datetime | None = None,
        delay: Delay | None = None,
        correlation_id: str | None = None,
        key: str | None = None,
        if_exists: IfExists = "return",
        priority: Priority | str = Priority.normal,
        queue: str | None = None,
        tenant: str | Ambient | None = AMBIENT,
        by: str | None = None,
        after: Parent | None = None,
        on: On | None = None,
        connection: object = None,
    ) -> Operation[Action]:
        """Schedule a payload for an instant, after a delay, or now.

        With `after`, the new action waits until that action has finished: `delay` counts from
        then, and `at` is the earliest time. If that action does not finish as `on` says
        ("succeeded" by default, "failed", or "finished": either way), the new one is cancelled.

        `key` is unique among the unfinished actions of a tenant and kind: if another action
        holds the key, `if_exists` says whether to "return" or "replace" that action or to
        "raise" DuplicateKey. Returns the action; its `created` says whether it is new.

        `connection` is a session or connection of yours to the same database: the action
        exists if and only if you commit its transaction.
        """
        request = Request(
            payload, at, delay, correlation_id, key, priority, queue, tenant, by, after, on
        )
        new = self._requests.build(request)
        return self._add(new, if_exists, connection, lambda actions: actions[0])

    def schedule_many(
        self,
        requests: Iterable[tuple[object, datetime] | Request],
        *,
        if_exists: IfExists = "return",
        connection: object = None,
    ) -> Operation[list[Action]]:
        """Schedule many actions, all or none; returns the actions in the order given.

        Takes `(payload, at)` pairs and `app.request(payload, ...)` values.
        """
        new = self._requests.build_many(requests)
        return self._add(new, if_exists, connection, list)

    def _add(
        self,
        new: NewActions,
        if_exists: IfExists,
        connection: object,
        to_result: Callable[[list[Action]], T],
    ) -> Operation[T]:
        flow = self._store.add(new, to_if_exists(if_exists))
        if not new.has("after"):
            return Operation(
                flow,
                lambda added: to_result(self._inserted(added, new.payloads)),
                self._count_added,
                connection=connection,
            )
        parents = [parent for parent in new.columns["after"] if parent is not None]
        return Operation(
            and_then(flow, lambda _: settle_descendants(self._store, parents)),
            lambda done: to_result(self._inserted(with_settled(*done), new.payloads)),
            lambda done: self._count_added(done[0], done[1].settled),
            lambda done: cancelled_events([], done[1].settled),
            connection,
        )

    def cancel(
        self,
        action_id: UUID,
        *,
        running: bool = False,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        connection: object = None,
    ) -> Operation[Action]:
        """Cancel a scheduled action; IllegalState if it is in another state.

        With `running=True` a running handler is asked to stop: its `ctx.cancelled` becomes
        true at its worker's next heartbeat, and the outcome of the run stands.
        """
        flow = self._store.cancel(to_id(action_id), to_scope(tenant), to_actor(by), running=running)
        return Operation(
            and_then(flow, lambda record: self._settle_children([record])),
            lambda done: self._to_action(done[0]),
            lambda done: self._count_cancelled([done[0], *done[1].settled]),
            lambda done: cancelled_events([done[0]], done[1].settled),
            connection,
        )

    def reschedule(
        self,
        action_id: UUID,
        *,
        at: datetime | None = None,
        delay: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        connection: object = None,
    ) -> Operation[Action]:
        """Move a scheduled action to an earlier or later time; it does not run at the old one."""
        due_at, pause = to_when(at, delay)
        if at is None and delay is None:
            raise InvalidArgument("at", None, "give the new time: at= or delay=")
        flow = self._store.reschedule(
            to_id(action_id), to_scope(tenant), to_actor(by), due_at=due_at, delay=pause
        )
        return Operation(
            flow, self._to_action, self._count_rescheduled, rescheduled_events, connection
        )

    def retry(
        self,
        action_id: UUID,
        *,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        connection: object = None,
    ) -> Operation[Action]:
        """Schedule a failed action again, due now, with a fresh retry budget."""
        flow = self._store.retry(to_id(action_id), to_scope(tenant), to_actor(by))
        return Operation(
            flow,
            self._to_action,
            lambda record: self._count_scheduled([record]),
            connection=connection,
        )

    def cancel_many(
        self,
        *,
        correlation_id: str | None = None,
        kind: str | None = None,
        state: State | str | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        connection: object = None,
    ) -> Operation[int]:
        """Cancel every scheduled action that matches; returns how many. Running actions are
        left alone. At least one of correlation_id, kind and state must be given."""
        wanted = to_filter(correlation_id, kind, state, tenant, State.scheduled)
        return Operation(
            and_then(self._store.cancel_many(wanted, to_actor(by)), self._settle_children),
            lambda done: len(done[0]),
            lambda done: self._count_cancelled([*done[0], *done[1].settled]),
            lambda done: cancelled_events(done[0], done[1].settled),
            connection,
        )

    def _settle_children(self, records: Sequence[Record]) -> Flow[Settlement]:
        """Settle the children of cancelled actions in the same transaction, up to its limit."""
        cancelled = [record.id for record in records if record.state is State.cancelled]
        return settle_descendants(self._store, cancelled)

    def retry_many(
        self,
        *,
        correlation_id: str | None = None,
        kind: str | None = None,
        state: State | str | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        connection: object = None,
    ) -> Operation[int]:
        """Retry every failed action that matches; returns how many. At least one of
        correlation_id, kind and state must be given."""
        wanted = to_filter(correlation_id, kind, state, tenant, State.failed)
        flow = self._store.retry_many(wanted, to_actor(by))
        return Operation(flow, len, self._count_scheduled, connection=connection)

    # -- reading ---------------------------------------------------------------------

    def get(
        self, action_id: UUID, *, tenant: TenantArgument = AMBIENT, connection: object = None
    ) -> Operation[Action]:
        """The action, finished or not; ActionNotFound if this tenant has no action of that id."""
        flow = self._store.get(to_id(action_id), to_scope(tenant))
        return Operation(flow, self._to_action, connection=connection)

    def find(
        self,
        *,
        state: State | str | None = None,
        kind: str | None = None,
        queue: str | None = None,
        correlation_id: str | None = None,
        key: str | None = None,
        due_from: datetime | None = None,
        due_before: datetime | None = None,
        tenant: TenantArgument = AMBIENT,
        limit: int = 50,
        cursor: str | None = None,
        connection: object = None,
    ) -> Operation[Page[Action]]:
        """The actions that match, newest first, a page at a time."""
        size = page_limit(limit)
        wanted = Filter(
            state=None if state is None else to_state(state),
            kind=check_optional("kind", kind, MAX_QUEUE_LENGTH),
            queue=check_optional("queue", queue, MAX_QUEUE_LENGTH),
            correlation_id=check_optional("correlation_id", correlation_id, MAX_LABEL_LENGTH),
            key=check_optional("key", key, MAX_LABEL_LENGTH),
            tenant=to_scope(tenant),
            due_from=None if due_from is None else to_micros(instant("due_from", due_from)),
            due_before=None if due_before is None else to_micros(instant("due_before", due_before)),
            before=from_cursor(cursor),
            limit=size + 1,
        )
        flow = self._store.find(wanted)
        return Operation(flow, lambda records: self._page(records, size), connection=connection)

    def runs(
        self, action_id: UUID, *, tenant: TenantArgument = AMBIENT, connection: object = None
    ) -> Operation[list[Run]]:
        """Every run of the action, oldest first."""
        flow = self._store.runs(to_id(action_id), to_scope(tenant))
        return Operation(flow, _runs, connection=connection)

    def stats(self, *, tenant: TenantArgument = AMBIENT) -> Operation[Stats]:
        """Health figures of this tenant's actions, the store's clock and all workers."""
        flow = self._store.stats(to_scope(tenant), alive=self._alive_for, limit=MOST_FINISHED)
        before = to_micros(self._clock.now())
        return Operation(flow, lambda counted: self._stats(counted, before))

    def reason_not_run(self, kind: str) -> Operation[str | None]:
        """Why no live worker can run an action of this kind; None if one can."""
        return Operation(
            self._store.workers(self._alive_for), lambda living: why_unavailable(kind, living)
        )

    # -- from records to public values -----------------------------------------------

    def _inserted(self, added: Sequence[Added], payloads: Sequence[object]) -> list[Action]:
        if isinstance(added, InsertedBatch):
            return added.actions()
        pairs = zip(added, payloads, strict=True)
        return [self._inserted_action(action, payload) for action, payload in pairs]

    def _inserted_action(self, added: Added, payload: object) -> Action:
        if not added.created:
            return self._to_action(added.record)
        if added.record.modified_at is not None:
            # A later request of the same call replaced it.
            return replace(self._to_action(added.record), created=True)
        return as_action(added.record, payload, None, None, created=True)

    def _stats(self, counted: StoreCounts, before: int) -> Stats:
        after = to_micros(self._clock.now())
        return stats_of(counted, clock_offset(counted.now, before, after))

    def _page(self, records: Sequence[Record], size: int) -> Page[Action]:
        more = len(records) > size
        items = [self._to_action(record) for record in records[:size]]
        return Page(items, to_cursor(items[-1].id) if more else None)

    def _to_action(self, record: Record) -> Action:
        return self._payloads.action(record)

    # -- counted after the commit ----------------------------------------------------

    def _count_added(self, added: Sequence[Added], settled: Sequence[Record] = ()) -> None:
        if isinstance(added, InsertedBatch):
            self._count_kinds(added.count_by_kind_and_tenant())
        else:
            self._count_scheduled(action.record for action in added if action.created)
        self._count_cancelled(settled)

    def _count_scheduled(self, records: Iterable[Record]) -> None:
        self._count_kinds(Counter((record.kind, record.tenant) for record in records))

    def _count_kinds(self, counted: Mapping[tuple[str, str | None], int]) -> None:
        for (kind, tenant), count in counted.items():
            self._meters.scheduled(kind, tenant, count)

    def _count_cancelled(self, records: Sequence[Record]) -> None:
        for record in records:
            if record.state is State.cancelled:
                self._meters.finished(record.kind, record.tenant, State.cancelled)

    def _count_rescheduled(self, record: Record) -> None:
        self._meters.rescheduled(record.kind, record.tenant)


def _runs(stored: Sequence[StoredRun]) -> list[Run]:
    return [as_run(run, maybe_json(run.result)) for run in stored]
