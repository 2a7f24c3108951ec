"""Answers that are given again: stored without the data of actions, so that an erasure has nothing
to look for in them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from duetime.admin.call import AdminCall
from duetime.admin.documents import Document, Documents
from duetime.errors import ActionNotFound

# Fields of actions that an erasure wipes.
ERASED_FIELDS = frozenset({"payload", "result", "progress", "error", "error_group", "trace"})


def to_stored(document: Any) -> Any:
    """Return an answer without the data of the actions in it."""
    if not isinstance(document, dict):
        return document
    if "items" in document:
        return document | {"items": [to_stored(item) for item in document["items"]]}
    return {name: None if name in ERASED_FIELDS else value for name, value in document.items()}


async def to_replayed(call: AdminCall, document: Document) -> Document:
    """Return a stored answer as its sender may see it now: the actions are as they were answered,
    with the payloads that they have now."""
    if "items" in document:
        items = [await to_replayed(call, item) for item in document["items"]]
        return document | {"items": items}
    if "kind" not in document:
        return document
    return await _with_payload(call, document)


async def _with_payload(call: AdminCall, document: Document) -> Document:
    """Return an action with its payload, if the reader may see it. It may have been pruned."""
    documents = Documents(call.app, call.caller)
    try:
        action = await call.app.get(UUID(document["id"]), tenant=call.scope)
    except ActionNotFound:
        return documents.seen_again(document)
    payload = documents.action(action).get("payload")
    return documents.seen_again(document | {"payload": payload})
