"""Verbs on stored actions, for all SQL stores: read, cancel, reschedule, retry."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from duetime.errors import ActionNotFound, DuplicateKey, IllegalState
from duetime.model.actions.action import Record, StoredRun, current_run
from duetime.model.actions.state_changes import (
    audit_snapshot,
    default_lane,
    to_cancelled,
    to_rescheduled,
    to_retried,
)
from duetime.model.audit import AuditEntry
from duetime.model.filter import Filter
from duetime.model.ids import NewId
from duetime.model.state import State
from duetime.model.tenant import Scope, sees
from duetime.store.base import Store
from duetime.store.flow import Mode, Rows, Statement, Steps, flow, wake
from duetime.store.sql.flows import records
from duetime.store.sql.flows.chains import settle_statement
from duetime.store.sql.statements.bulk_rows import BulkRows, json_param


@dataclass(frozen=True, slots=True)
class LockedAction:
    """An action locked against other writers until commit, and the store's clock."""

    record: Record
    now: int
    lane: str | None
    stop_by: str | None


class ActionFlows(Store, ABC):
    """Flows that read, cancel, reschedule and retry actions, and write the audit log of it."""

    _ids: NewId

    # -- reading ---------------------------------------------------------------------

    @flow(Mode.read)
    def get(self, action_id: UUID, tenant: Scope) -> Steps[Record]:
        return (yield from _get(action_id, tenant))

    @flow(Mode.read)
    def find(self, wanted: Filter) -> Steps[list[Record]]:
        name = "find"
        if wanted.state is not None:
            name = "find_finished" if wanted.state.finished else "find_unfinished"
        before = None if wanted.before is None else str(wanted.before)
        params = _filter_params(wanted) | {"before": before, "limit": wanted.limit}
        found = [records.record(row) for row in (yield Statement(name, params))]
        # Each table returns its newest; merge them and keep the newest of both.
        return sorted(found, key=lambda record: record.id, reverse=True)[: wanted.limit]

    @flow(Mode.read)
    def runs(self, action_id: UUID, tenant: Scope) -> Steps[list[StoredRun]]:
        # Read first: a run that finishes between the reads is found twice rather than never.
        last = current_run((yield from _get(action_id, tenant)))
        earlier = [
            records.stored_run(row) for row in (yield Statement("runs", {"id": str(action_id)}))
        ]
        known = {run.id for run in earlier}
        return [*earlier, *([last] if last and last.id not in known else [])]

    @flow(Mode.read)
    def audit(self, subject_id: str, limit: int) -> Steps[list[AuditEntry]]:
        found = yield Statement("audit", {"subject_id": subject_id, "limit": limit})
        return [records.audit_entry(row) for row in found]

    # -- cancelling ------------------------------------------------------------------

    @flow()
    def cancel(self, action_id: UUID, tenant: Scope, by: str, *, running: bool) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        if running and found.record.state is State.running:
            return (yield from self._request_stop(found, by))
        allowed = [State.scheduled, State.running] if running else [State.scheduled]
        _require_state("cancel", found.record, allowed)
        [after] = yield from self._cancel([found], by)
        return after

    @flow()
    def cancel_many(self, wanted: Filter, by: str) -> Steps[list[Record]]:
        if wanted.state not in (None, State.scheduled):
            return []
        locked = yield Statement("lock_scheduled", _filter_params(wanted))
        return (yield from self._cancel(_locked_actions(locked), by))

    def _cancel(self, found: Sequence[LockedAction], by: str) -> Steps[list[Record]]:
        if not found:
            return []
        now = found[0].now
        ids = json_param(str(action.record.id) for action in found)
        yield Statement("cancel_history", {"ids": ids, "by": by, "now": now})
        yield Statement("delete_scheduled", {"ids": ids})
        changes = [(action.record, to_cancelled(action.record, by, now)) for action in found]
        yield from self._audit_changes("cancel", by, now, changes)
        return [after for _, after in changes]

    def _request_stop(self, found: LockedAction, by: str) -> Steps[Record]:
        record = found.record
        if found.stop_by == by:
            return record
        yield Statement("request_stop", {"id": str(record.id), "by": by})
        before = {"state": record.state, "stop_by": found.stop_by}
        entry = self._audit_entry(record, before, {"state": record.state, "stop_by": by})
        yield insert_audit("cancel", by, found.now, [entry])
        return record

    # -- rescheduling ----------------------------------------------------------------

    @flow()
    def reschedule(
        self, action_id: UUID, tenant: Scope, by: str, *, due_at: int | None, delay: int | None
    ) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        _require_state("reschedule", found.record, [State.scheduled])
        when = {"due_at": due_at, "delay": delay or 0}
        params = {"id": str(action_id), **when, "by": by, "now": found.now}
        name = "reschedule_waiting" if found.record.waits else "reschedule"
        ((due,),) = cast("Any", (yield Statement(name, params)))
        after = to_rescheduled(found.record, due, by, found.now)
        yield from self._audit_changes("reschedule", by, found.now, [(found.record, after)])
        yield from wake([(found.lane, due)], found.now)
        return after

    # -- retrying --------------------------------------------------------------------

    @flow()
    def retry(self, action_id: UUID, tenant: Scope, by: str) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        _require_state("retry", found.record, [State.failed])
        while True:
            retried = yield from self._retry([found], by)
            if retried:
                return retried[0]
            yield from _refuse_taken_key(found.record)

    @flow()
    def retry_many(self, wanted: Filter, by: str) -> Steps[list[Record]]:
        if wanted.state not in (None, State.failed):
            return []
        locked = yield Statement("lock_failed", _filter_params(wanted))
        return (yield from self._retry(_locked_actions(locked), by))

    def _retry(self, found: Sequence[LockedAction], by: str) -> Steps[list[Record]]:
        """Reschedule the actions whose key is free; all are locked by this transaction."""
        if not found:
            return []
        now = found[0].now
        after = yield from self._queue_occurrences(
            [to_retried(action.record, by, now) for action in found]
        )
        lanes = {action.record.id: default_lane(action.record) for action in found}
        lane_rows = [{"action_id": str(id_), "new_lane": lane} for id_, lane in lanes.items()]
        inserted = yield Statement("retry", {"rows": json_param(lane_rows), "by": by, "now": now})
        retried = {UUID(cast("str", row[0])) for row in inserted}
        ids = json_param(str(id_) for id_ in retried)
        if retried:
            yield Statement("retry_runs", {"ids": ids})
            yield Statement("retry_history", {"ids": ids})
        retried_records = [record for record in after if record.id in retried]
        waiting = [record for record in retried_records if record.waits]
        if waiting:
            yield settle_statement(waiting)
        before = {action.record.id: action.record for action in found}
        changes = [(before[record.id], record) for record in retried_records]
        yield from self._audit_changes("retry", by, now, changes)
        yield from wake([(lanes[record.id], record.due_at) for record in retried_records], now)
        return retried_records

    @abstractmethod
    def _queue_occurrences(self, retried: Sequence[Record]) -> Steps[list[Record]]: ...

    # -- auditing --------------------------------------------------------------------

    def _audit_changes(
        self, verb: str, by: str, now: int, changes: Sequence[tuple[Record, Record]]
    ) -> Steps[None]:
        """Write audit entries for changes, given as records before and after."""
        if changes:
            entries = [
                self._audit_entry(before, audit_snapshot(before), audit_snapshot(after))
                for before, after in changes
            ]
            yield insert_audit(verb, by, now, entries)

    def _audit_entry(
        self, record: Record, before: Mapping[str, object], after: Mapping[str, object]
    ) -> dict[str, object]:
        return {
            "id": str(self._ids()),
            "tenant": record.tenant,
            "subject_id": str(record.id),
            "before": json.dumps(before),
            "after": json.dumps(after),
        }


def _get(action_id: UUID, tenant: Scope) -> Steps[Record]:
    found = yield Statement("get", {"id": str(action_id)})
    return _visible(action_id, tenant, [records.record(row) for row in found])


def _visible(action_id: UUID, tenant: Scope, found: Sequence[Record]) -> Record:
    if not found or not sees(tenant, found[0].tenant):
        raise ActionNotFound(action_id)
    return found[0]


def _lock(action_id: UUID, tenant: Scope) -> Steps[LockedAction]:
    """Lock an action in either table.

    It may move while we wait for its lock, so both tables are read, and the first once more:
    a retry may have moved it back in between.
    """
    for name in ("lock", "lock_finished", "lock"):
        found = _locked_actions((yield Statement(name, {"id": str(action_id)})))
        if found:
            _visible(action_id, tenant, [found[0].record])
            return found[0]
    raise ActionNotFound(action_id)


def _locked_actions(found: Rows) -> list[LockedAction]:
    return [
        LockedAction(records.record(row), *cast("Any", row)[records.RECORD_WIDTH :])
        for row in found
    ]


def _require_state(verb: str, record: Record, allowed: Sequence[State]) -> None:
    if record.state not in allowed:
        raise IllegalState(verb, record.id, record.state, allowed)


def _filter_params(wanted: Filter) -> dict[str, object]:
    state = wanted.state
    return {
        "state": state.value if state is not None and state.finished else None,
        "scheduled": state is State.scheduled or None,
        "running": state is State.running or None,
        "kind": wanted.kind,
        "queue": wanted.queue,
        "correlation_id": wanted.correlation_id,
        "key": wanted.key,
        "tenant": wanted.tenant if isinstance(wanted.tenant, str) else None,
        "untenanted": wanted.tenant is None or None,
        "due_from": wanted.due_from,
        "due_before": wanted.due_before,
    }


def _refuse_taken_key(record: Record) -> Steps[None]:
    """Raise DuplicateKey if another action holds the key; if none does any more, the caller tries
    again."""
    slot = BulkRows(id=[record.id], kind=[record.kind], tenant=[record.tenant], key=[record.key])
    found = yield Statement("key_holders", {"rows": slot})
    for holder in map(records.record, found):
        if holder.id != record.id:
            raise DuplicateKey(str(record.key), record.kind, holder.id)


def insert_audit(
    verb: str, by: str, now: int, entries: Sequence[Mapping[str, object]], subject: str = "action"
) -> Statement:
    params = {"verb": verb, "by": by, "now": now, "subject": subject}
    return Statement("audit_add", params | {"rows": json_param(entries)})
