"""The verbs of queues, workers, grants, keys and the audit log over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from duetime.model.access.api_keys import ApiKey, CreatedApiKey
from duetime.model.access.grants import Grant
from duetime.model.actions.action import Page
from duetime.model.audit import INSTANTS, AuditEntry
from duetime.model.health.queues import PausedQueue, Queue
from duetime.model.health.stats import LivingWorker
from duetime.model.tenant import AMBIENT, current_tenant
from duetime.remote.documents import read, to_instant
from duetime.remote.http import HttpSteps
from duetime.remote.refusals import refuse_authority
from duetime.remote.route import RemoteCall, RemoteVerb, Route


def _items_of(type_: type[Any], document: Any) -> list[Any]:
    return [read(type_, item) for item in document["items"]]


# -- queues and workers ---------------------------------------------------------------------------

QUEUES: Mapping[str, RemoteVerb] = {
    "list": Route(
        method="GET",
        path="/api/queues",
        query=("most",),
        read=lambda _, document: _items_of(Queue, document),
    ),
    "pause": Route(
        method="POST",
        path="/api/queues/{name}/pause",
        body=("note", "until"),
        read=lambda _, document: read(PausedQueue, document),
        represented=True,
        repeatable=True,
    ),
    "resume": Route(
        method="POST",
        path="/api/queues/{name}/resume",
        body=("note",),
        read=lambda _, document: document["resumed"],
        represented=True,
    ),
}

WORKERS: Mapping[str, RemoteVerb] = {
    "list": Route(
        method="GET",
        path="/api/workers",
        read=lambda _, document: _items_of(LivingWorker, document),
    ),
}


# -- grants and keys ------------------------------------------------------------------------------

SET_GRANT = Route(
    method="POST",
    path="/api/grants",
    body=("role", "permission", "tenant", "allowed", "note"),
    read=lambda _, document: read(Grant, document),
    repeatable=True,
)
REMOVE_GRANT = Route(
    method="DELETE",
    path="/api/grants/{grant_id}",
    query=("note",),
    read=lambda _, document: read(Grant, document),
    represented=True,
)
CREATE_KEY = Route(
    method="POST",
    path="/api/api-keys",
    body=("name", "roles", "tenant", "expires_at", "note"),
    read=lambda _, document: read(CreatedApiKey, document),
)


def _with_own_rights(route: Route) -> RemoteVerb:
    """Return the verb of a route that acts with the rights of the credential."""

    def steps(call: RemoteCall) -> HttpSteps[Any]:
        refuse_authority(call.arguments["authority"])
        return (yield from call.send(route))

    return steps


def create_key(call: RemoteCall) -> HttpSteps[CreatedApiKey]:
    tenant = call.arguments["tenant"]
    owner = current_tenant() if tenant is AMBIENT else tenant
    key: CreatedApiKey = yield from _with_own_rights(CREATE_KEY)(call.given(tenant=owner))
    return key


GRANTS: Mapping[str, RemoteVerb] = {
    "set": _with_own_rights(SET_GRANT),
    "list": Route(
        method="GET",
        path="/api/grants",
        query=("role",),
        read=lambda _, document: _items_of(Grant, document),
    ),
    "remove": _with_own_rights(REMOVE_GRANT),
}

API_KEYS: Mapping[str, RemoteVerb] = {
    "create": create_key,
    "list": Route(
        method="GET", path="/api/api-keys", read=lambda _, document: _items_of(ApiKey, document)
    ),
    "revoke": Route(
        method="DELETE",
        path="/api/api-keys/{key_id}",
        query=("note",),
        read=lambda _, document: read(ApiKey, document),
        represented=True,
    ),
}


# -- the audit log --------------------------------------------------------------------------------


def _to_entries(_: RemoteCall, document: Any) -> Page[AuditEntry]:
    entries = map(_with_instants, _items_of(AuditEntry, document))
    return Page([*entries], document["next_cursor"])


def _with_instants(entry: AuditEntry) -> AuditEntry:
    before, after = map(_readable, (entry.before, entry.after))
    return replace(entry, before=before, after=after)


def _readable(snapshot: Mapping[str, object]) -> Mapping[str, object]:
    return {
        name: to_instant(value) if name in INSTANTS and isinstance(value, str) else value
        for name, value in snapshot.items()
    }


AUDIT: Mapping[str, RemoteVerb] = {
    "find": Route(
        method="GET",
        path="/api/audit",
        query=("subject", "by", "verb", "since", "before", "limit", "cursor"),
        read=_to_entries,
    ),
}
