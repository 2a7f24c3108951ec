"""Notifications: how an app tells people and programs what they subscribe to.

`Notifications` says by which transports and in which languages; a transport of your own implements
`Transport`.
"""

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
