"""Subscriptions that code declares: their ids, and what changes when a process declares them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from uuid import UUID, uuid5

from duetime.model.notifications.subscription import (
    DECLARED_FOR,
    StoredSubscription,
    SubscriptionTerms,
)
from duetime.model.tenant import SYSTEM

# Of the ids of declared subscriptions: each is made of an app and terms, so that all processes of
# an app declare the same ones.
NAMESPACE = UUID("6f0f3c1a-52f1-5f0e-9a3c-0e1f4f5a8b77")


@dataclass(frozen=True, slots=True)
class DeclaredChanges:
    """The declared subscriptions to insert, those to be stored as seen, and those to delete."""

    new: Sequence[StoredSubscription]
    seen: Sequence[StoredSubscription]
    gone: Sequence[StoredSubscription]


def declared_subscription(app: str, terms: SubscriptionTerms, secret: str) -> StoredSubscription:
    """Return the subscription that an app's code declares."""
    described = repr((app, sorted(asdict(terms).items())))
    digest = hashlib.sha256(described.encode()).hexdigest()
    return StoredSubscription(
        id=uuid5(NAMESPACE, digest),
        terms=terms,
        app=app,
        created_at=0,
        created_by=SYSTEM,
        modified_at=0,
        modified_by=SYSTEM,
        confirmed_at=0,
        seen_at=0,
        secret=secret,
    )


def declared_changes(
    stored: Sequence[StoredSubscription], declared: Sequence[StoredSubscription], now: int
) -> DeclaredChanges:
    """Decide what to store when a process declares subscriptions: those of its apps that no process
    has declared for long are gone."""
    known, ids = {each.id: each for each in stored}, {each.id for each in declared}
    apps = {each.app for each in declared}
    new = [_as_new(each, now) for each in declared if each.id not in known]
    seen = [replace(known[each.id], seen_at=now) for each in declared if each.id in known]
    others = (each for each in stored if each.app in apps and each.id not in ids)
    return DeclaredChanges(new, seen, [each for each in others if _is_gone(each, now)])


def _as_new(declared: StoredSubscription, now: int) -> StoredSubscription:
    return replace(declared, created_at=now, modified_at=now, confirmed_at=now, seen_at=now)


def _is_gone(subscription: StoredSubscription, now: int) -> bool:
    return subscription.app is not None and now - (subscription.seen_at or 0) >= DECLARED_FOR
