"""Which transport carries the messages of a channel."""

from __future__ import annotations

from duetime.errors import shown
from duetime.model.clock import Clock, SystemClock
from duetime.model.notifications.subscription import EMAIL, WEBHOOK
from duetime.notifications.config import Notifications
from duetime.notifications.transport import NotConfigured, Transport

REMEDIES = {
    EMAIL: "give Notifications(email=Email(url, sender)), or the settings email and email_sender",
    WEBHOOK: "give Notifications(webhook=Webhook()), or the setting webhook_secret",
}


def transport_for(channel: str, config: Notifications, clock: Clock | None = None) -> Transport:
    """Return the transport of a channel, which carries any number of messages. NotConfigured if the
    app has none. The library of each is loaded only here."""
    if channel == EMAIL and config.email is not None:
        from duetime.notifications.email import EmailTransport

        return EmailTransport(config.email)
    if channel == WEBHOOK and config.webhook is not None:
        from duetime.notifications.webhook import WebhookTransport

        return WebhookTransport(config.webhook, clock or SystemClock())
    if channel in config.transports:
        return config.transports[channel]
    remedy = REMEDIES.get(channel, "give it as Notifications(transports={name: transport})")
    raise NotConfigured(
        f"there is no transport for channel {shown(channel)}: {remedy}; channels are "
        f"{', '.join(config.channels)}"
    )
