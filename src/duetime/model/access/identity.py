"""An identity: who asks from outside, with which roles, within which tenant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from duetime.errors import InvalidArgument
from duetime.model.tenant import SYSTEM
from duetime.model.validation import check_name, check_optional

MAX_USER_LENGTH = 450
MAX_ROLE_LENGTH = 200
MAX_ROLES = 100
# The users of stored credentials begin so; no other identity may.
KEY_USER, LINK_USER = "key:", "link:"


@dataclass(frozen=True, slots=True, init=False)
class Identity:
    """Who asks: the user that the audit log names, and the roles, which grants give permissions.

    With a tenant, it reaches the rows of that tenant and no others. Without, it reaches rows
    without a tenant, unless one of its roles is an administrator's.
    """

    user: str
    roles: frozenset[str]
    tenant: str | None

    def __init__(self, user: str, roles: Iterable[str] = (), tenant: str | None = None) -> None:
        check_name("user", user, MAX_USER_LENGTH)
        if user == SYSTEM:
            raise InvalidArgument("user", user, "this name is duetime's own: give another one")
        object.__setattr__(self, "user", user)
        object.__setattr__(self, "roles", to_roles(roles))
        object.__setattr__(self, "tenant", check_optional("tenant", tenant, MAX_USER_LENGTH))


def to_roles(roles: Iterable[str]) -> frozenset[str]:
    if isinstance(roles, str):
        raise InvalidArgument("roles", roles, "give a list of names, not one text")
    names = frozenset(check_name("role", role, MAX_ROLE_LENGTH) for role in roles)
    if len(names) > MAX_ROLES:
        raise InvalidArgument("roles", f"{len(names)} names", f"give at most {MAX_ROLES} roles")
    return names


def refuse_credential_name(identity: Identity) -> Identity:
    """Return an identity that others vouch for. InvalidArgument if its user is named as the users
    of stored keys and links are: the audit log could not tell them apart."""
    if identity.user.startswith((KEY_USER, LINK_USER)):
        raise InvalidArgument(
            "user", identity.user, f"names that begin with {KEY_USER} or {LINK_USER} are duetime's"
        )
    return identity
