"""The verbs of grants: each checks its arguments and returns an Operation.

`async_api.py` and `sync_api.py` perform the operations.
"""

from __future__ import annotations

from uuid import UUID

from duetime.api.arguments import MAX_NAME_LENGTH, TenantArgument, to_act, to_scope
from duetime.api.operation import Operation
from duetime.errors import InvalidArgument
from duetime.model.access.grants import (
    Authority,
    Grant,
    StoredGrant,
    as_grant,
    refuse_scoped,
)
from duetime.model.access.identity import MAX_ROLE_LENGTH
from duetime.model.access.permissions import GrantableName, to_grantable
from duetime.model.ids import NewId
from duetime.model.tenant import ANY
from duetime.model.validation import check_name, check_optional
from duetime.registry.runtime import AppRuntime


class GrantVerbs:
    """Builds the operations on grants, which are of the whole store."""

    def __init__(self, runtime: AppRuntime, new_id: NewId) -> None:
        self.runtime = runtime
        self._new_id = new_id
        self._store = runtime.store

    def set(
        self,
        role: str,
        permission: GrantableName,
        tenant: str | None = None,
        allowed: bool = True,
        *,
        by: str | None = None,
        note: str | None = None,
        authority: Authority | None = None,
        connection: object = None,
    ) -> Operation[Grant]:
        """Give a role a permission or bundle for a tenant, or (None) for all; or, with
        allowed=False, take it away from the role there. With `authority`, on behalf of somebody
        who has the permission: PermissionDenied if not."""
        if not isinstance(allowed, bool):
            raise InvalidArgument("allowed", allowed, "give True or False")
        act = to_act(by, note)
        new = StoredGrant(
            id=self._new_id(),
            role=check_name("role", role, MAX_ROLE_LENGTH),
            permission=to_grantable(permission),
            tenant=check_optional("tenant", tenant, MAX_NAME_LENGTH),
            allowed=allowed,
            created_at=0,
            created_by=act.by,
        )
        refuse_scoped(new.permission, new.tenant)
        flow = self._store.set_grant(new, act, authority)
        return Operation(flow, as_grant, connection=connection)

    def list(
        self,
        *,
        role: str | None = None,
        tenant: TenantArgument = ANY,
        connection: object = None,
    ) -> Operation[list[Grant]]:
        """The grants by role and permission: those of one role, or for one tenant only."""
        roles = None if role is None else [check_name("role", role, MAX_ROLE_LENGTH)]
        flow = self._store.grants(roles, to_scope(tenant))
        return Operation(flow, lambda found: [as_grant(g) for g in found], connection=connection)

    def remove(
        self,
        grant_id: UUID | str,
        *,
        tenant: TenantArgument = ANY,
        by: str | None = None,
        note: str | None = None,
        authority: Authority | None = None,
        connection: object = None,
    ) -> Operation[Grant]:
        """Delete a grant and return it: what else is granted to the role counts again."""
        act, scope = to_act(by, note), to_scope(tenant)
        flow = self._store.remove_grant(to_access_id(grant_id), scope, act, authority)
        return Operation(flow, as_grant, connection=connection)


def to_access_id(given: UUID | str) -> UUID:
    """Return the id of a grant or key."""
    try:
        return given if isinstance(given, UUID) else UUID(given)
    except (ValueError, AttributeError, TypeError):
        raise InvalidArgument("id", given, "give the id that list() shows, a UUID") from None
