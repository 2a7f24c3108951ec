"""An action as users see it, and as a store keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from duetime.errors import InvalidArgument
from duetime.model.clock import maybe_from_micros, maybe_nearest, nearest_micros
from duetime.model.columns import fast_constructor
from duetime.model.lane import PRIORITY_OF_RANK, Priority
from duetime.model.state import Outcome, State
from duetime.model.trace import scheduling_trace

T = TypeVar("T")
if TYPE_CHECKING:
    # The default lets users write `Action` where the payload's type is not known.
    from typing_extensions import TypeVar as TypeVarWithDefault

    P_co = TypeVarWithDefault("P_co", covariant=True, default=Any)
else:
    P_co = TypeVar("P_co", covariant=True)


class NewAction(NamedTuple):
    """An action to be inserted. Exactly one of `due_at` and `delay` is set. For a child (an action
    with `after`) they say when it is due once its parent has ended as `on` requires."""

    id: UUID
    kind: str
    version: int
    payload: str
    queue: str
    priority: int
    tenant: str | None
    correlation_id: str | None
    key: str | None
    lane: str
    due_at: int | None
    delay: int | None
    by: str
    after: UUID | None = None
    on: str | None = None
    expires_at: int | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """An action as stored: instants in microseconds, data as JSON text."""

    id: UUID
    kind: str
    version: int
    payload: str
    state: State
    queue: str
    priority: int
    tenant: str | None
    correlation_id: str | None
    key: str | None
    due_at: int | None
    attempt: int
    base_attempt: int
    losses: int
    token: UUID | None
    worker: str | None
    lease_until: int | None
    started_at: int | None
    progress: str | None
    result: str | None
    error: str | None
    outcome: Outcome | None
    job: str | None
    tick: int | None
    triggered_by: str | None
    after: UUID | None
    after_on: str | None
    after_at: int | None
    after_delay: int | None
    expires_at: int | None
    created_at: int
    created_by: str
    modified_at: int | None
    modified_by: str | None
    cancelled_by: str | None
    finished_at: int | None
    error_group: str | None
    trace: str | None = None

    @property
    def waits(self) -> bool:
        """Whether this is a child that has not been settled by the end of its parent."""
        return self.state is State.scheduled and self.due_at is None


# Takes all fields of a record, positionally.
to_record = fast_constructor(Record)

_FIELD_NAMES = tuple(field.name for field in fields(Record))
_FIELD_PLACES = {name: place for place, name in enumerate(_FIELD_NAMES)}
_field_values = attrgetter(*_FIELD_NAMES)


def changed_record(record: Record, **changes: Any) -> Record:
    """Return the record with other values in some fields, in a third of the time of `replace`."""
    values = list(_field_values(record))
    for name, value in changes.items():
        values[_FIELD_PLACES[name]] = value
    return to_record(*values)


class Added(Protocol):
    """The result of adding one NewAction: the new record, or the unfinished action that already
    holds its key (`created` is then False)."""

    @property
    def record(self) -> Record: ...

    @property
    def created(self) -> bool: ...


class AddedRecord(NamedTuple):
    """An `Added` that carries the record as read from the store."""

    record: Record
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(Generic[P_co]):
    """A thing to do once, at `due_at`."""

    id: UUID
    kind: str
    payload: P_co
    state: State
    due_at: datetime | None
    expires_at: datetime | None
    attempt: int
    losses: int
    queue: str
    priority: Priority
    correlation_id: str | None
    key: str | None
    tenant: str | None
    after: UUID | None
    on: str | None
    job: str | None
    tick: datetime | None
    progress: Any
    result: Any
    error: str | None
    error_group: str | None
    worker: str | None
    lease_expires_at: datetime | None
    created_at: datetime
    created_by: str
    modified_at: datetime | None
    modified_by: str | None
    cancelled_by: str | None
    finished_at: datetime | None
    trace: str | None = None
    created: bool = False

    @property
    def waits(self) -> bool:
        """Whether the action waits for its parent to end, and so has no due time yet."""
        return self.state is State.scheduled and self.due_at is None


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as stored."""

    id: UUID
    action_id: UUID
    attempt: int
    worker: str | None
    due_at: int | None
    started_at: int | None
    finished_at: int | None
    lease_until: int | None
    outcome: Outcome | None
    result: str | None
    error: str | None
    traceback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A try of an action. `finished_at` and `outcome` are None while it runs; of all runs, the one
    that failed last has a traceback."""

    id: UUID
    action_id: UUID
    attempt: int
    worker: str | None
    started_at: datetime | None
    finished_at: datetime | None
    lease_expires_at: datetime | None
    outcome: Outcome | None
    result: Any
    error: str | None
    traceback: str | None = None
    late_by: timedelta | None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items and the cursor of the next page; iterates over its items."""

    items: Sequence[T]
    next_cursor: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def current_run(record: Record) -> StoredRun | None:
    """Return the run kept in the action's own row: the current run, or the last one.

    Keeping it there saves a second write for every action that needs only one run. A claim that
    found its action expired was no run.
    """
    if record.token is None or expired_unstarted(record):
        return None
    return StoredRun(
        id=record.token,
        action_id=record.id,
        attempt=record.attempt,
        worker=record.worker,
        due_at=record.due_at,
        started_at=record.started_at,
        finished_at=record.finished_at,
        lease_until=record.lease_until,
        outcome=record.outcome,
        result=record.result,
        error=record.error if record.finished_at is not None else None,
    )


def unknown_run(run_id: UUID) -> InvalidArgument:
    return InvalidArgument("before", str(run_id), "give the id of a run of this action")


def expired_unstarted(record: Record) -> bool:
    """Return whether the last claim cancelled the action because it had expired."""
    return record.outcome is Outcome.cancelled and record.started_at is None


def as_run(stored: StoredRun, result: object) -> Run:
    late = (
        None
        if stored.started_at is None or stored.due_at is None
        else timedelta(microseconds=stored.started_at - stored.due_at)
    )
    return Run(
        id=stored.id,
        action_id=stored.action_id,
        attempt=stored.attempt,
        worker=stored.worker,
        started_at=maybe_nearest(stored.started_at),
        finished_at=maybe_nearest(stored.finished_at),
        lease_expires_at=maybe_nearest(stored.lease_until),
        outcome=stored.outcome,
        result=result,
        error=stored.error,
        traceback=stored.traceback,
        late_by=late,
    )


def as_action(
    record: Record, payload: object, result: object, progress: object, *, created: bool = False
) -> Action:
    return to_action(
        record.id,
        record.kind,
        payload,
        record.state,
        cached_datetime(record.due_at),
        cached_datetime(record.expires_at),
        record.attempt,
        record.losses,
        record.queue,
        Priority.of_rank(record.priority),
        record.correlation_id,
        record.key,
        record.tenant,
        record.after,
        record.after_on,
        record.job,
        cached_datetime(record.tick),
        progress,
        result,
        record.error,
        record.error_group,
        record.worker,
        cached_datetime(record.lease_until),
        cached_datetime(record.created_at),
        record.created_by,
        cached_datetime(record.modified_at),
        record.modified_by,
        record.cancelled_by,
        cached_datetime(record.finished_at),
        scheduling_trace(record.trace),
        created,
    )


INSTANT_FIELDS = (
    *("due_at", "expires_at", "tick", "lease_until"),
    *("created_at", "modified_at", "finished_at"),
)


def as_clamped_action(record: Record, payload: object, result: object, progress: object) -> Action:
    """Return an action some of whose values are out of range: they are shown as the nearest that
    are not, and its error says what the store holds."""
    found: list[str] = []
    readable: dict[str, Any] = {}
    for name in INSTANT_FIELDS:
        micros = getattr(record, name)
        if micros is not None and micros != nearest_micros(micros):
            readable[name] = nearest_micros(micros)
            found.append(f"{name} holds {micros}, outside years 1 to 9999")
    if record.priority not in PRIORITY_OF_RANK:
        readable["priority"] = min(max(record.priority, 0), max(PRIORITY_OF_RANK))
        found.append(f"priority holds {record.priority}; it must be 0 to 3")
    earlier = f"; {record.error}" if record.error else ""
    readable["error"] = f"unreadable: {'; '.join(found)}{earlier}"
    return as_action(replace(record, **readable), payload, result, progress)


# Takes all fields of an action, positionally.
to_action = fast_constructor(Action)
# Cached: actions of one batch mostly share their instants.
cached_datetime = lru_cache(maxsize=64)(maybe_from_micros)
