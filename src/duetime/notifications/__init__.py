"""Notifications: how an app tells people and programs what they subscribe to.

`Notifications` says by which transports and in which languages; a transport of your own implements
`Transport`. Each name is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duetime.notifications.config import Email, Notifications, Webhook
    from duetime.notifications.message import Message
    from duetime.notifications.transport import (
        AddressGone,
        NotConfigured,
        NotDelivered,
        Refused,
        Transport,
    )

__all__ = [
    "AddressGone",
    "Email",
    "Message",
    "NotConfigured",
    "NotDelivered",
    "Notifications",
    "Refused",
    "Transport",
    "Webhook",
]

_HOMES = {
    "config": ("Email", "Notifications", "Webhook"),
    "message": ("Message",),
    "transport": ("AddressGone", "NotConfigured", "NotDelivered", "Refused", "Transport"),
}
_HOME = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # With a module __getattr__, type checkers would accept any name.

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value
