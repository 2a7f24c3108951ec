"""The verbs of notifications: each checks its arguments and returns an Operation.

`async_api.py` and `sync_api.py` perform the operations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from duetime.api.arguments import MAX_NAME_LENGTH, TenantArgument, to_act, to_id, to_scope
from duetime.api.operation import Operation
from duetime.api.subscription_arguments import (
    Patterns,
    SeverityName,
    SubscriptionArguments,
    Topics,
    to_language,
    to_names,
    to_patterns,
    to_quiet,
    to_terms,
    to_zone,
)
from duetime.errors import InvalidArgument, SubscriptionNotFound
from duetime.model.act import Act
from duetime.model.actions.action import Page
from duetime.model.clock import to_micros
from duetime.model.filter import page_limit
from duetime.model.ids import NewId
from duetime.model.notifications.delivery import ListedNotification, NotificationFilter
from duetime.model.notifications.notification import Notification, as_notification
from duetime.model.notifications.subscription import (
    CreatedSubscription,
    StoredSubscription,
    Subscription,
    as_created,
    as_subscription,
    as_subscriptions,
    confirmed,
    ended,
    muted_until,
)
from duetime.model.notifications.topics import (
    CONFIRM_TOPIC,
    TEST_TOPIC,
    check_severity,
    check_topics,
)
from duetime.model.page_cursor import seal, unseal
from duetime.model.tenant import AMBIENT, ANY
from duetime.model.validation import check_count, check_name, instant
from duetime.notifications.links import LinkPurpose, is_proven, read_token
from duetime.notifications.signing import make_webhook_secret
from duetime.registry.runtime import AppRuntime
from duetime.store.flow import Flow, Mode, Steps
from duetime.words.phrase import phrase

# The end of a subscription whose reader followed the link in an e-mail.
UNSUBSCRIBED = "its reader unsubscribed"
MAX_READ = 200
MAX_UNREAD = 1000


class NotificationVerbs:
    """Builds the operations of notifications and of the subscriptions to them."""

    def __init__(self, runtime: AppRuntime, new_id: NewId) -> None:
        self.runtime = runtime
        self._new_id = new_id
        self._store = runtime.store

    # -- subscriptions ---------------------------------------------------------------

    def add(
        self,
        topics: Topics,
        *,
        email: str | None = None,
        webhook: str | None = None,
        in_app: bool = False,
        via: str | None = None,
        to: str | None = None,
        jobs: Patterns = (),
        kinds: Patterns = (),
        queues: Patterns = (),
        language: str = "en",
        zone: str = "UTC",
        minimum: SeverityName | str = "info",
        quiet: str | None = None,
        show_errors: bool = False,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[CreatedSubscription]:
        """Subscribe to topics, or to all by "*". An e-mail address gets a link first, by which its
        owner confirms. What is returned has the secret that verifies a webhook's signatures."""
        arguments = SubscriptionArguments(
            topics=topics,
            email=email,
            webhook=webhook,
            in_app=in_app,
            via=via,
            to=to,
            jobs=jobs,
            kinds=kinds,
            queues=queues,
            language=language,
            zone=zone,
            minimum=minimum,
            quiet=quiet,
            show_errors=show_errors,
        )
        flow = self._store.add_subscription(self._new(arguments, tenant), to_act(by, note))
        return Operation(
            flow, lambda stored: as_created(stored, self._now()), connection=connection
        )

    def _new(self, given: SubscriptionArguments, tenant: TenantArgument) -> StoredSubscription:
        return StoredSubscription(
            id=self._new_id(),
            terms=to_terms(given, tenant, self.runtime.channels),
            app=None,
            created_at=0,
            created_by="",
            modified_at=0,
            modified_by="",
            secret=make_webhook_secret(os.urandom),
        )

    def subscriptions(
        self, *, tenant: TenantArgument = AMBIENT, connection: object = None
    ) -> Operation[list[Subscription]]:
        """The subscriptions of a tenant, oldest first; those of code, too."""
        flow = self._store.subscriptions(to_scope(tenant))
        return Operation(
            flow, lambda stored: as_subscriptions(stored, self._now()), connection=connection
        )

    def get(
        self, id: UUID | str, *, tenant: TenantArgument = AMBIENT, connection: object = None
    ) -> Operation[Subscription]:
        """One subscription."""
        flow = self._store.subscription(_to_subscription_id(id), to_scope(tenant))
        return Operation(flow, self._shown, connection=connection)

    def change(
        self,
        id: UUID | str,
        *,
        topics: Topics | None = None,
        jobs: Patterns | None = None,
        kinds: Patterns | None = None,
        queues: Patterns | None = None,
        language: str | None = None,
        zone: str | None = None,
        minimum: SeverityName | str | None = None,
        quiet: str | None = "unchanged",
        show_errors: bool | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[Subscription]:
        """Change what a stored subscription asks for; what is not given stays. Where it is sent to
        cannot be changed: make another."""
        given: dict[str, Any] = {
            "jobs": None if jobs is None else to_patterns("jobs", jobs),
            "kinds": None if kinds is None else to_patterns("kinds", kinds),
            "queues": None if queues is None else to_patterns("queues", queues),
            "language": None if language is None else to_language(language, self.runtime.channels),
            "zone": None if zone is None else to_zone(zone),
            "minimum": None if minimum is None else check_severity("minimum", minimum),
            "show_errors": show_errors,
        }
        wanted = {name: value for name, value in given.items() if value is not None}
        if quiet != "unchanged":
            wanted["quiet"] = to_quiet(quiet)
        asked = None if topics is None else to_names("topics", topics)
        if asked is not None:
            # Whether its tenant may have them, is known once it is read.
            check_topics(asked, None)

        def edit(stored: StoredSubscription, now: int) -> StoredSubscription:
            _refuse_declared(stored)
            names = wanted
            if asked is not None:
                names = wanted | {"topics": check_topics(asked, stored.terms.tenant)}
            return replace(stored, terms=replace(stored.terms, **names))

        return self._edit(id, tenant, to_act(by, note), "change", edit, connection)

    def mute(
        self,
        id: UUID | str,
        *,
        until: datetime | None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[Subscription]:
        """Drop what a subscription would get until an instant; None ends that."""
        end = None if until is None else to_micros(instant("until", until))

        def edit(stored: StoredSubscription, now: int) -> StoredSubscription:
            if end is not None and end <= now:
                remedy = phrase("give an instant in the future")
                raise InvalidArgument("until", until, remedy)
            return muted_until(stored, end)

        verb = "unmute" if until is None else "mute"
        return self._edit(id, tenant, to_act(by, note), verb, edit, connection)

    def remove(
        self,
        id: UUID | str,
        *,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[None]:
        """Delete a stored subscription. One that code declares is ended in code, or muted."""
        place, scope, act = _to_subscription_id(id), to_scope(tenant), to_act(by, note)

        def steps() -> Steps[None]:
            _refuse_declared((yield from self._store.subscription(place, scope).start()))
            yield from self._store.remove_subscription(place, scope, act).start()

        return Operation(Flow(steps, Mode.write), lambda _: None, connection=connection)

    def test(
        self,
        id: UUID | str,
        *,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[Notification]:
        """Send a message to see that a subscription works. An address that was not confirmed gets
        the link once more instead."""
        place, scope, act = _to_subscription_id(id), to_scope(tenant), to_act(by, note)

        def steps() -> Steps[Any]:
            stored = yield from self._store.subscription(place, scope).start()
            topic = CONFIRM_TOPIC if stored.confirmed_at is None else TEST_TOPIC
            return (yield from self._store.send_single(place, scope, topic, act).start())

        return Operation(Flow(steps, Mode.write), as_notification, connection=connection)

    def confirm(self, token: str) -> Operation[Subscription]:
        """Confirm an address by the token of the link that was sent to it."""
        return self._follow("confirm", token, confirmed)

    def unsubscribe(self, token: str) -> Operation[Subscription]:
        """End a subscription by the token of the link in its messages."""
        return self._follow(
            "unsubscribe", token, lambda stored, now: ended(stored, UNSUBSCRIBED, now)
        )

    def linked(self, purpose: LinkPurpose, token: str) -> Operation[Subscription]:
        """The subscription that a link is about. SubscriptionNotFound if the link is not ours."""
        place = _linked_id(token)
        flow = self._store.subscription(place, ANY)
        return Operation(flow, lambda stored: self._shown(_proven(purpose, token, stored)))

    def _follow(
        self, purpose: LinkPurpose, token: str, edit: Callable[[StoredSubscription, int], Any]
    ) -> Operation[Subscription]:
        def proven(stored: StoredSubscription, now: int) -> StoredSubscription:
            changed: StoredSubscription = edit(_proven(purpose, token, stored), now)
            return changed

        return self._edit(_linked_id(token), ANY, to_act(None, None), purpose, proven, None)

    def _edit(
        self,
        id: UUID | str,
        tenant: TenantArgument,
        act: Act,
        verb: str,
        edit: Callable[[StoredSubscription, int], StoredSubscription],
        connection: object,
    ) -> Operation[Subscription]:
        place, scope = _to_subscription_id(id), to_scope(tenant)
        flow = self._store.edit_subscription(place, scope, act, verb, edit)
        return Operation(flow, self._shown, connection=connection)

    def _shown(self, stored: StoredSubscription) -> Subscription:
        return as_subscription(stored, self._now())

    def _now(self) -> int:
        return to_micros(self.runtime.clock.now())

    # -- notifications ---------------------------------------------------------------

    def list(
        self,
        *,
        unread: bool = False,
        reader: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Page[Notification]]:
        """Notifications in the app, newest first, a page at a time. `read` of each says whether the
        reader, by default the acting user, has marked it; `unread=True` leaves those out."""
        size = page_limit(limit)
        wanted = NotificationFilter(
            scope=to_scope(tenant), reader=_to_reader(reader), unread=bool(unread), limit=size + 1
        )
        criteria = (wanted.scope, wanted.reader, wanted.unread)
        if cursor is not None:
            wanted = replace(wanted, below=_from_cursor(cursor, criteria))
        return Operation(
            self._store.notifications(wanted),
            partial(_page, size=size, criteria=criteria),
            connection=connection,
        )

    def unread(
        self,
        *,
        reader: str | None = None,
        tenant: TenantArgument = AMBIENT,
        most: int = 100,
        connection: object = None,
    ) -> Operation[int]:
        """How many notifications in the app the reader has not marked as read, up to `most`."""
        count = check_count("most", most, MAX_UNREAD)
        flow = self._store.count_unread(to_scope(tenant), _to_reader(reader), count)
        return Operation(flow, int, connection=connection)

    def read(
        self,
        ids: Sequence[UUID | str] | None = None,
        *,
        reader: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[int]:
        """Mark notifications in the app as read by the reader: these, or all. Returns how many were
        unread."""
        listed = None
        if ids is not None:
            listed = [to_id(each, "ids", "notification") for each in to_names("ids", ids)]
        if listed is not None and len(listed) > MAX_READ:
            remedy = phrase("give {most} ids at the most, or none for all", most=MAX_READ)
            raise InvalidArgument("ids", len(listed), remedy)
        flow = self._store.read_notifications(to_scope(tenant), _to_reader(reader), listed)
        return Operation(flow, int, connection=connection)


def _to_subscription_id(given: UUID | str) -> UUID:
    return to_id(given, "id", "subscription")


def _to_reader(reader: str | None) -> str:
    return (
        to_act(None, None).by if reader is None else check_name("reader", reader, MAX_NAME_LENGTH)
    )


def _refuse_declared(stored: StoredSubscription) -> None:
    if stored.app is not None:
        remedy = phrase(
            "the code of the app {app} declares it: change it there, or mute it", app=stored.app
        )
        raise InvalidArgument("id", str(stored.id), remedy)


def _linked_id(token: str) -> UUID:
    link = read_token(token) if isinstance(token, str) else None
    if link is None:
        raise InvalidArgument("token", "...", phrase("open the link of the message as it is"))
    return link.subscription_id


def _proven(purpose: LinkPurpose, token: str, stored: StoredSubscription) -> StoredSubscription:
    """Return the subscription if the token is of a link to it; else there is none, as for an id
    that never was."""
    link = read_token(token)
    if link is None or not is_proven(purpose, link, stored):
        raise SubscriptionNotFound(stored.id)
    return stored


def _page(
    found: Sequence[ListedNotification], *, size: int, criteria: object
) -> Page[Notification]:
    items = [as_notification(each.notification, read=each.read) for each in found[:size]]
    more = len(found) > size
    return Page(items, seal(items[-1].id.bytes, criteria) if more else None)


def _from_cursor(cursor: str, criteria: object) -> UUID:
    return UUID(bytes=unseal(cursor, criteria))
