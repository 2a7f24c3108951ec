"""Transports: what carries a message to its reader, and how it says that one did not arrive."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from duetime.errors import ConfigError, DuetimeError
from duetime.notifications.message import Message


class Transport(Protocol):
    """Carries messages of one channel.

    `send` returns once the other side has the message. It raises `NotDelivered` if it may have it
    later, `Refused` if it never will, and `AddressGone` if no message ever will reach that address.
    Any other exception counts as `NotDelivered`. A message is sent again after a failure whose
    outcome is unknown, with the same `id`.
    """

    async def send(self, message: Message) -> None: ...


class NotDelivered(DuetimeError):
    """The message did not arrive, and is sent again; not before `retry_after`, if given."""

    def __init__(self, reason: str, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class Refused(DuetimeError):
    """The other side does not take this message; it is not sent again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AddressGone(DuetimeError):
    """The address exists no more: its subscription ends."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotConfigured(ConfigError):
    """The app has no transport for the channel of a subscription, or not all that it needs."""
