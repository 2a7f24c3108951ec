"""The verb of repeating: checks its arguments and returns an Operation."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from duetime.api.action_meters import ActionMeters
from duetime.api.arguments import Delay, TenantArgument, to_act, to_id, to_scope, to_when
from duetime.api.operation import Operation
from duetime.model.actions.action import Action, NewAction, Record
from duetime.model.actions.state_changes import to_repeated
from duetime.model.ids import TimeOrderedIds
from duetime.model.payloads.registry import Payloads
from duetime.model.tenant import AMBIENT
from duetime.model.trace import keep_trace
from duetime.registry.runtime import AppRuntime
from duetime.store.base import Store
from duetime.store.flow import Mode, then


class RepeatVerbs:
    """Builds the operation that schedules a finished action anew."""

    runtime: AppRuntime
    _store: Store
    _payloads: Payloads
    _counted: ActionMeters
    _ids: TimeOrderedIds
    _max_payload: int

    def repeat(
        self,
        action_id: UUID,
        *,
        at: datetime | None = None,
        delay: Delay | None = None,
        payload: Any = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[Action]:
        """Schedule a finished action anew, now unless `at` or `delay` is given, with its payload or
        another one of its kind; IllegalState if it has not finished.

        Returns the new action. It has the kind, queue, priority, tenant and correlation id of the
        finished one, which stays as it is; no key, parent, job or expiry.
        """
        found_id, scope, act = to_id(action_id), to_scope(tenant), to_act(by, note)
        due_at, pause = to_when(at, delay)

        def new(record: Record) -> NewAction:
            return to_repeated(
                record,
                action_id=self._ids(),
                by=act.by,
                due_at=due_at,
                delay=pause,
                payload=self._repeated_payload(record, payload),
            )

        made = keep_trace(new)
        flow = then(
            self._store.get(found_id, scope),
            lambda record: self._store.repeat(found_id, scope, act, made(record)).start(),
            Mode.write,
        )
        return Operation(
            flow,
            self._payloads.action,
            lambda record: self._counted.scheduled([record]),
            connection=connection,
        )

    def _repeated_payload(self, record: Record, payload: object) -> tuple[int, str] | None:
        """Return the version and text of another payload. Without one, raise InvalidPayload if the
        stored one cannot be read any more: it may have been erased."""
        if payload is not None:
            return self._payloads.encode_as(record.kind, payload, self._max_payload)
        if self._payloads.knows(record.kind, record.version):
            self._payloads.decode(record.kind, record.version, record.payload)
        return None
