"""Grants give permissions to roles; the decisions that follow from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from duetime.errors import InvalidArgument, PermissionDenied
from duetime.model.access.identity import Identity
from duetime.model.access.permissions import PERMISSIONS, included_in
from duetime.model.clock import from_micros
from duetime.model.tenant import ANY, Scope


@dataclass(frozen=True, slots=True)
class StoredGrant:
    """A permission or bundle that a role has, or has not, for one tenant or (None) for all. With
    damaged columns, it gives nothing."""

    id: UUID
    role: str
    permission: str
    tenant: str | None
    allowed: bool
    created_at: int
    created_by: str
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant as users see it. One whose row is damaged allows nothing."""

    id: UUID
    role: str
    permission: str
    tenant: str | None
    allowed: bool
    created_at: datetime
    created_by: str


def as_grant(stored: StoredGrant) -> Grant:
    return Grant(
        stored.id,
        stored.role,
        stored.permission,
        stored.tenant,
        stored.allowed and not stored.damaged,
        from_micros(stored.created_at),
        stored.created_by,
    )


def is_administrator(identity: Identity, admin_roles: Collection[str]) -> bool:
    """Return whether the identity may do everything, with the rows of every tenant."""
    return identity.tenant is None and not identity.roles.isdisjoint(admin_roles)


def scope_of(identity: Identity, admin_roles: Collection[str]) -> Scope:
    """Return which rows the identity reaches if it does not ask for those of a tenant."""
    return ANY if is_administrator(identity, admin_roles) else identity.tenant


def is_allowed(
    identity: Identity,
    permission: str,
    tenant: Scope,
    grants: Iterable[StoredGrant],
    admin_roles: Collection[str],
) -> bool:
    """Return whether the identity has a permission for the rows of a tenant; None are rows without
    one, ANY those of all. Of a store-wide permission, `tenant` does not count."""
    asked = PERMISSIONS[permission]
    if is_administrator(identity, admin_roles):
        return True
    if asked.store_wide and identity.tenant is not None:
        return False
    wanted = None if asked.store_wide else tenant
    if wanted is ANY or wanted != identity.tenant:
        return False
    if not identity.roles.isdisjoint(admin_roles):
        return True
    readable, damaged = _by_damage(grants)
    known = {(g.role, g.permission, g.tenant): g.allowed for g in readable}
    return any(
        _role_allows(role, permission, wanted, known)
        and not any(_may_deny(grant, role, permission, wanted) for grant in damaged)
        for role in identity.roles
    )


def _by_damage(grants: Iterable[StoredGrant]) -> tuple[list[StoredGrant], list[StoredGrant]]:
    parts: tuple[list[StoredGrant], list[StoredGrant]] = ([], [])
    for grant in grants:
        parts[bool(grant.damaged)].append(grant)
    return parts


def _role_allows(
    role: str, permission: str, tenant: str | None, known: dict[tuple[str, str, str | None], bool]
) -> bool:
    """The first grant found counts: for the tenant, then for all; the permission, then its
    bundle."""
    bundle = PERMISSIONS[permission].bundle
    names = [permission] if bundle is None else [permission, bundle]
    places = [(role, name, place) for name in names for place in (tenant, None)]
    return next((known[place] for place in places if place in known), False)


def _may_deny(grant: StoredGrant, role: str, permission: str, tenant: str | None) -> bool:
    """Return whether a damaged grant may have taken this permission away: what cannot be read of it
    may have been anything."""
    names = (permission, PERMISSIONS[permission].bundle)
    return (
        not grant.allowed
        and ("role" in grant.damaged or grant.role == role)
        and ("permission" in grant.damaged or grant.permission in names)
        and ("tenant" in grant.damaged or grant.tenant in (None, tenant))
    )


def refuse_scoped(permission: str, tenant: str | None) -> None:
    """Raise InvalidArgument for a grant of a store-wide permission to one tenant."""
    if tenant is not None and any(p.store_wide for p in included_in(permission)):
        raise InvalidArgument(
            "tenant", tenant, f"{permission} is about the whole store: grant it without a tenant"
        )


@dataclass(frozen=True, slots=True)
class Authority:
    """On whose behalf a grant or key is made: it gives nobody more than they have themselves."""

    identity: Identity
    admin_roles: frozenset[str] = frozenset()

    def refuse_grant(
        self, permission: str, tenant: str | None, grants: Sequence[StoredGrant]
    ) -> None:
        """PermissionDenied for a grant, whether set or removed, of what the identity lacks. One of
        which nobody can say what it is about, only an administrator may remove."""
        if not included_in(permission) and not is_administrator(self.identity, self.admin_roles):
            raise PermissionDenied("admin", tenant)
        for asked in included_in(permission):
            if not is_allowed(self.identity, asked.name, tenant, grants, self.admin_roles):
                raise PermissionDenied(asked.name, tenant)

    def refuse_key(self, holder: Identity, grants: Sequence[StoredGrant]) -> None:
        """PermissionDenied for a key whose holder could do what the identity cannot."""
        if is_administrator(self.identity, self.admin_roles):
            return
        if holder.tenant != self.identity.tenant:
            raise PermissionDenied("admin", holder.tenant)
        for name in PERMISSIONS:
            if is_allowed(holder, name, holder.tenant, grants, self.admin_roles) and not is_allowed(
                self.identity, name, holder.tenant, grants, self.admin_roles
            ):
                raise PermissionDenied(name, holder.tenant)


def grant_order(grant: StoredGrant) -> tuple[str, str, bool, str]:
    """Return the place of a grant in a list: by role, permission and tenant, None first."""
    return grant.role, grant.permission, grant.tenant is not None, grant.tenant or ""


def grant_snapshot(grant: StoredGrant | None) -> dict[str, object]:
    """Return what an audit entry says of a grant."""
    if grant is None:
        return {}
    place = {"role": grant.role, "permission": grant.permission, "tenant": grant.tenant}
    return place | {"allowed": grant.allowed}
