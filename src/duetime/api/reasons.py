"""The verb that says why an action does not run: checks its arguments and returns an Operation."""

from __future__ import annotations

from uuid import UUID

from duetime.api.arguments import TenantArgument, to_scope, to_target
from duetime.api.operation import Operation
from duetime.model.reason import Reason, reasons_of
from duetime.model.tenant import AMBIENT
from duetime.registry.runtime import AppRuntime
from duetime.store.base import Store
from duetime.store.flow import Mode, then


class ReasonVerbs:
    """Builds the operation of `why`."""

    runtime: AppRuntime
    _store: Store
    _alive_for: int

    def why(
        self,
        action_id: UUID | None = None,
        *,
        kind: str | None = None,
        key: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[list[Reason]]:
        """What keeps the action from running, each with a code, a text and a remedy. Nothing does
        if the list is empty: then a worker starts it in a moment.

        `kind` and `key` name, instead of the id, the unfinished action that holds the key, or
        else the newest finished one that had it.
        """
        store, alive = self._store, self._alive_for
        target, scope = to_target(action_id, kind, key, "any"), to_scope(tenant)
        if isinstance(target, UUID):
            flow = store.circumstances(target, scope, alive=alive)
        else:
            flow = then(
                store.find_id(target, scope),
                lambda found: store.circumstances(found, scope, alive=alive).start(),
                Mode.read,
            )
        return Operation(flow, reasons_of, connection=connection)
