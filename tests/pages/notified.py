"""Notifications for the tests of pages: events that are gathered at once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from duetime import Duetime
from duetime.model.notifications.event import NewEvent
from duetime.model.tenant import ANY
from duetime.notifications import Email, Notifications, Webhook
from duetime.notifications.links import LinkPurpose, make_token

# Nothing is sent in these tests: no worker runs.
CHANNELS = Notifications(
    email=Email("smtp://127.0.0.1:9", sender="shop@example.org"),
    webhook=Webhook(allow_hosts=["hooks.example"]),
)


def failure(subject: str = "a-1", tenant: str | None = None, **data: Any) -> NewEvent:
    said = {"kind": "send-mail", "error": "TimeoutError: the server of ada is slow"} | data
    return NewEvent("action-failed", tenant, subject, said)


async def happen(app: Duetime, *events: NewEvent) -> None:
    """Let events happen in another minute than those before, and gather them."""
    app.clock.advance(minutes=2)  # type: ignore[attr-defined]
    await app.store.perform(app.store.add_events(events))
    await app.store.perform(app.store.gather_events(lag=0, limit=1000))


async def link_of(app: Duetime, purpose: LinkPurpose, id: UUID) -> str:
    """The path of a link in the messages of a subscription."""
    stored = await app.store.perform(app.store.subscription(id, ANY))
    return f"/{purpose}/{make_token(purpose, stored)}"
