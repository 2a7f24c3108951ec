"""Verbs on stored actions, for all SQL stores: read, cancel, reschedule, retry, repeat."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from duetime.errors import ActionNotFound, DuplicateKey
from duetime.model.act import Act
from duetime.model.actions.action import (
    NewAction,
    Record,
    StoredRun,
    current_run,
    unknown_run,
)
from duetime.model.actions.action_key import ActionKey, KeyStates, named_id
from duetime.model.actions.expiry import (
    can_be_retried,
    refuse_expired_retry,
    refuse_move_beyond_expiry,
)
from duetime.model.actions.state_changes import (
    audit_snapshot,
    default_lane,
    repeat_snapshots,
    to_cancelled,
    to_rescheduled,
    to_retried,
)
from duetime.model.filter import Filter
from duetime.model.ids import NewId, several
from duetime.model.state import FINISHED, State
from duetime.model.tenant import ANY, Scope
from duetime.store.base import Store
from duetime.store.flow import Mode, Statement, Steps, flow, wake
from duetime.store.sql.flows import records
from duetime.store.sql.flows.audit import AuditRow, audit_row, insert_audit
from duetime.store.sql.flows.chains import settle_statement
from duetime.store.sql.flows.locked import LockedAction, locked_actions, require_state
from duetime.store.sql.flows.lost_data import read_records
from duetime.store.sql.statements.bulk_rows import BulkRows, json_param
from duetime.store.sql.statements.filter_params import filter_params, scope_params


class ActionFlows(Store, ABC):
    """Flows that read, cancel, reschedule, retry and repeat actions, and write the audit log of
    it."""

    _ids: NewId

    # -- reading ---------------------------------------------------------------------

    @flow(Mode.read)
    def get(self, action_id: UUID, tenant: Scope) -> Steps[Record]:
        return (yield from _get(action_id, tenant))

    @flow(Mode.read)
    def find_id(self, wanted: ActionKey, tenant: Scope) -> Steps[UUID]:
        found = yield Statement(_KEY_STATEMENTS[wanted.among], _key_params(wanted, tenant))
        return named_id(wanted, map(records.key_match, found))

    @flow(Mode.read)
    def runs(
        self, action_id: UUID, tenant: Scope, *, limit: int, before: UUID | None = None
    ) -> Steps[list[StoredRun]]:
        # Read first: a run that finishes between the reads is found twice rather than never.
        last = current_run((yield from _get(action_id, tenant)))
        if last is not None and before == last.id:
            before, last = None, None
        params = {"id": str(action_id), "before": None if before is None else str(before)}
        if before is not None and not (yield Statement("run_exists", params)):
            raise unknown_run(before)
        found = yield Statement("runs", params | {"limit": limit})
        earlier = [records.stored_run(row) for row in reversed(found)]
        known = {run.id for run in earlier}
        newest = [last] if last and before is None and last.id not in known else []
        runs = [*earlier, *newest][-limit:]
        kept = yield Statement("traceback", {"id": str(action_id)})
        return records.with_tracebacks(runs, kept)

    # -- cancelling ------------------------------------------------------------------

    @flow()
    def cancel(self, action_id: UUID, tenant: Scope, act: Act, *, running: bool) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        if running and found.record.state is State.running:
            return (yield from self._request_stop(found, act))
        allowed = [State.scheduled, State.running] if running else [State.scheduled]
        require_state("cancel", found.record, allowed)
        [after] = yield from self._cancel([found], act)
        return after

    @flow()
    def cancel_many(self, wanted: Filter, act: Act) -> Steps[list[Record]]:
        if State.scheduled not in wanted.unfinished_states:
            return []
        locked = yield Statement("lock_scheduled", filter_params(wanted))
        return (yield from self._cancel(locked_actions(locked), act))

    def _cancel(self, found: Sequence[LockedAction], act: Act) -> Steps[list[Record]]:
        if not found:
            return []
        now = found[0].now
        ids = json_param(str(action.record.id) for action in found)
        yield Statement("cancel_history", {"ids": ids, "by": act.by, "now": now})
        yield Statement("delete_scheduled", {"ids": ids})
        changes = [(action.record, to_cancelled(action.record, act.by, now)) for action in found]
        yield from self._audit_changes("cancel", act, now, changes)
        return [after for _, after in changes]

    def _request_stop(self, found: LockedAction, act: Act) -> Steps[Record]:
        record = found.record
        if found.stop_by == act.by:
            return record
        yield Statement("request_stop", {"id": str(record.id), "by": act.by})
        before = {"state": record.state, "stop_by": found.stop_by}
        entry = self._audit_entry(record, before, {"state": record.state, "stop_by": act.by})
        yield insert_audit("cancel", act, found.now, [entry])
        return record

    # -- rescheduling ----------------------------------------------------------------

    @flow()
    def reschedule(
        self, action_id: UUID, tenant: Scope, act: Act, *, due_at: int | None, delay: int | None
    ) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        require_state("reschedule", found.record, [State.scheduled])
        refuse_move_beyond_expiry(found.record, due_at=due_at, delay=delay, now=found.now)
        when = {"due_at": due_at, "delay": delay or 0}
        params = {"id": str(action_id), **when, "by": act.by, "now": found.now}
        name = "reschedule_waiting" if found.record.waits else "reschedule"
        ((due,),) = cast("Any", (yield Statement(name, params)))
        after = to_rescheduled(found.record, due, act.by, found.now)
        yield from self._audit_changes("reschedule", act, found.now, [(found.record, after)])
        yield from wake([(found.lane, due)], found.now)
        return after

    # -- retrying --------------------------------------------------------------------

    @flow()
    def retry(self, action_id: UUID, tenant: Scope, act: Act) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        require_state("retry", found.record, [State.failed])
        refuse_expired_retry(found.record, found.now)
        while True:
            retried = yield from self._retry([found], act)
            if retried:
                return retried[0]
            yield from _refuse_taken_key(found.record)

    @flow()
    def repeat(self, action_id: UUID, tenant: Scope, act: Act, new: NewAction) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        require_state("repeat", found.record, sorted(FINISHED))
        [added] = yield from self.add([new], "return", act).start()
        snapshots = repeat_snapshots(found.record, new)
        yield insert_audit("repeat", act, found.now, [self._audit_entry(found.record, *snapshots)])
        return added.record

    @flow()
    def retry_many(self, wanted: Filter, act: Act) -> Steps[list[Record]]:
        if State.failed not in wanted.finished_states:
            return []
        locked = yield Statement("lock_failed", filter_params(wanted))
        found = locked_actions(locked)
        valid = [action for action in found if can_be_retried(action.record, action.now)]
        return (yield from self._retry(valid, act))

    def _retry(self, found: Sequence[LockedAction], act: Act) -> Steps[list[Record]]:
        """Reschedule the actions whose key is free; all are locked by this transaction."""
        if not found:
            return []
        now = found[0].now
        after = yield from self._queue_occurrences(
            [to_retried(action.record, act.by, now) for action in found]
        )
        lanes = {action.record.id: default_lane(action.record) for action in found}
        lane_rows = [{"action_id": str(id_), "new_lane": lane} for id_, lane in lanes.items()]
        inserted = yield Statement(
            "retry", {"rows": json_param(lane_rows), "by": act.by, "now": now}
        )
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
        yield from self._audit_changes("retry", act, now, changes)
        yield from wake([(lanes[record.id], record.due_at) for record in retried_records], now)
        return retried_records

    @abstractmethod
    def _queue_occurrences(self, retried: Sequence[Record]) -> Steps[list[Record]]: ...

    # -- auditing --------------------------------------------------------------------

    def _audit_changes(
        self, verb: str, act: Act, now: int, changes: Sequence[tuple[Record, Record]]
    ) -> Steps[None]:
        """Write audit entries for changes, given as records before and after."""
        if changes:
            ids = several(self._ids, len(changes))
            entries = [
                audit_row(
                    entry_id,
                    before.tenant,
                    str(before.id),
                    audit_snapshot(before),
                    audit_snapshot(after) | act.link,
                )
                for entry_id, (before, after) in zip(ids, changes, strict=True)
            ]
            yield insert_audit(verb, act, now, entries)

    def _audit_entry(
        self, record: Record, before: Mapping[str, object], after: Mapping[str, object]
    ) -> AuditRow:
        return audit_row(self._ids(), record.tenant, str(record.id), before, after)


def _get(action_id: UUID, tenant: Scope) -> Steps[Record]:
    found = yield from read_records(Statement("get", _id_params(action_id, tenant)))
    if not found:
        raise ActionNotFound(action_id)
    return found[0]


def _lock(action_id: UUID, tenant: Scope) -> Steps[LockedAction]:
    """Lock an action in either table.

    It may move while we wait for its lock, so both tables are read, and the first once more:
    a retry may have moved it back in between.
    """
    for name in ("lock", "lock_finished", "lock"):
        found = locked_actions((yield Statement(name, _id_params(action_id, tenant))))
        if found:
            return found[0]
    raise ActionNotFound(action_id)


def _id_params(action_id: UUID, tenant: Scope) -> dict[str, object]:
    return {"id": str(action_id)} | scope_params(tenant)


_KEY_STATEMENTS: Mapping[KeyStates, str] = {
    "any": "by_key",
    "unfinished": "unfinished_by_key",
    "failed": "finished_by_key",
}


def _key_params(wanted: ActionKey, tenant: Scope) -> dict[str, object]:
    states = (State.failed,) if wanted.among == "failed" else ()
    criteria = Filter(states=states, kinds=(wanted.kind,), key=wanted.key, tenant=tenant)
    return filter_params(criteria) | {"slot": None if tenant is ANY else tenant or ""}


def _refuse_taken_key(record: Record) -> Steps[None]:
    """Raise DuplicateKey if another action holds the key; if none does any more, the caller tries
    again."""
    slot = BulkRows(id=[record.id], kind=[record.kind], tenant=[record.tenant], key=[record.key])
    found = yield Statement("key_holders", {"rows": slot})
    for holder in map(records.record, found):
        if holder.id != record.id:
            raise DuplicateKey(str(record.key), record.kind, holder.id)
