"""The verb of erasures: checks its arguments and returns an Operation."""

from __future__ import annotations

from dataclasses import replace

from duetime.api.action_meters import ActionMeters
from duetime.api.arguments import MAX_LABEL_LENGTH, TenantArgument, to_act, to_scope
from duetime.api.operation import Operation
from duetime.errors import InvalidArgument
from duetime.events.types import cancelled_events
from duetime.model.erasure import (
    Erased,
    ErasureOrder,
    ErasureResult,
    from_erasure_cursor,
    to_erasure_cursor,
)
from duetime.model.filter import Filter
from duetime.model.ids import TimeOrderedIds
from duetime.model.notifications.erasing import EventErasure
from duetime.model.tenant import AMBIENT, ANY
from duetime.model.validation import check_name
from duetime.registry.runtime import AppRuntime
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Steps
from duetime.store.settlement import Settlement, settle_children_of


class ErasureVerbs:
    """Builds the operation that wipes personal data."""

    runtime: AppRuntime
    _store: Store
    _counted: ActionMeters
    _ids: TimeOrderedIds

    def erase(
        self,
        *,
        correlation_id: str | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        cursor: str | None = None,
        connection: object = None,
    ) -> Operation[ErasureResult]:
        """Wipe the data of all actions of a correlation id or of a tenant, finished ones included,
        after waiting ones were cancelled: payload, result, progress, errors and runs.

        Each call erases up to a thousand; call again with the `next_cursor` until it is None.
        Running actions are left alone and counted as `running`: erase again when they have
        finished. Notifications keep nothing of what users wrote. A correlation id is looked for in
        the current tenant, or in every one with `tenant=ANY`. The audit log stays.
        """
        wanted = _to_filter(correlation_id, tenant)
        before = None if cursor is None else from_erasure_cursor(cursor, wanted)
        act, erasure_id = to_act(by, note), self._ids()
        part = replace(act, part_of=("erase", erasure_id))
        whole = wanted.tenant if correlation_id is None else None
        jobs_of = whole if isinstance(whole, str) else None
        order = ErasureOrder(erasure_id, part, wanted, jobs_of, before)
        wiped = EventErasure(wanted.tenant, wanted.correlation_id)

        def steps() -> Steps[tuple[Erased, Settlement]]:
            if before is None:
                yield from self._store.erase_events(wiped).start()
            erased = yield from self._store.erase(order).start()
            return erased, (yield from settle_children_of(self._store, erased.cancelled).start())

        return Operation(
            Flow(steps, Mode.write),
            lambda done: _to_result(wanted, done[0]),
            lambda done: self._counted.cancelled([*done[0].cancelled, *done[1].settled]),
            lambda done: cancelled_events(done[0].cancelled, done[1].settled),
            connection,
        )


def _to_filter(correlation_id: str | None, tenant: TenantArgument) -> Filter:
    """Return what to erase. InvalidArgument unless exactly one of both is given: an argument that
    happens to be None must not erase all."""
    if correlation_id is not None:
        label = check_name("correlation_id", correlation_id, MAX_LABEL_LENGTH)
        if isinstance(tenant, str):
            remedy = "give either correlation_id= or tenant=: app.acting(tenant=...) says in which"
            raise InvalidArgument("tenant", tenant, f"{remedy} tenant a correlation id is meant")
        return Filter(correlation_id=label, tenant=to_scope(tenant))
    if tenant is AMBIENT or tenant is ANY or tenant is None:
        raise InvalidArgument(
            "correlation_id", None, "say what to erase: correlation_id= or tenant="
        )
    return Filter(tenant=to_scope(tenant))


def _to_result(wanted: Filter, erased: Erased) -> ErasureResult:
    cursor = None if erased.front is None else to_erasure_cursor(erased.front, wanted)
    return ErasureResult(
        erased.erased,
        len(erased.cancelled),
        erased.left,
        erased.running,
        erased.jobs,
        cursor,
    )
