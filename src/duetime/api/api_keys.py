"""The verbs of API keys: each checks its arguments and returns an Operation.

`async_api.py` and `sync_api.py` perform the operations.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from duetime.api.arguments import MAX_NAME_LENGTH, TenantArgument, to_act, to_scope
from duetime.api.grants import to_access_id
from duetime.api.operation import Operation
from duetime.model.access.api_keys import (
    KEY_PREFIX,
    MAX_KEY_NAME_LENGTH,
    ApiKey,
    CreatedApiKey,
    StoredApiKey,
    as_api_key,
    as_created,
)
from duetime.model.access.grants import Authority
from duetime.model.access.identity import to_roles
from duetime.model.access.secret import make_secret
from duetime.model.clock import to_micros
from duetime.model.ids import NewId
from duetime.model.tenant import AMBIENT, ANY, Ambient, current_tenant
from duetime.model.validation import check_name, check_optional, instant
from duetime.registry.runtime import AppRuntime


class ApiKeyVerbs:
    """Builds the operations on API keys, which are of the whole store."""

    def __init__(self, runtime: AppRuntime, new_id: NewId) -> None:
        self.runtime = runtime
        self._new_id = new_id
        self._store = runtime.store

    def create(
        self,
        name: str,
        roles: Iterable[str],
        tenant: str | Ambient | None = AMBIENT,
        expires_at: datetime | None = None,
        *,
        by: str | None = None,
        note: str | None = None,
        authority: Authority | None = None,
        connection: object = None,
    ) -> Operation[CreatedApiKey]:
        """Make a key for these roles within a tenant. What is returned has the key's text, which
        cannot be read again. With `authority`, on behalf of somebody who can do all that the key
        will: PermissionDenied if not."""
        act, secret = to_act(by, note), make_secret(self._new_id(), os.urandom)
        owner = current_tenant() if tenant is AMBIENT else tenant
        new = StoredApiKey(
            id=secret.id,
            name=check_name("name", name, MAX_KEY_NAME_LENGTH),
            roles=tuple(sorted(to_roles(roles))),
            tenant=check_optional("tenant", owner, MAX_NAME_LENGTH),
            created_at=0,
            created_by=act.by,
            expires_at=None if expires_at is None else to_micros(instant("expires_at", expires_at)),
            last_used_at=None,
            secret_hash=secret.hash,
        )
        key = secret.written(KEY_PREFIX)
        flow = self._store.add_api_key(new, act, authority)
        return Operation(flow, lambda stored: as_created(stored, key), connection=connection)

    def list(
        self, *, tenant: TenantArgument = ANY, connection: object = None
    ) -> Operation[list[ApiKey]]:
        """The keys, oldest first, without their secrets: those of one tenant only, or all."""
        flow = self._store.api_keys(to_scope(tenant))
        return Operation(flow, lambda found: [as_api_key(k) for k in found], connection=connection)

    def revoke(
        self,
        key_id: UUID | str,
        *,
        tenant: TenantArgument = ANY,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[ApiKey]:
        """Delete a key and return it: the next request with it is refused, and the sessions that
        it opened are over."""
        act, scope = to_act(by, note), to_scope(tenant)
        flow = self._store.revoke_api_key(to_access_id(key_id), scope, act)
        return Operation(flow, as_api_key, connection=connection)
