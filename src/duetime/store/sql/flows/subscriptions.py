"""Subscriptions to notifications, for all SQL stores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from duetime.errors import SubscriptionNotFound
from duetime.model.act import Act
from duetime.model.ids import NewId
from duetime.model.notifications.declared import declared_changes
from duetime.model.notifications.mailing import (
    CONFIRMATION_WINDOW,
    PARTS,
    refuse_more_confirmations,
    single_message,
)
from duetime.model.notifications.notification import StoredNotification
from duetime.model.notifications.serialize import of_text, to_text
from duetime.model.notifications.subscription import (
    EMAIL,
    StoredSubscription,
    new_subscription,
    refuse_more_subscriptions,
    snapshot,
    terms_scope,
)
from duetime.model.notifications.topics import CONFIRM_TOPIC
from duetime.model.tenant import ANY, Scope
from duetime.store.base import Store
from duetime.store.contract.notifications import SubscriptionEdit
from duetime.store.flow import Mode, Statement, Steps, flow
from duetime.store.sql.flows.audit import audit_row, insert_audit
from duetime.store.sql.flows.claims import clock
from duetime.store.sql.statements.filter_params import scope_params


class SubscriptionFlows(Store, ABC):
    """Flows of subscriptions."""

    _ids: NewId

    @abstractmethod
    def insert_notifications(self, new: Sequence[StoredNotification]) -> Steps[None]: ...

    @flow(Mode.read)
    def subscriptions(self, scope: Scope) -> Steps[list[StoredSubscription]]:
        return (yield from read_subscriptions(scope))

    @flow(Mode.read)
    def subscription(self, subscription_id: UUID, scope: Scope) -> Steps[StoredSubscription]:
        found = yield from read_subscriptions(scope, subscription_id)
        if not found:
            raise SubscriptionNotFound(subscription_id)
        return found[0]

    @flow()
    def add_subscription(self, new: StoredSubscription, act: Act) -> Steps[StoredSubscription]:
        now = yield from clock()
        # One transaction at a time counts and inserts.
        yield from wait_for_notifier()
        stored_before = yield from read_subscriptions(terms_scope(new.terms))
        refuse_more_subscriptions(new.terms, stored_before)
        stored = new_subscription(new, now, act.by)
        yield Statement("subscriptions_add", _params(stored))
        yield Statement("notifier_advance", {})
        yield from self._audit_subscription("subscribe", act, now, None, stored)
        if stored.terms.channel == EMAIL:
            yield from self._send_single(stored, CONFIRM_TOPIC, now)
        return stored

    @flow()
    def edit_subscription(
        self, subscription_id: UUID, scope: Scope, act: Act, verb: str, edit: SubscriptionEdit
    ) -> Steps[StoredSubscription]:
        now = yield from clock()
        yield from wait_for_notifier()
        before = yield from _lock(subscription_id, scope)
        after = edit(before, now)
        if after == before:
            return before
        after = replace(after, modified_at=now, modified_by=act.by)
        yield _update(after)
        yield Statement("notifier_advance", {})
        yield from self._audit_subscription(verb, act, now, before, after)
        return after

    @flow()
    def remove_subscription(
        self, subscription_id: UUID, scope: Scope, act: Act
    ) -> Steps[StoredSubscription]:
        now = yield from clock()
        yield from wait_for_notifier()
        before = yield from _lock(subscription_id, scope)
        yield Statement("subscriptions_delete", {"id": str(subscription_id)})
        yield Statement("notifier_advance", {})
        yield from self._audit_subscription("remove", act, now, before, None)
        return before

    @flow()
    def declare_subscriptions(self, declared: Sequence[StoredSubscription]) -> Steps[None]:
        now = yield from clock()
        yield from wait_for_notifier()
        stored = yield from read_subscriptions(ANY)
        changes = declared_changes(stored, declared, now)
        for subscription in changes.new:
            yield Statement("subscriptions_add", _params(subscription))
        for subscription in changes.seen:
            yield _update(subscription)
        for subscription in changes.gone:
            yield Statement("subscriptions_delete", {"id": str(subscription.id)})
        if changes.new or changes.gone:
            yield Statement("notifier_advance", {})

    @flow()
    def send_single(
        self, subscription_id: UUID, scope: Scope, topic: str, act: Act
    ) -> Steps[StoredNotification]:
        now = yield from clock()
        # One transaction at a time counts the confirmations, and sends one.
        yield from wait_for_notifier()
        subscription = yield from _lock(subscription_id, scope)
        sent = yield from self._send_single(subscription, topic, now)
        verb = "ask-to-confirm" if topic == CONFIRM_TOPIC else topic
        yield from self._audit_subscription(verb, act, now, subscription, subscription)
        return sent

    def _send_single(
        self, subscription: StoredSubscription, topic: str, now: int
    ) -> Steps[StoredNotification]:
        if topic == CONFIRM_TOPIC:
            params = {"since": now - CONFIRMATION_WINDOW, "part": PARTS[topic]}
            scope = scope_params(subscription.terms.tenant)
            found = yield Statement("notifications_confirming", params | scope)
            refuse_more_confirmations(cast("Any", found)[0][0])
        message = single_message(subscription, topic, self._ids(), now)
        yield from self.insert_notifications([message])
        return message

    def _audit_subscription(
        self,
        verb: str,
        act: Act,
        now: int,
        before: StoredSubscription | None,
        after: StoredSubscription | None,
    ) -> Steps[None]:
        of = cast("StoredSubscription", after or before)
        snapshots = [{} if each is None else snapshot(each) for each in (before, after)]
        entry = audit_row(self._ids(), of.terms.tenant, str(of.id), *snapshots)
        yield insert_audit(verb, act, now, [entry], subject="subscription")


def wait_for_notifier() -> Steps[None]:
    """Lock the notifier's row, after whoever has it. Whoever changes subscriptions does so first:
    one that locked the row of a subscription before could wait for another that waits for it."""
    yield Statement("notifier_add", {})
    yield Statement("notifier_wait", {})


def read_subscriptions(
    scope: Scope, subscription_id: UUID | None = None
) -> Steps[list[StoredSubscription]]:
    """Return the subscriptions of a scope that this version can read; with an id, that one."""
    wanted = {"id": None if subscription_id is None else str(subscription_id)}
    found = cast("Any", (yield Statement("subscriptions", scope_params(scope) | wanted)))
    read = (of_text(StoredSubscription, text) for (text,) in found)
    return [subscription for subscription in read if subscription is not None]


def _lock(subscription_id: UUID, scope: Scope) -> Steps[StoredSubscription]:
    params = {"id": str(subscription_id)} | scope_params(scope)
    found = cast("Any", (yield Statement("subscriptions_lock", params)))
    stored = of_text(StoredSubscription, found[0][0]) if found else None
    if stored is None:
        raise SubscriptionNotFound(subscription_id)
    return stored


def _params(subscription: StoredSubscription) -> dict[str, object]:
    return {
        "id": str(subscription.id),
        "tenant": subscription.terms.tenant,
        "everywhere": int(subscription.terms.everywhere),
        "record": to_text(subscription),
    }


def _update(subscription: StoredSubscription) -> Statement:
    params = {"id": str(subscription.id), "record": to_text(subscription)}
    return Statement("subscriptions_update", params)
