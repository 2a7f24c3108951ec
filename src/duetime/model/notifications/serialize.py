"""Subscriptions and notifications as the JSON texts that SQL stores keep."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from duetime.model.notifications.notification import StoredNotification
from duetime.model.notifications.subscription import StoredSubscription

T = TypeVar("T", StoredSubscription, StoredNotification)


def to_text(value: StoredSubscription | StoredNotification) -> str:
    return _adapter(isinstance(value, StoredSubscription)).dump_json(value).decode()


def of_text(type_: type[T], text: str) -> T | None:
    """Return the value of a text; None if this version cannot read it."""
    try:
        value: T = _adapter(type_ is StoredSubscription).validate_json(text)
    except ValueError:
        return None
    return value


@cache
def _adapter(subscription: bool) -> TypeAdapter[Any]:
    # Made when it is first needed: apps without notifications do not wait for it.
    return TypeAdapter(StoredSubscription if subscription else StoredNotification)
