"""Every permission, the bundle that includes it, and whether it is store-wide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from duetime.errors import InvalidArgument, did_you_mean

PermissionName = Literal[
    "actions.read",
    "actions.schedule",
    "actions.cancel",
    "actions.reschedule",
    "actions.retry",
    "actions.bulk",
    "payload.read",
    "jobs.read",
    "jobs.edit",
    "jobs.remove",
    "jobs.pause",
    "jobs.trigger",
    "jobs.backfill",
    "transitions.read",
    "transitions.manage",
    "queues.read",
    "queues.manage",
    "workers.read",
    "stats.read",
    "metrics.read",
    "audit.read",
    "subscriptions.manage",
    "notifications.read",
    "admin",
]
BundleName = Literal["actions.manage", "jobs.manage"]
# What a grant may name.
GrantableName = PermissionName | BundleName


@dataclass(frozen=True, slots=True)
class Permission:
    """The right to one kind of request. A store-wide one is nothing for identities with a
    tenant."""

    name: PermissionName
    bundle: BundleName | None = None
    store_wide: bool = False


# What concerns rows of all tenants.
STORE_WIDE: frozenset[PermissionName] = frozenset(
    {
        "transitions.read",
        "transitions.manage",
        "queues.read",
        "queues.manage",
        "workers.read",
        "metrics.read",
        "admin",
    }
)
BUNDLES: Mapping[BundleName, str] = {"actions.manage": "actions.", "jobs.manage": "jobs."}


def _permission(name: PermissionName) -> Permission:
    bundles = (bundle for bundle, prefix in BUNDLES.items() if name.startswith(prefix))
    return Permission(name, next(bundles, None), name in STORE_WIDE)


PERMISSIONS: Mapping[str, Permission] = {
    name: _permission(name) for name in get_args(PermissionName)
}
GRANTABLE: tuple[str, ...] = (*PERMISSIONS, *BUNDLES)


def to_grantable(name: str) -> str:
    if name not in GRANTABLE:
        hint = did_you_mean(str(name), GRANTABLE)
        raise InvalidArgument("permission", name, f"give one of {', '.join(GRANTABLE)}{hint}")
    return name


def included_in(name: str) -> list[Permission]:
    """Return the permission of this name, or those that the bundle of this name includes."""
    return [p for p in PERMISSIONS.values() if name in (p.name, p.bundle)]
