"""Which actions of a MemoryStore a filter matches."""

from __future__ import annotations

from duetime.model.actions.action import Record
from duetime.model.filter import Filter, names
from duetime.model.lane import PARKING_PREFIX
from duetime.model.pause import PausedQueues
from duetime.model.state import State
from duetime.model.tenant import sees
from duetime.store.memory.lanes import MemoryRow

_EQUAL = ("queue", "correlation_id", "key", "job", "error_group", "worker", "priority", "after")
_INSTANTS = ("due", "created", "finished")


def fits(row: MemoryRow, wanted: Filter, paused: PausedQueues, now: int) -> bool:
    """Return whether the filter matches the action at `now`, when these queues are paused. A
    finished one is in no lane."""
    record = row.record
    return (
        record.state in wanted.finished_states | wanted.unfinished_states
        and all(getattr(wanted, name) in (None, getattr(record, name)) for name in _EQUAL)
        and (not wanted.kinds or record.kind in wanted.kinds)
        and wanted.by in (None, record.created_by)
        and sees(wanted.tenant, record.tenant)
        and all(_within(record, event, wanted) for event in _INSTANTS)
        and _has_flags(row, wanted, paused, now)
        and _is_named(record, wanted)
    )


def _within(record: Record, event: str, wanted: Filter) -> bool:
    first, before = getattr(wanted, f"{event}_from"), getattr(wanted, f"{event}_before")
    instant = getattr(record, f"{event}_at")
    if instant is None:
        return first is None and before is None
    return (first is None or first <= instant) and (before is None or instant < before)


def _has_flags(row: MemoryRow, wanted: Filter, paused: PausedQueues, now: int) -> bool:
    record = row.record
    scheduled = record.state is State.scheduled
    parked = scheduled and (row.lane or "").startswith(PARKING_PREFIX)
    due = scheduled and record.due_at is not None and record.due_at <= now
    flags = (
        (wanted.parked, parked),
        (wanted.waiting, record.waits),
        (wanted.retrying, scheduled and record.attempt > record.base_attempt),
        (wanted.overdue, due and not parked and record.queue not in paused),
    )
    return all(asked in (None, flag) for asked, flag in flags)


def _is_named(record: Record, wanted: Filter) -> bool:
    texts = (record.correlation_id, record.key, record.job)
    return wanted.search is None or names(wanted.search, record.id, texts)
