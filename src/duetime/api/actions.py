"""The client's verbs, written once: each checks its arguments and plans one flow.

`app.py` awaits the plans, `sync.py` waits for them; neither knows more than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from duetime.api.arguments import (
    LABEL,
    QUEUE,
    Delay,
    Parent,
    Request,
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
from duetime.api.requests import Asking
from duetime.errors import InvalidArgument
from duetime.events.types import cancellations, reschedulings
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
from duetime.model.actions.availability import lack
from duetime.model.actions.chain import On
from duetime.model.actions.claim import alive_for
from duetime.model.actions.inserted import Births
from duetime.model.actions.new_actions import IfExists, NewActions
from duetime.model.clock import to_micros
from duetime.model.filter import Filter, from_cursor, page_limit, to_cursor
from duetime.model.health.stats import MOST_FINISHED, Counted, Stats, clock_offset, stats_of
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import Priority
from duetime.model.payloads.registry import maybe_json
from duetime.model.state import State
from duetime.model.tenant import AMBIENT, Ambient
from duetime.model.validation import check_optional, instant
from duetime.registry.runtime import Parts
from duetime.store.flow import Flow, followed
from duetime.store.settlement import Cascade, as_settled, cascade

T = TypeVar("T")


class Client:
    """Plans verbs for one app."""

    def __init__(
        self, parts: Parts, ids: TimeOrderedIds, max_payload: int, *, sweep: float = 10.0
    ) -> None:
        self._store = parts.store
        self._payloads = parts.payloads
        self._meters = parts.meters
        self._asking = Asking(parts.payloads, ids, max_payload)
        self._clock = parts.clock
        self._alive = alive_for(sweep)

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

        With `after` it waits for the end of that action: `delay` counts from there, and `at`
        is the earliest. If that one does not end as `on` says ("succeeded" by default,
        "failed", or "finished": in any way), it is cancelled.

        `key` makes it unique among the unfinished actions of its tenant and kind: if one
        holds the key, `if_exists` says whether to "return" or "replace" it or to "raise"
        DuplicateKey. Returns the action; its `created` tells whether it is new.

        `connection` is a session or connection of yours to the same database: the action
        exists if and only if you commit its transaction.
        """
        request = Request(
            payload, at, delay, correlation_id, key, priority, queue, tenant, by, after, on
        )
        new = self._asking.one(request)
        return self._add(new, if_exists, connection, lambda actions: actions[0])

    def schedule_many(
        self,
        requests: Iterable[tuple[object, datetime] | Request],
        *,
        if_exists: IfExists = "return",
        connection: object = None,
    ) -> Operation[list[Action]]:
        """Schedule many at once, all or none; returns the actions in the order given.

        Takes `(payload, at)` pairs and `app.request(payload, ...)` values.
        """
        new = self._asking.new(requests)
        return self._add(new, if_exists, connection, list)

    def _add(
        self,
        new: NewActions,
        if_exists: IfExists,
        connection: object,
        wanted: Callable[[list[Action]], T],
    ) -> Operation[T]:
        flow = self._store.add(new, to_if_exists(if_exists))
        if not new.has("after"):
            return Operation(
                flow,
                lambda added: wanted(self._added(added, new.payloads)),
                self._count_added,
                connection=connection,
            )
        parents = [one for one in new.columns["after"] if one is not None]
        return Operation(
            followed(flow, lambda _: cascade(self._store, parents)),
            lambda done: wanted(self._added(as_settled(*done), new.payloads)),
            lambda done: self._count_added(done[0], done[1].settled),
            lambda done: cancellations([], done[1].settled),
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
        """Cancel a scheduled action; IllegalState if it is anything else.

        With `running=True` a running handler is asked to stop: its `ctx.cancelled` turns
        true at its worker's next heartbeat, and its outcome stands.
        """
        flow = self._store.cancel(to_id(action_id), to_scope(tenant), to_actor(by), running=running)
        return Operation(
            followed(flow, lambda record: self._settle([record])),
            lambda done: self._shown(done[0]),
            lambda done: self._count_cancelled([done[0], *done[1].settled]),
            lambda done: cancellations([done[0]], done[1].settled),
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
        """Move a scheduled action, earlier or later; the old time never fires."""
        due_at, pause = to_when(at, delay)
        if at is None and delay is None:
            raise InvalidArgument("at", None, "say when: at= or delay=")
        flow = self._store.reschedule(
            to_id(action_id), to_scope(tenant), to_actor(by), due_at=due_at, delay=pause
        )
        return Operation(flow, self._shown, self._count_rescheduled, reschedulings, connection)

    def retry(
        self,
        action_id: UUID,
        *,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        connection: object = None,
    ) -> Operation[Action]:
        """Schedule a failed action again, now, with its retry budget renewed."""
        flow = self._store.retry(to_id(action_id), to_scope(tenant), to_actor(by))
        return Operation(
            flow,
            self._shown,
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
        """Cancel every scheduled action that matches; returns how many. Those running are
        left alone. At least one of correlation_id, kind and state must be given."""
        wanted = to_filter(correlation_id, kind, state, tenant, State.scheduled)
        return Operation(
            followed(self._store.cancel_many(wanted, to_actor(by)), self._settle),
            lambda done: len(done[0]),
            lambda done: self._count_cancelled([*done[0], *done[1].settled]),
            lambda done: cancellations(done[0], done[1].settled),
            connection,
        )

    def _settle(self, records: Sequence[Record]) -> Flow[Cascade]:
        """What ended may be a parent: its children in the same transaction, as far as it goes."""
        ended = [record.id for record in records if record.state is State.cancelled]
        return cascade(self._store, ended)

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
        """The action, finished or not; ActionNotFound if this tenant has none of that id."""
        flow = self._store.get(to_id(action_id), to_scope(tenant))
        return Operation(flow, self._shown, connection=connection)

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
            kind=check_optional("kind", kind, QUEUE),
            queue=check_optional("queue", queue, QUEUE),
            correlation_id=check_optional("correlation_id", correlation_id, LABEL),
            key=check_optional("key", key, LABEL),
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
        """Health figures of this tenant's actions, of the store's clock and of all workers."""
        flow = self._store.stats(to_scope(tenant), alive=self._alive, limit=MOST_FINISHED)
        before = to_micros(self._clock.now())
        return Operation(flow, lambda counted: self._stats(counted, before))

    def lacking(self, kind: str) -> Operation[str | None]:
        """What is missing for an action of this kind to be run; None if nothing is."""
        return Operation(self._store.workers(self._alive), lambda living: lack(kind, living))

    # -- from what a store gave to what users see ------------------------------------

    def _added(self, added: Sequence[Added], payloads: Sequence[object]) -> list[Action]:
        if isinstance(added, Births):
            return added.actions()
        return [self._one_added(one, payload) for one, payload in zip(added, payloads, strict=True)]

    def _one_added(self, added: Added, payload: object) -> Action:
        if not added.created:
            return self._shown(added.record)
        if added.record.modified_at is not None:
            # A later one of the same call replaced it.
            return replace(self._shown(added.record), created=True)
        return as_action(added.record, payload, None, None, created=True)

    def _stats(self, counted: Counted, before: int) -> Stats:
        after = to_micros(self._clock.now())
        return stats_of(counted, clock_offset(counted.now, before, after))

    def _page(self, records: Sequence[Record], size: int) -> Page[Action]:
        more = len(records) > size
        items = [self._shown(record) for record in records[:size]]
        return Page(items, to_cursor(items[-1].id) if more else None)

    def _shown(self, record: Record) -> Action:
        return self._payloads.action(record)

    # -- what is counted once it is committed ----------------------------------------

    def _count_added(self, added: Sequence[Added], settled: Sequence[Record] = ()) -> None:
        if isinstance(added, Births):
            self._count_kinds(added.counted())
        else:
            self._count_scheduled(one.record for one in added if one.created)
        self._count_cancelled(settled)

    def _count_scheduled(self, records: Iterable[Record]) -> None:
        self._count_kinds(Counter((one.kind, one.tenant) for one in records))

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
