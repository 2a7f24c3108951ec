"""The client's verbs, written once: each checks its arguments and plans one flow.

`app.py` awaits the plans, `sync.py` waits for them; neither knows more than that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, get_args
from uuid import UUID

from duetime.errors import InvalidArgument, did_you_mean
from duetime.events import ActionCancelled, ActionRescheduled, Event
from duetime.model.action import (
    Action,
    Added,
    NewAction,
    Page,
    Record,
    Run,
    StoredRun,
    as_action,
    as_run,
)
from duetime.model.clock import from_micros, to_micros
from duetime.model.duration import instant, micros
from duetime.model.filter import Filter, from_cursor, page_limit, to_cursor
from duetime.model.ids import NewId
from duetime.model.key import IfExists
from duetime.model.lane import Priority, lane_of
from duetime.model.name import check_name, check_optional
from duetime.model.payload import Payloads
from duetime.model.state import State
from duetime.model.tenant import (
    AMBIENT,
    ANY,
    Ambient,
    Scope,
    current_by,
    current_tenant,
)
from duetime.store.base import Store
from duetime.store.flow import Flow
from duetime.telemetry.meters import Meters

S = TypeVar("S")
T = TypeVar("T")

Delay = float | timedelta
TenantArgument = Scope | Ambient

NAME = 450
LABEL = 500
QUEUE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `schedule_many` takes: a payload and when and how to run it."""

    payload: object
    at: datetime | None = None
    delay: Delay | None = None
    correlation_id: str | None = None
    key: str | None = None
    priority: Priority | str = Priority.normal
    queue: str | None = None
    tenant: str | Ambient | None = AMBIENT
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """A verb ready to be performed: the flow, what to make of its value, whom to tell."""

    flow: Flow[Any]
    then: Callable[[Any], T]
    tell: Callable[[Any], Iterable[Event]] = lambda _: ()


class Client:
    """Plans verbs for one app."""

    def __init__(
        self,
        store: Callable[[], Store],
        payloads: Payloads,
        meters: Meters,
        new_id: NewId,
        max_payload: int,
    ) -> None:
        self._open = store
        self._payloads = payloads
        self._meters = meters
        self._new_id = new_id
        self._max_payload = max_payload

    @property
    def _store(self) -> Store:
        return self._open()

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
    ) -> Plan[Action]:
        """Schedule a payload for an instant, after a delay, or now.

        `key` makes it unique among the unfinished actions of its tenant and kind: if one
        holds the key, `if_exists` says whether to "return" or "replace" it or to "raise"
        DuplicateKey. Returns the action; its `created` tells whether it is new.
        """
        request = Request(
            payload=payload,
            at=at,
            delay=delay,
            correlation_id=correlation_id,
            key=key,
            priority=priority,
            queue=queue,
            tenant=tenant,
            by=by,
        )
        flow = self._store.add([self._new(request)], _if_exists(if_exists))
        return Plan(flow, lambda added: self._added(added)[0])

    def schedule_many(
        self,
        requests: Iterable[tuple[object, datetime] | Request],
        *,
        if_exists: IfExists = "return",
    ) -> Plan[list[Action]]:
        """Schedule many at once, all or none; returns the actions in the order given.

        Takes `(payload, at)` pairs and `app.request(payload, ...)` values.
        """
        new = [self._new(_request(item)) for item in requests]
        return Plan(self._store.add(new, _if_exists(if_exists)), self._added)

    def cancel(
        self,
        action_id: UUID,
        *,
        running: bool = False,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
    ) -> Plan[Action]:
        """Cancel a scheduled action; IllegalState if it is anything else.

        With `running=True` a running handler is asked to stop: its `ctx.cancelled` turns
        true at its worker's next heartbeat, and its outcome stands.
        """
        return Plan(
            self._store.cancel(_id(action_id), _scope(tenant), _by(by), running=running),
            lambda record: self._cancelled([record])[0],
            _cancellations,
        )

    def reschedule(
        self,
        action_id: UUID,
        *,
        at: datetime | None = None,
        delay: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
    ) -> Plan[Action]:
        """Move a scheduled action, earlier or later; the old time never fires."""
        due_at, pause = _when(at, delay)
        if at is None and delay is None:
            raise InvalidArgument("at", None, "say when: at= or delay=")
        flow = self._store.reschedule(
            _id(action_id), _scope(tenant), _by(by), due_at=due_at, delay=pause
        )
        return Plan(flow, self._rescheduled, _reschedulings)

    def retry(
        self, action_id: UUID, *, tenant: TenantArgument = AMBIENT, by: str | None = None
    ) -> Plan[Action]:
        """Schedule a failed action again, now, with its retry budget renewed."""
        flow = self._store.retry(_id(action_id), _scope(tenant), _by(by))
        return Plan(flow, lambda record: self._retried([record])[0])

    def cancel_many(
        self,
        *,
        correlation_id: str | None = None,
        kind: str | None = None,
        state: State | str | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
    ) -> Plan[int]:
        """Cancel every scheduled action that matches; returns how many. Those running are
        left alone. At least one of correlation_id, kind and state must be given."""
        wanted = _many(correlation_id, kind, state, tenant, State.scheduled)
        return Plan(
            self._store.cancel_many(wanted, _by(by)),
            lambda records: len(self._cancelled(records)),
            lambda records: [e for record in records for e in _cancellations(record)],
        )

    def retry_many(
        self,
        *,
        correlation_id: str | None = None,
        kind: str | None = None,
        state: State | str | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
    ) -> Plan[int]:
        """Retry every failed action that matches; returns how many. At least one of
        correlation_id, kind and state must be given."""
        wanted = _many(correlation_id, kind, state, tenant, State.failed)
        flow = self._store.retry_many(wanted, _by(by))
        return Plan(flow, lambda records: len(self._retried(records)))

    # -- reading ---------------------------------------------------------------------

    def get(self, action_id: UUID, *, tenant: TenantArgument = AMBIENT) -> Plan[Action]:
        """The action, finished or not; ActionNotFound if this tenant has none of that id."""
        return Plan(self._store.get(_id(action_id), _scope(tenant)), self._shown)

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
    ) -> Plan[Page[Action]]:
        """The actions that match, newest first, a page at a time."""
        size = page_limit(limit)
        wanted = Filter(
            state=None if state is None else _state(state),
            kind=check_optional("kind", kind, QUEUE),
            queue=check_optional("queue", queue, QUEUE),
            correlation_id=check_optional("correlation_id", correlation_id, LABEL),
            key=check_optional("key", key, LABEL),
            tenant=_scope(tenant),
            due_from=None if due_from is None else to_micros(instant("due_from", due_from)),
            due_before=None if due_before is None else to_micros(instant("due_before", due_before)),
            before=from_cursor(cursor),
            limit=size + 1,
        )
        return Plan(self._store.find(wanted), lambda records: self._page(records, size))

    def runs(self, action_id: UUID, *, tenant: TenantArgument = AMBIENT) -> Plan[list[Run]]:
        """Every run of the action, oldest first."""
        return Plan(self._store.runs(_id(action_id), _scope(tenant)), _runs)

    # -- from arguments to what a store keeps ----------------------------------------

    def _new(self, request: Request) -> NewAction:
        entry, text = self._payloads.encode(request.payload, self._max_payload)
        queue = check_name("queue", request.queue or entry.queue, QUEUE)
        rank = _priority(request.priority).rank
        given = request.tenant
        tenant = check_optional("tenant", current_tenant() if given is AMBIENT else given, NAME)
        due_at, pause = _when(request.at, request.delay)
        return NewAction(
            id=self._new_id(),
            kind=entry.kind,
            version=entry.version,
            payload=text,
            queue=queue,
            priority=rank,
            tenant=tenant,
            correlation_id=check_optional("correlation_id", request.correlation_id, LABEL),
            key=check_optional("key", request.key, LABEL),
            lane=lane_of(queue, rank, tenant),
            due_at=due_at,
            delay=pause,
            by=_by(request.by),
        )

    # -- from what a store gave to what users see ------------------------------------

    def _added(self, added: Sequence[Added]) -> list[Action]:
        for one in added:
            if one.created:
                self._meters.scheduled(one.record.kind, one.record.tenant)
        return [self._shown(one.record, created=one.created) for one in added]

    def _cancelled(self, records: Sequence[Record]) -> list[Action]:
        for record in records:
            if record.state is State.cancelled:
                self._meters.cancelled(record.kind, record.tenant)
        return [self._shown(record) for record in records]

    def _rescheduled(self, record: Record) -> Action:
        self._meters.rescheduled(record.kind, record.tenant)
        return self._shown(record)

    def _retried(self, records: Sequence[Record]) -> list[Action]:
        for record in records:
            self._meters.scheduled(record.kind, record.tenant)
        return [self._shown(record) for record in records]

    def _page(self, records: Sequence[Record], size: int) -> Page[Action]:
        more = len(records) > size
        items = [self._shown(record) for record in records[:size]]
        return Page(items, to_cursor(items[-1].id) if more else None)

    def _shown(self, record: Record, *, created: bool = False) -> Action:
        payload = self._payloads.shown(record.kind, record.version, record.payload)
        return as_action(
            record, payload, _data(record.result), _data(record.progress), created=created
        )


def _runs(stored: Sequence[StoredRun]) -> list[Run]:
    return [as_run(run, _data(run.result)) for run in stored]


def _data(text: str | None) -> object:
    return None if text is None else json.loads(text)


def _cancellations(record: Record) -> list[Event]:
    if record.state is not State.cancelled:
        return []
    return [ActionCancelled(**_subject(record), by=record.cancelled_by or "system")]


def _reschedulings(record: Record) -> list[Event]:
    due_at = from_micros(record.due_at or 0)
    by = record.modified_by or "system"
    return [ActionRescheduled(**_subject(record), by=by, due_at=due_at)]


def _subject(record: Record) -> dict[str, Any]:
    return {
        "action_id": record.id,
        "kind": record.kind,
        "tenant": record.tenant,
        "correlation_id": record.correlation_id,
    }


def _request(item: tuple[object, datetime] | Request) -> Request:
    if isinstance(item, Request):
        return item
    if isinstance(item, tuple) and len(item) == 2:
        return Request(payload=item[0], at=item[1])
    raise InvalidArgument(
        "requests", item, "give (payload, at) pairs or app.request(payload, ...) values"
    )


def _when(at: datetime | None, delay: Delay | None) -> tuple[int | None, int | None]:
    """The instant, or the delay that the store adds to its own clock; neither means now."""
    if at is not None and delay is not None:
        raise InvalidArgument("delay", delay, "give either at= or delay=, not both")
    if at is not None:
        return to_micros(instant("at", at)), None
    return None, 0 if delay is None else micros("delay", delay)


def _scope(tenant: TenantArgument) -> Scope:
    if tenant is AMBIENT:
        return current_tenant()
    return tenant if tenant is ANY else check_optional("tenant", tenant, NAME)


def _by(by: str | None) -> str:
    return check_name("by", current_by() if by is None else by, NAME)


def _id(action_id: UUID | str) -> UUID:
    try:
        return action_id if isinstance(action_id, UUID) else UUID(action_id)
    except (ValueError, AttributeError, TypeError):
        raise InvalidArgument("id", action_id, "give the action's id, a UUID") from None


def _if_exists(mode: IfExists) -> IfExists:
    if mode not in get_args(IfExists):
        raise InvalidArgument("if_exists", mode, 'give "return", "replace" or "raise"')
    return mode


def _priority(priority: Priority | str) -> Priority:
    try:
        return Priority(priority)
    except ValueError:
        hint = did_you_mean(str(priority), list(Priority))
        raise InvalidArgument(
            "priority", priority, f"give low, normal, high or critical{hint}"
        ) from None


def _state(state: State | str) -> State:
    try:
        return State(state)
    except ValueError:
        hint = did_you_mean(str(state), list(State))
        raise InvalidArgument("state", state, f"give one of {', '.join(State)}{hint}") from None


def _many(
    correlation_id: str | None,
    kind: str | None,
    state: State | str | None,
    tenant: TenantArgument,
    needed: State,
) -> Filter:
    """A filter for many: never "all of them" by an argument that happened to be None."""
    if correlation_id is None and kind is None and state is None:
        raise InvalidArgument("correlation_id", None, "say which: correlation_id=, kind=, state=")
    if state is not None and _state(state) is not needed:
        raise InvalidArgument("state", state, f"only {needed} actions allow it")
    return Filter(
        state=needed,
        kind=check_optional("kind", kind, QUEUE),
        correlation_id=check_optional("correlation_id", correlation_id, LABEL),
        tenant=_scope(tenant),
    )
