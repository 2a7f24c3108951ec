"""The verb of bulks: checks its arguments and returns an Operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from duetime.api.action_meters import ActionMeters
from duetime.api.arguments import (
    Delay,
    TenantArgument,
    to_act,
    to_bulk_verb,
    to_id,
    to_scope,
    to_shift,
)
from duetime.api.find_arguments import to_action_filter
from duetime.api.operation import Operation
from duetime.errors import InvalidArgument
from duetime.events.types import Event, cancelled_events, rescheduled_events
from duetime.model.bulk import (
    MAX_BULK_IDS,
    BulkAnswer,
    BulkCall,
    BulkCount,
    BulkOrder,
    BulkResult,
    BulkVerb,
    Selection,
    changed_state,
    from_bulk_cursor,
    to_bulk_cursor,
)
from duetime.model.clock import maybe_micros
from duetime.model.filter import Filter
from duetime.model.ids import TimeOrderedIds
from duetime.model.payloads.registry import Payloads
from duetime.model.tenant import AMBIENT, Scope
from duetime.model.validation import instant
from duetime.registry.runtime import AppRuntime
from duetime.store.base import Store
from duetime.store.flow import and_then
from duetime.store.settlement import Settlement, settle_children_of

Settled = tuple[BulkAnswer, Settlement]


class BulkVerbs:
    """Builds the operations of one app's bulks."""

    runtime: AppRuntime
    _store: Store
    _payloads: Payloads
    _counted: ActionMeters
    _ids: TimeOrderedIds

    def bulk(
        self,
        verb: BulkVerb,
        *,
        ids: Iterable[UUID | str] | None = None,
        filter: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        seconds: Delay | None = None,
        by: str | None = None,
        note: str | None = None,
        dry_run: bool = False,
        cursor: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[BulkResult]:
        """Cancel, retry, reschedule (`at`) or shift (by `seconds`) many actions, a thousand with
        each call, the newest first: those with these `ids`, or those that `find` finds by the
        arguments in `filter`, as far as they are in the state that the verb needs.

        Call again with the `next_cursor` until it is None. The same cursor again gives the same
        answer and changes nothing. With `dry_run`, nothing is changed: the result has the `count`
        and a `sample`.
        """
        scope = _to_scope(tenant, filter)
        chosen = _to_selection(to_bulk_verb(verb), ids, filter, scope)
        due_at = maybe_micros(None if at is None else instant("at", at))
        shift = None if seconds is None else to_shift(seconds)
        _check_time(verb, at, seconds, needed=cursor is None and not dry_run)
        if dry_run:
            return self._count(BulkOrder(verb, scope, _required(chosen, cursor)), connection)
        if cursor is None:
            bulk_id, step, chosen = self._ids(), 0, _required(chosen, None)
        else:
            bulk_id, step = from_bulk_cursor(cursor)
        act = to_act(by, note)
        call = BulkCall(bulk_id, step, act, verb, scope, chosen, due_at, shift)
        return self._step(call, connection)

    def _count(self, order: BulkOrder, connection: object) -> Operation[BulkResult]:
        def result(counted: BulkCount) -> BulkResult:
            sample = [self._payloads.action(record) for record in counted.sample]
            return BulkResult(count=counted.count, capped=counted.capped, sample=sample)

        return Operation(self._store.count_bulk(order), result, connection=connection)

    def _step(self, call: BulkCall, connection: object) -> Operation[BulkResult]:
        flow = and_then(
            self._store.step_bulk(call),
            lambda answer: settle_children_of(self._store, answer.records),
        )
        return Operation(
            flow,
            lambda done: _to_result(call.id, done[0]),
            lambda done: self._count_changes(call.verb, *done),
            lambda done: _events(call.verb, *done),
            connection,
        )

    def _count_changes(self, verb: BulkVerb, answer: BulkAnswer, settlement: Settlement) -> None:
        if verb == "cancel":
            self._counted.cancelled([*answer.records, *settlement.settled])
        elif verb == "retry":
            self._counted.retried(answer.records)
        else:
            self._counted.rescheduled(answer.records)


def _to_result(bulk_id: UUID, answer: BulkAnswer) -> BulkResult:
    cursor = None if answer.ended else to_bulk_cursor(bulk_id, answer.step + 1)
    return BulkResult(answer.changed, answer.skipped, cursor)


def _events(verb: BulkVerb, answer: BulkAnswer, settlement: Settlement) -> list[Event]:
    if verb == "cancel":
        return cancelled_events(answer.records, settlement.settled)
    moved = answer.records if verb in _NEEDED else ()
    return [event for record in moved for event in rescheduled_events(record)]


# -- arguments -----------------------------------------------------------------------


def _to_scope(tenant: TenantArgument, wanted: Mapping[str, Any] | None) -> Scope:
    """Return the scope of a bulk, which its filter may name as an argument of `find`."""
    if not isinstance(wanted, Mapping) or "tenant" not in wanted:
        return to_scope(tenant)
    scope = to_scope(wanted["tenant"])
    if tenant is not AMBIENT and to_scope(tenant) != scope:
        raise InvalidArgument("tenant", tenant, "the filter names another tenant: give one of them")
    return scope


def _to_selection(
    verb: BulkVerb,
    ids: Iterable[UUID | str] | None,
    wanted: Mapping[str, Any] | None,
    scope: Scope,
) -> Selection | None:
    if ids is not None and wanted is not None:
        raise InvalidArgument("filter", wanted, "give either ids= or filter=, not both")
    if ids is not None:
        return _to_ids(ids)
    return None if wanted is None else _to_filter(verb, wanted, scope)


def _to_ids(ids: Iterable[UUID | str]) -> frozenset[UUID]:
    remedy = f"give 1 to {MAX_BULK_IDS} ids of actions"
    if isinstance(ids, str | bytes | Mapping) or not isinstance(ids, Iterable):
        raise InvalidArgument("ids", ids, remedy)
    listed = [to_id(action_id) for action_id in islice(ids, MAX_BULK_IDS + 1)]
    if not 1 <= len(listed) <= MAX_BULK_IDS:
        raise InvalidArgument("ids", f"{len(listed)} or more", remedy)
    return frozenset(listed)


def _to_filter(verb: BulkVerb, wanted: Mapping[str, Any], scope: Scope) -> Filter:
    """Return the filter of a bulk. Without any criterion it raises: an argument that happens to be
    None must not select all."""
    if not isinstance(wanted, Mapping):
        raise InvalidArgument("filter", wanted, "give the arguments of find, as a dict")
    if all(value is None for value in wanted.values()):
        raise InvalidArgument("filter", wanted, "select actions by an argument of find at least")
    found, needed = to_action_filter({**wanted, "tenant": scope}), changed_state(verb)
    if found.states and needed not in found.states:
        raise InvalidArgument("state", wanted["state"], f"{verb} applies to {needed} actions only")
    return found


def _required(chosen: Selection | None, cursor: str | None) -> Selection:
    if cursor is not None:
        raise InvalidArgument("cursor", cursor, "a dry run has none: leave it out")
    if chosen is None:
        raise InvalidArgument("filter", None, "select actions by filter= or by ids=")
    return chosen


# The argument that says where to, of the verbs that have one.
_NEEDED = {"reschedule": "at", "shift": "seconds"}


def _check_time(
    verb: BulkVerb, at: datetime | None, seconds: Delay | None, *, needed: bool
) -> None:
    """Raise InvalidArgument for a time that the verb does not take, or that it lacks."""
    for argument, value in (("at", at), ("seconds", seconds)):
        taken = _NEEDED.get(verb) == argument
        if value is not None and not taken:
            raise InvalidArgument(argument, value, f"{verb} takes none: leave it out")
        if value is None and taken and needed:
            raise InvalidArgument(argument, None, f"{verb} needs it: give {argument}=")
