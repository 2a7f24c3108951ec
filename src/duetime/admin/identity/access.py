"""What the sender of a request may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from duetime.errors import PermissionDenied
from duetime.model.access.grants import (
    Authority,
    StoredGrant,
    is_administrator,
    is_allowed,
    scope_of,
)
from duetime.model.access.identity import Identity
from duetime.model.tenant import Scope


@dataclass(frozen=True, slots=True)
class Access:
    """The identity behind a request, the grants of its roles when it was sent, the address for
    which it was sent, and the text of the session if a page's reader is known by one."""

    identity: Identity
    grants: Sequence[StoredGrant] = field(repr=False)
    admin_roles: frozenset[str]
    address: str | None = None
    session: str | None = field(default=None, repr=False)

    @property
    def by(self) -> str:
        """The actor of its acts, as the audit log names it."""
        return self.identity.user

    @property
    def administrator(self) -> bool:
        """Whether it may do everything, with rows of all tenants."""
        return is_administrator(self.identity, self.admin_roles)

    @property
    def scope(self) -> Scope:
        """The rows that it reaches: those of its tenant, those without one, or all."""
        return scope_of(self.identity, self.admin_roles)

    @property
    def authority(self) -> Authority:
        """On whose behalf it makes grants and keys."""
        return Authority(self.identity, self.admin_roles)

    def scope_for(self, asked: str) -> Scope:
        """Return the scope of `?tenant=`. PermissionDenied unless it is an administrator: others
        do not even name their own."""
        if not self.administrator:
            raise PermissionDenied("admin", asked)
        return asked

    def allows(self, permission: str) -> bool:
        """Return whether it has a permission for the rows that it reaches."""
        tenant = self.identity.tenant
        return is_allowed(self.identity, permission, tenant, self.grants, self.admin_roles)

    def require(self, permission: str) -> None:
        if not self.allows(permission):
            raise PermissionDenied(permission, self.identity.tenant)
