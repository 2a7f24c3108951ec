"""Events, notifications and episodes, for all SQL stores."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from duetime.model.ids import NewId
from duetime.model.lane import EVENTS_LANE
from duetime.model.notifications.delivery import (
    GatherResult,
    ListedNotification,
    NotificationFilter,
    SealedNotification,
    delivery_actions,
)
from duetime.model.notifications.episodes import Episode, EpisodeChanges, compare_episodes
from duetime.model.notifications.erasing import (
    EventErasure,
    wiped_data,
    wiped_notification,
)
from duetime.model.notifications.event import NewEvent, StoredEvent
from duetime.model.notifications.gathering import (
    GatheredNotifications,
    GatheringFacts,
    Slot,
    earliest_minute,
    gather,
    not_later,
)
from duetime.model.notifications.notification import StoredNotification
from duetime.model.notifications.serialize import of_text, to_text
from duetime.model.notifications.subscription import IN_APP
from duetime.model.tenant import ANY, Scope
from duetime.model.validation import is_storable
from duetime.store.base import Store
from duetime.store.flow import Mode, Row, Rows, Statement, Steps, Wake, flow
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.flows.subscriptions import read_subscriptions, wait_for_notifier
from duetime.store.sql.statements.bulk_rows import json_param
from duetime.store.sql.statements.filter_params import scope_params

LOWEST_ID = str(UUID(int=0))
ERASED_PAGE_SIZE = 500


class NotificationFlows(Store, ABC):
    """Flows from an event to the notifications that are made of it."""

    _ids: NewId

    # -- events ----------------------------------------------------------------------

    @flow()
    def add_events(self, events: Sequence[NewEvent]) -> Steps[None]:
        rows = json_param(_event_row(self._ids(), event) for event in events)
        if (yield Statement("events_add", {"rows": rows})):
            now = yield from clock()
            yield Wake(EVENTS_LANE, now, now)

    @flow()
    def gather_events(self, *, lag: int, limit: int) -> Steps[GatherResult]:
        if not (yield Statement("notifier_lock", {})):
            # Another process gathers; or this is the first gathering of all.
            yield Statement("notifier_add", {})
            return GatherResult(busy=True)
        events = _events_of((yield Statement("events_take", {"limit": limit})))
        if not events:
            return GatherResult()
        now = yield from clock()
        events = not_later(events, now)
        known, unreadable = yield from _since(earliest_minute(events))
        facts = GatheringFacts(
            events=events,
            subscriptions=(yield from read_subscriptions(ANY)),
            known=known,
            unreadable=unreadable,
            now=now,
            lag=lag,
        )
        gathered = gather(facts, self._ids)
        yield from self._store_gathered(gathered)
        return GatherResult(len(events), len(gathered.new) + len(gathered.grown))

    def _store_gathered(self, gathered: GatheredNotifications) -> Steps[None]:
        yield from self.insert_notifications(gathered.new)
        for notification in gathered.grown:
            yield _update(notification)

    def insert_notifications(self, new: Sequence[StoredNotification]) -> Steps[None]:
        """Insert notifications, and the actions that send them."""
        if not new:
            return
        yield Statement("notifications_add", {"rows": json_param(map(_notification_row, new))})
        actions = delivery_actions(new, self._ids)
        if actions:
            yield from self.add(actions, "return").start()

    @flow()
    def change_episodes(self, present: Sequence[Episode]) -> Steps[EpisodeChanges]:
        yield from wait_for_notifier()
        stored = _episodes((yield Statement("episodes", {})))
        changes = compare_episodes(stored, present)
        for episode in changes.over:
            yield Statement("episodes_delete", _episode_key(episode))
        for episode in changes.begun:
            params = _episode_key(episode) | {"data": json.dumps(dict(episode.data))}
            yield Statement("episodes_add", params)
        if changes.events:
            yield from self.add_events(changes.events).start()
        return changes

    # -- notifications ---------------------------------------------------------------

    @flow()
    def seal_notification(self, notification_id: UUID) -> Steps[SealedNotification | None]:
        now = yield from clock()
        stored = yield from _lock(notification_id)
        if stored is None:
            return None
        sealed = stored
        if stored.sealed_at is None:
            sealed = replace(stored, sealed_at=now)
            yield _update(sealed)
        found = yield from read_subscriptions(ANY, sealed.subscription_id)
        return SealedNotification(sealed, found[0] if found else None, now)

    @flow()
    def settle_notification(self, notification_id: UUID, error: str | None) -> Steps[None]:
        now = yield from clock()
        stored = yield from _lock(notification_id)
        if stored is not None:
            sent_at = now if error is None else None
            yield _update(replace(stored, sent_at=sent_at, error=error))

    @flow(Mode.read)
    def notifications(self, wanted: NotificationFilter) -> Steps[list[ListedNotification]]:
        params = scope_params(wanted.scope) | {
            "reader": wanted.reader,
            "unread": wanted.unread or None,
            "below": None if wanted.below is None else str(wanted.below),
            "limit": wanted.limit,
        }
        found = cast("Any", (yield Statement("notifications", params)))
        read = ((of_text(StoredNotification, text), bool(is_read)) for text, is_read in found)
        return [ListedNotification(stored, is_read) for stored, is_read in read if stored]

    @flow(Mode.read)
    def count_unread(self, scope: Scope, reader: str, limit: int) -> Steps[int]:
        params = scope_params(scope) | {"reader": reader, "limit": limit}
        ((count,),) = cast("Any", (yield Statement("notifications_unread", params)))
        return int(count)

    @flow()
    def read_notifications(
        self, scope: Scope, reader: str, ids: Sequence[UUID] | None
    ) -> Steps[int]:
        listed = None if ids is None else json_param(str(each) for each in ids)
        params = scope_params(scope) | {"reader": reader, "ids": listed}
        return len((yield Statement("notifications_read", params)))

    @flow()
    def erase_events(self, erasure: EventErasure) -> Steps[None]:
        for page in (_wipe_events, _wipe_notifications):
            last: str | None = LOWEST_ID
            while last is not None:
                last = yield from page(erasure, last)

    @flow()
    def prune_notifications(self, *, keep: int, limit: int) -> Steps[int]:
        params = {"until": (yield from clock()) - keep, "limit": limit}
        notifications = yield Statement("notifications_prune", params)
        events = yield Statement("events_prune", params)
        if notifications:
            yield Statement("reads_prune", {})
        return max(len(notifications), len(events))


def _wipe_events(erasure: EventErasure, above: str) -> Steps[str | None]:
    """Wipe a page of events; return the id after which the next begins, if there is one."""
    rows = yield Statement("events_page", _page(erasure, above))
    for event in _events_of(rows):
        if erasure.concerns(event.tenant, event.data):
            data = json.dumps(wiped_data(event.data))
            yield Statement("events_update", {"id": str(event.id), "data": data})
    return _last_id(rows)


def _wipe_notifications(erasure: EventErasure, above: str) -> Steps[str | None]:
    rows = yield Statement("notifications_page", _page(erasure, above))
    for stored in _read([row[1:] for row in rows]):
        wiped = wiped_notification(stored, erasure)
        if wiped != stored:
            yield _update(wiped)
    return _last_id(rows)


def _page(erasure: EventErasure, above: str) -> dict[str, object]:
    return scope_params(erasure.scope) | {"above": above, "limit": ERASED_PAGE_SIZE}


def _last_id(rows: Rows) -> str | None:
    return cast("str", rows[-1][0]) if len(rows) == ERASED_PAGE_SIZE else None


def _event_row(event_id: UUID, event: NewEvent) -> dict[str, object]:
    return {
        "id": event_id,
        "topic": event.topic,
        "tenant": event.tenant,
        "subject": event.subject,
        "data": json.dumps(dict(event.data)),
        "ended": int(event.ended),
    }


def _events_of(rows: Rows) -> list[StoredEvent]:
    """Return events in the order of their ids; one that cannot be read is no event."""
    found = [event for row in rows if (event := _event(row)) is not None]
    return sorted(found, key=lambda event: event.id)


def _event(row: Row) -> StoredEvent | None:
    event_id, at, topic, tenant, subject, data, ended = cast("Any", row)
    place, said = _id_of(event_id), _said(data)
    texts = isinstance(topic, str) and isinstance(subject, str) and isinstance(tenant, str | None)
    if place is None or said is None or not texts or not isinstance(at, int):
        return None
    return StoredEvent(place, at, topic, tenant, subject, said, bool(ended))


def _said(text: object) -> dict[str, Any] | None:
    """Return the data of an event or an episode; None if it cannot be read."""
    try:
        found = json.loads(cast("str", text))
    except (ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _id_of(text: object) -> UUID | None:
    try:
        return UUID(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _since(minute: int) -> Steps[tuple[list[StoredNotification], set[tuple[UUID, Slot]]]]:
    """Return the notifications of minutes from one on; and of those that this version cannot read
    the slots, which are taken."""
    rows = cast("Any", (yield Statement("notifications_since", {"minute": minute})))
    known: list[StoredNotification] = []
    unreadable: set[tuple[UUID, Slot]] = set()
    for record, subscription_id, of_minute, part in rows:
        stored = of_text(StoredNotification, record)
        if stored is not None:
            known.append(stored)
        elif (owner := _id_of(subscription_id)) is not None:
            unreadable.add((owner, (of_minute, part)))
    return known, unreadable


def _lock(notification_id: UUID) -> Steps[StoredNotification | None]:
    found = _read((yield Statement("notifications_lock", {"id": str(notification_id)})))
    return found[0] if found else None


def _read(rows: Rows) -> list[StoredNotification]:
    texts = (cast("str", row[0]) for row in rows)
    return [value for text in texts if (value := of_text(StoredNotification, text)) is not None]


def _update(notification: StoredNotification) -> Statement:
    params = {"id": str(notification.id), "record": to_text(notification)}
    return Statement("notifications_update", params)


def _notification_row(notification: StoredNotification) -> dict[str, object]:
    return {
        "id": notification.id,
        "subscription_id": notification.subscription_id,
        "minute": notification.minute,
        "part": notification.part,
        "tenant": notification.tenant,
        "everywhere": int(notification.everywhere),
        "in_app": int(notification.channel == IN_APP),
        "due_at": notification.due_at,
        "record": to_text(notification),
    }


def _episodes(rows: Rows) -> list[Episode]:
    """Return the episodes that can be read; nothing ends one that cannot."""
    return [
        Episode(topic, subject, _said(data) or {})
        for topic, subject, data in cast("Any", rows)
        if all(isinstance(name, str) and is_storable(name) for name in (topic, subject))
    ]


def _episode_key(episode: Episode) -> dict[str, object]:
    return {"topic": episode.topic, "subject": episode.subject}
