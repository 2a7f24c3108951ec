"""Grants and API keys, for all SQL stores."""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from duetime.errors import ApiKeyNotFound, GrantNotFound, UnreadableRow
from duetime.model.access.api_keys import (
    USE_RECORDED_EVERY,
    ApiKeyUse,
    StoredApiKey,
    key_snapshot,
    refuse_expired_key,
)
from duetime.model.access.grants import Authority, StoredGrant, grant_order, grant_snapshot
from duetime.model.access.refusal import Refusal, refusal_snapshot
from duetime.model.act import Act
from duetime.model.ids import NewId
from duetime.model.tenant import Scope
from duetime.store.base import Store
from duetime.store.flow import Mode, Row, Statement, Steps, flow
from duetime.store.sql.flows.audit import audit_row, insert_audit
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.flows.column_reader import ColumnReader, read_id
from duetime.store.sql.statements.bulk_rows import json_param, refuse_unstorable

# Of a grant whose own id cannot be read.
NO_ID = UUID(int=0)


class AccessFlows(Store, ABC):
    """Flows of grants, API keys and refusals, and the audit log of them."""

    _ids: NewId

    # -- grants ----------------------------------------------------------------------

    @flow()
    def set_grant(
        self, new: StoredGrant, act: Act, authority: Authority | None = None
    ) -> Steps[StoredGrant]:
        now = yield from clock()
        if authority is not None:
            authority.refuse_grant(new.permission, new.tenant, (yield from _grants({})))
        before = yield from self._add_grant(new, act)
        after = replace(new, created_at=now, created_by=act.by)
        if before is not None and before.allowed == new.allowed and not before.damaged:
            return before
        if before is not None:
            after = replace(after, id=before.id)
            yield Statement("grants_update", _grant_params(after) | {"now": now, "by": act.by})
        yield from self._audit_grant("set", act, now, before, after)
        return after

    def _add_grant(self, new: StoredGrant, act: Act) -> Steps[StoredGrant | None]:
        """Insert a grant, or lock and return the one that there is."""
        params = _grant_params(new)
        while True:
            found = yield Statement("grants_lock", params)
            if found:
                return grant(found[0])
            # The row may have been inserted by another transaction since.
            if (yield Statement("grants_add", params | {"by": act.by})):
                return None

    @flow(Mode.read)
    def grants(self, roles: Collection[str] | None, tenant: Scope) -> Steps[list[StoredGrant]]:
        return (yield from _grants(scope_params(tenant), roles))

    @flow()
    def remove_grant(
        self, grant_id: UUID, tenant: Scope, act: Act, authority: Authority | None = None
    ) -> Steps[StoredGrant]:
        now = yield from clock()
        params = {"id": str(grant_id)}
        found = yield Statement("grants_lock_id", params | scope_params(tenant))
        if not found:
            raise GrantNotFound(grant_id)
        before = grant(found[0])
        if authority is not None:
            authority.refuse_grant(before.permission, before.tenant, (yield from _grants({})))
        yield Statement("grants_delete", params)
        yield from self._audit_grant("remove", act, now, before, None)
        return before

    def _audit_grant(
        self,
        verb: str,
        act: Act,
        now: int,
        before: StoredGrant | None,
        after: StoredGrant | None,
    ) -> Steps[None]:
        of = cast("StoredGrant", after or before)
        snapshots = grant_snapshot(before), grant_snapshot(after)
        entry = audit_row(self._ids(), of.tenant, str(of.id), *snapshots)
        yield insert_audit(verb, act, now, [entry], subject="grant")

    # -- API keys --------------------------------------------------------------------

    @flow()
    def add_api_key(
        self, new: StoredApiKey, act: Act, authority: Authority | None = None
    ) -> Steps[StoredApiKey]:
        now = yield from clock()
        refuse_expired_key(new, now)
        if authority is not None:
            authority.refuse_key(new.identity, (yield from _grants({})))
        key = replace(new, created_at=now, created_by=act.by)
        yield Statement("api_keys_add", _key_params(key) | {"now": now, "by": act.by})
        entry = audit_row(self._ids(), key.tenant, str(key.id), {}, key_snapshot(key))
        yield insert_audit("create", act, now, [entry], subject="api-key")
        return key

    @flow(Mode.read)
    def api_keys(self, tenant: Scope) -> Steps[list[StoredApiKey]]:
        return [api_key(row) for row in (yield Statement("api_keys", scope_params(tenant)))]

    @flow(Mode.read)
    def use_api_key(self, key_id: UUID) -> Steps[ApiKeyUse | None]:
        rows = cast("Any", (yield Statement("api_keys_use", {"id": str(key_id)})))
        if not rows:
            return None
        key = api_key(rows[0][1:10])
        return ApiKeyUse(key, joined_grants(rows, 10, key.roles), rows[0][0])

    @flow(Mode.single)
    def record_api_key_use(self, key_id: UUID) -> Steps[None]:
        yield Statement("api_keys_used", {"id": str(key_id), "every": USE_RECORDED_EVERY})

    @flow()
    def revoke_api_key(self, key_id: UUID, tenant: Scope, act: Act) -> Steps[StoredApiKey]:
        now = yield from clock()
        key = yield from lock_api_key(key_id, tenant)
        yield Statement("sessions_end", {"api_key": str(key_id)})
        yield Statement("api_keys_delete", {"id": str(key_id)})
        entry = audit_row(self._ids(), key.tenant, str(key.id), key_snapshot(key), {})
        yield insert_audit("revoke", act, now, [entry], subject="api-key")
        return key

    # -- refusals --------------------------------------------------------------------

    @flow()
    def add_refusal(self, refusal: Refusal, act: Act) -> Steps[None]:
        now = yield from clock()
        after = refusal_snapshot(refusal)
        entry = audit_row(self._ids(), refusal.tenant, refusal.route, {}, after)
        yield insert_audit("refuse", act, now, [entry], subject="request")

    @flow(Mode.single)
    def prune_audit(self, *, keep: int, limit: int) -> Steps[int]:
        return len((yield Statement("prune_audit", {"keep": keep, "limit": limit})))


def scope_params(tenant: Scope) -> dict[str, object]:
    return {
        "tenant": tenant if isinstance(tenant, str) else None,
        "untenanted": tenant is None or None,
    }


def lock_api_key(key_id: UUID, tenant: Scope) -> Steps[StoredApiKey]:
    found = yield Statement("api_keys_lock", {"id": str(key_id)} | scope_params(tenant))
    if not found:
        raise ApiKeyNotFound(key_id)
    return api_key(found[0])


def _grants(
    params: dict[str, object], roles: Collection[str] | None = None
) -> Steps[list[StoredGrant]]:
    names = {} if roles is None else {"names": json_param(sorted(roles))}
    found = [grant(row) for row in (yield Statement("grants", params | names))]
    return sorted((each for each in found if _concerns(each, roles)), key=grant_order)


def _concerns(found: StoredGrant, roles: Collection[str] | None) -> bool:
    """Return whether a grant is one of these roles, or of a role that cannot be read."""
    return roles is None or found.role in roles or "role" in found.damaged


def _grant_params(new: StoredGrant) -> dict[str, object]:
    params: dict[str, object] = {"id": str(new.id), "role": new.role, "tenant": new.tenant}
    refuse_unstorable([params])
    return params | {"permission": new.permission, "allowed": int(new.allowed)}


def _key_params(new: StoredApiKey) -> dict[str, object]:
    params: dict[str, object] = {"id": str(new.id), "name": new.name, "tenant": new.tenant}
    refuse_unstorable([params])
    roles, expires_at = json_param(sorted(new.roles)), new.expires_at
    return params | {"roles": roles, "secret_hash": new.secret_hash, "expires_at": expires_at}


def grant(row: Row) -> StoredGrant:
    id_, role, permission, tenant, allowed, created_at, created_by = cast("Any", row)
    reader = ColumnReader()
    read = StoredGrant(
        id=read_id("a grant", id_),
        role=reader.role("role", role),
        permission=reader.permission("permission", permission),
        tenant=reader.tenant("tenant", tenant),
        allowed=reader.flag("allowed", allowed),
        created_at=reader.instant("created_at", created_at),
        created_by=reader.name("created_by", created_by),
    )
    return replace(read, damaged=reader.damaged) if reader.damaged else read


def joined_grants(rows: Any, start: int, roles: Collection[str]) -> list[StoredGrant]:
    """Return the grants in rows that begin with something else; the first column is empty where
    there is none."""
    found = (_joined_grant(row[start:]) for row in rows if row[start] is not None)
    return sorted((each for each in found if _concerns(each, roles)), key=grant_order)


def _joined_grant(row: Row) -> StoredGrant:
    """Read a grant for a decision, which needs no id."""
    try:
        return grant(row)
    except UnreadableRow:
        readable = grant((str(NO_ID), *row[1:]))
        return replace(readable, damaged=("id", *readable.damaged))


def api_key(row: Row) -> StoredApiKey:
    id_, name, roles, tenant, created_at, created_by, expires_at, used_at, hash_ = cast("Any", row)
    reader = ColumnReader()
    read = StoredApiKey(
        id=read_id("an API key", id_),
        name=reader.name("name", name),
        roles=reader.roles("roles", roles),
        tenant=reader.tenant("tenant", tenant),
        created_at=reader.instant("created_at", created_at),
        created_by=reader.name("created_by", created_by),
        expires_at=reader.optional_instant("expires_at", expires_at),
        last_used_at=reader.optional_instant("last_used_at", used_at),
        secret_hash=reader.hash("secret_hash", hash_),
    )
    return replace(read, damaged=reader.damaged) if reader.damaged else read
