"""The client's verbs, each once, for every SQL store."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from duetime.errors import ActionNotFound, DuplicateKey, IllegalState
from duetime.model.actions.action import Record, StoredRun, current_run
from duetime.model.actions.state_changes import cancelled, home_of, rescheduled, revived, told
from duetime.model.audit import AuditEntry
from duetime.model.filter import Filter
from duetime.model.ids import NewId
from duetime.model.state import State
from duetime.model.tenant import Scope, sees
from duetime.store.base import Store
from duetime.store.flow import Mode, Rows, Statement, Steps, flow
from duetime.store.sql.flows import records as rows
from duetime.store.sql.flows.chains import settle_rows
from duetime.store.sql.flows.wakes import wake
from duetime.store.sql.statements.bulk_rows import Table, dump


@dataclass(frozen=True, slots=True)
class Locked:
    """An action that nobody else can change until we commit, and the store's clock."""

    record: Record
    now: int
    lane: str | None
    stop_by: str | None


class ClientFlows(Store, ABC):
    """Reading, cancelling, rescheduling, retrying, and the audit log of these."""

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
        params = _filter(wanted) | {"before": before, "limit": wanted.limit}
        found = [rows.record(row) for row in (yield Statement(name, params))]
        # Both tables give their newest; which of them are the newest of all is seen here.
        return sorted(found, key=lambda one: one.id, reverse=True)[: wanted.limit]

    @flow(Mode.read)
    def runs(self, action_id: UUID, tenant: Scope) -> Steps[list[StoredRun]]:
        # Asked first: a run that ends in between is then told twice rather than never.
        last = current_run((yield from _get(action_id, tenant)))
        earlier = [
            rows.stored_run(row) for row in (yield Statement("runs", {"id": str(action_id)}))
        ]
        known = {run.id for run in earlier}
        return [*earlier, *([last] if last and last.id not in known else [])]

    @flow(Mode.read)
    def audit(self, subject_id: str, limit: int) -> Steps[list[AuditEntry]]:
        found = yield Statement("audit", {"subject_id": subject_id, "limit": limit})
        return [rows.audit_entry(row) for row in found]

    # -- cancelling ------------------------------------------------------------------

    @flow()
    def cancel(self, action_id: UUID, tenant: Scope, by: str, *, running: bool) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        if running and found.record.state is State.running:
            return (yield from self._ask_to_stop(found, by))
        allowed = [State.scheduled, State.running] if running else [State.scheduled]
        _require("cancel", found.record, allowed)
        [after] = yield from self._cancel([found], by)
        return after

    @flow()
    def cancel_many(self, wanted: Filter, by: str) -> Steps[list[Record]]:
        if wanted.state not in (None, State.scheduled):
            return []
        locked = yield Statement("lock_scheduled", _filter(wanted))
        return (yield from self._cancel(_locked(locked), by))

    def _cancel(self, found: Sequence[Locked], by: str) -> Steps[list[Record]]:
        if not found:
            return []
        now = found[0].now
        ids = dump(str(one.record.id) for one in found)
        yield Statement("cancel_history", {"ids": ids, "by": by, "now": now})
        yield Statement("cancel", {"ids": ids})
        changes = [(one.record, cancelled(one.record, by, now)) for one in found]
        yield from self._note("cancel", by, now, changes)
        return [after for _, after in changes]

    def _ask_to_stop(self, found: Locked, by: str) -> Steps[Record]:
        record = found.record
        yield Statement("stop", {"id": str(record.id), "by": by})
        before = {"state": record.state, "stop_by": found.stop_by}
        entry = self._entry(record, before, {"state": record.state, "stop_by": by})
        yield audit_add("cancel", by, found.now, [entry])
        return record

    # -- rescheduling ----------------------------------------------------------------

    @flow()
    def reschedule(
        self, action_id: UUID, tenant: Scope, by: str, *, due_at: int | None, delay: int | None
    ) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        _require("reschedule", found.record, [State.scheduled])
        when = {"due_at": due_at, "delay": delay or 0}
        params = {"id": str(action_id), **when, "by": by, "now": found.now}
        name = "postpone" if found.record.waits else "reschedule"
        ((due,),) = cast("Any", (yield Statement(name, params)))
        after = rescheduled(found.record, due, by, found.now)
        yield from self._note("reschedule", by, found.now, [(found.record, after)])
        yield from wake([(found.lane, due)], found.now)
        return after

    # -- retrying --------------------------------------------------------------------

    @flow()
    def retry(self, action_id: UUID, tenant: Scope, by: str) -> Steps[Record]:
        found = yield from _lock(action_id, tenant)
        _require("retry", found.record, [State.failed])
        while True:
            retried = yield from self._retry([found], by)
            if retried:
                return retried[0]
            yield from _refuse_key(found.record)

    @flow()
    def retry_many(self, wanted: Filter, by: str) -> Steps[list[Record]]:
        if wanted.state not in (None, State.failed):
            return []
        locked = yield Statement("lock_failed", _filter(wanted))
        return (yield from self._retry(_locked(locked), by))

    def _retry(self, found: Sequence[Locked], by: str) -> Steps[list[Record]]:
        """Bring back those whose key is free; they are ours alone by their locks."""
        if not found:
            return []
        now = found[0].now
        after = yield from self._in_turn([revived(one.record, by, now) for one in found])
        lanes = {one.record.id: home_of(one.record) for one in found}
        homes = [{"action_id": str(one), "new_lane": lane} for one, lane in lanes.items()]
        back = yield Statement("retry", {"rows": dump(homes), "by": by, "now": now})
        retried = {UUID(cast("str", row[0])) for row in back}
        ids = dump(str(one) for one in retried)
        if retried:
            yield Statement("retry_runs", {"ids": ids})
            yield Statement("retry_history", {"ids": ids})
        brought = [one for one in after if one.id in retried]
        waiting = [one for one in brought if one.waits]
        if waiting:
            yield settle_rows(waiting)
        before = {one.record.id: one.record for one in found}
        yield from self._note("retry", by, now, [(before[one.id], one) for one in brought])
        yield from wake([(lanes[one.id], one.due_at) for one in brought], now)
        return brought

    @abstractmethod
    def _in_turn(self, back: Sequence[Record]) -> Steps[list[Record]]: ...

    # -- auditing --------------------------------------------------------------------

    def _note(
        self, verb: str, by: str, now: int, changes: Sequence[tuple[Record, Record]]
    ) -> Steps[None]:
        """Audit changes, told by what the action was before and is after."""
        if changes:
            entries = [self._entry(one, told(one), told(after)) for one, after in changes]
            yield audit_add(verb, by, now, entries)

    def _entry(
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
    return _visible(action_id, tenant, [rows.record(row) for row in found])


def _visible(action_id: UUID, tenant: Scope, found: Sequence[Record]) -> Record:
    if not found or not sees(tenant, found[0].tenant):
        raise ActionNotFound(action_id)
    return found[0]


def _lock(action_id: UUID, tenant: Scope) -> Steps[Locked]:
    """Wherever it is. It may move while we wait for its lock, so both places are asked,
    and the first once more: between them it may have come back."""
    for name in ("lock", "lock_finished", "lock"):
        found = _locked((yield Statement(name, {"id": str(action_id)})))
        if found:
            _visible(action_id, tenant, [found[0].record])
            return found[0]
    raise ActionNotFound(action_id)


def _locked(found: Rows) -> list[Locked]:
    return [Locked(rows.record(row), *cast("Any", row)[rows.RECORD_WIDTH :]) for row in found]


def _require(verb: str, record: Record, allowed: Sequence[State]) -> None:
    if record.state not in allowed:
        raise IllegalState(verb, record.id, record.state, allowed)


def _filter(wanted: Filter) -> dict[str, object]:
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


def _refuse_key(record: Record) -> Steps[None]:
    """Say who holds its key; if nobody does any more, it can be retried after all."""
    asked = Table(id=[record.id], kind=[record.kind], tenant=[record.tenant], key=[record.key])
    found = yield Statement("holders", {"rows": asked})
    for holder in map(rows.record, found):
        if holder.id != record.id:
            raise DuplicateKey(str(record.key), record.kind, holder.id)


def audit_add(
    verb: str, by: str, now: int, entries: Sequence[Mapping[str, object]], subject: str = "action"
) -> Statement:
    params = {"verb": verb, "by": by, "now": now, "subject": subject}
    return Statement("audit_add", params | {"rows": dump(entries)})
