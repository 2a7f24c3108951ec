"""What people and programs may ask of a subscription beyond the permission to manage them."""

from __future__ import annotations

from duetime.admin.call import AdminCall
from duetime.errors import PermissionDenied
from duetime.model.tenant import ANY, Scope


def owner_of(call: AdminCall, *, all_tenants: bool) -> Scope:
    """Return whose rows a new subscription is about: those of the caller's tenant, or those without
    one. PermissionDenied if all are asked for by whoever does not reach all."""
    if not all_tenants:
        return call.tenant
    if call.scope is not ANY:
        raise PermissionDenied("admin", call.tenant)
    return ANY


def require_errors(call: AdminCall, show_errors: bool) -> None:
    """Raise PermissionDenied for messages with texts that the caller may not read: they may quote
    data."""
    if show_errors:
        call.caller.require("payload.read")


def require_transport(call: AdminCall, via: str | None) -> None:
    """Raise PermissionDenied if a tenant names a transport of the operator's: nobody confirms where
    that sends to."""
    if via is not None and call.caller.identity.tenant is not None:
        raise PermissionDenied("admin", call.caller.identity.tenant)
