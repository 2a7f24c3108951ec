"""Sends notifications: the handler of the actions that a gathering inserts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from duetime.errors import StoreUnavailable
from duetime.logs import get_log
from duetime.model.act import SYSTEM_ACT
from duetime.model.actions.retry import Retry
from duetime.model.actions.signals import Fail, RetryAfter
from duetime.model.notifications.delivery import SealedNotification
from duetime.model.notifications.mailing import undeliverable
from duetime.model.notifications.notification import as_notification
from duetime.model.notifications.subscription import StoredSubscription, ended
from duetime.model.safe_text import safe_text
from duetime.model.tenant import ANY
from duetime.notifications.config import Notifications
from duetime.notifications.message import Message
from duetime.notifications.rendering import render
from duetime.notifications.transport import AddressGone, NotDelivered, Refused, Transport
from duetime.notifications.transports import transport_for
from duetime.registry.context import Context
from duetime.registry.runtime import AppRuntime

log = get_log("duetime.notifications")

# About a day, with pauses of up to an hour.
SEND_RETRY = Retry(attempts=32, delay=10, factor=2, max_delay=3600)
# A transport has a time limit of its own; this one is for those of others.
SEND_TIMEOUT_SECONDS = 120.0
SENT = "sent"
MAX_REASON = 500


@dataclass(frozen=True)
class Notify:
    """The payload of a delivery: which notification to send."""

    notification: UUID


NotifyHandler = Callable[[Notify, Context], Awaitable[str]]


def make_sender(
    runtime: Callable[[], AppRuntime], config: Notifications, base_url: str | None
) -> NotifyHandler:
    """Return the handler that sends by the transports of `config`. `runtime` is read at each call:
    a test may override it."""
    transports: dict[str, Transport] = {}

    async def notify(payload: Notify, ctx: Context) -> str:
        return await Delivery(runtime(), config, base_url, transports, ctx).send(
            payload.notification
        )

    return notify


class Delivery:
    """One attempt to send one notification."""

    def __init__(
        self,
        runtime: AppRuntime,
        config: Notifications,
        base_url: str | None,
        transports: dict[str, Transport],
        ctx: Context,
    ) -> None:
        self._runtime = runtime
        self._store = runtime.store
        self._config = config
        self._base_url = base_url
        self._transports = transports
        self._is_last = ctx.attempt >= SEND_RETRY.attempts

    async def send(self, notification_id: UUID) -> str:
        sealed = await self._store.perform(self._store.seal_notification(notification_id))
        if sealed is None:
            return "it is gone"
        if sealed.notification.sent_at is not None:
            return "it was sent before"
        reason = undeliverable(sealed)
        if reason is not None or sealed.subscription is None:
            await self._settle(sealed, reason)
            return str(reason)
        try:
            await self._deliver(sealed, sealed.subscription)
        except AddressGone as error:
            await self._end(sealed.subscription, _storable(error.reason))
            await self._give_up(sealed, error.reason)
        except Refused as error:
            await self._give_up(sealed, error.reason)
        except Exception as error:  # noqa: BLE001 - raised again, so that it is tried again
            await self._try_again(sealed, error)
        await self._settle_sent(sealed)
        self._count(sealed, sent=True)
        return SENT

    async def _deliver(self, sealed: SealedNotification, subscription: StoredSubscription) -> None:
        message = self._message(sealed, subscription)
        await self._transport(message.channel).send(message)

    def _message(self, sealed: SealedNotification, subscription: StoredSubscription) -> Message:
        notification = as_notification(sealed.notification)
        return render(notification, subscription, base_url=self._base_url, config=self._config)

    def _transport(self, channel: str) -> Transport:
        if channel not in self._transports:
            self._transports[channel] = transport_for(channel, self._config, self._runtime.clock)
        return self._transports[channel]

    async def _try_again(self, sealed: SealedNotification, error: Exception) -> None:
        """Raise what makes the worker try again; after the last attempt, record why it failed."""
        if self._is_last:
            await self._settle(sealed, str(error))
            self._count(sealed, sent=False)
        wait: timedelta | None = error.retry_after if isinstance(error, NotDelivered) else None
        if wait is not None and not self._is_last:
            raise RetryAfter(wait, str(error))
        raise error

    async def _give_up(self, sealed: SealedNotification, reason: str) -> None:
        await self._settle(sealed, reason)
        self._count(sealed, sent=False)
        raise Fail(reason)

    async def _end(self, subscription: StoredSubscription, reason: str) -> None:
        log.warning("subscription %s has ended: %s", subscription.id, reason)
        edit = self._store.edit_subscription(
            subscription.id, ANY, SYSTEM_ACT, "end", lambda each, now: ended(each, reason, now)
        )
        await self._store.perform(edit)

    async def _settle_sent(self, sealed: SealedNotification) -> None:
        """Note that it was sent. If the store is away just now, the completion of this run will say
        so as well: a failure here would only send the message again."""
        try:
            await self._settle(sealed, None)
        except StoreUnavailable as error:
            log.warning(
                "notification %s was sent, which cannot be noted: %s",
                sealed.notification.id,
                error,
            )

    async def _settle(self, sealed: SealedNotification, reason: str | None) -> None:
        place: Any = sealed.notification.id
        said = None if reason is None else _storable(reason)
        await self._store.perform(self._store.settle_notification(place, said))

    def _count(self, sealed: SealedNotification, *, sent: bool) -> None:
        notification = sealed.notification
        self._runtime.meters.notified(
            notification.topic, notification.channel, notification.tenant, sent=sent
        )


def _storable(reason: str) -> str:
    """Return what a transport says as stores can keep it, and not all of a page that it quotes."""
    return safe_text(reason[:MAX_REASON])
