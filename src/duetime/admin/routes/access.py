"""The routes of grants and API keys: who may do what over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from duetime.admin.arguments import (
    Id,
    Instant,
    Note,
    NoteQuery,
    RequestModel,
    ScopeQuery,
    Switch,
)
from duetime.admin.call import Call, done_response, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import model_of, shallow
from duetime.errors import ApiKeyNotFound, GrantNotFound
from duetime.model.access.api_keys import ApiKey, CreatedApiKey
from duetime.model.access.grants import Grant
from duetime.model.access.permissions import BundleName, PermissionName

ACCESS = RouteTable()

NOTHING: frozenset[str] = frozenset()
GrantModel = model_of(Grant, "Grant", maybe=NOTHING)
ApiKeyModel = model_of(ApiKey, "ApiKey", maybe=NOTHING)
CreatedApiKeyModel = model_of(CreatedApiKey, "CreatedApiKey", maybe=NOTHING)


class GrantsDocument(BaseModel):
    """Grants by role and permission."""

    items: list[GrantModel]  # type: ignore[valid-type]


class ApiKeysDocument(BaseModel):
    """Keys without their secrets, oldest first."""

    items: list[ApiKeyModel]  # type: ignore[valid-type]


class FindGrants(ScopeQuery):
    role: str | None = None


class GrantBody(RequestModel):
    """A permission or bundle that a role has or, with `allowed` false, has not."""

    role: str
    permission: PermissionName | BundleName
    tenant: Annotated[str | None, Field(description="for one tenant; null: for all")] = None
    allowed: Switch = True
    note: Note = None


class ApiKeyBody(RequestModel):
    """A key to make."""

    name: str
    roles: list[str]
    tenant: str | None = None
    expires_at: Instant | None = None
    note: Note = None


# -- grants ---------------------------------------------------------------------------------------


@ACCESS.read("/api/grants", "admin", Answer("The grants", GrantsDocument))
async def get_grants(call: Call, query: Annotated[FindGrants, Query()]) -> Response:
    """Which role may do what, for which tenant."""
    found = await call.app.grants.list(role=query.role, tenant=call.scope)
    return json_response({"items": [shallow(grant) for grant in found]})


@ACCESS.change(
    "POST",
    "/api/grants",
    "admin",
    {201: Answer("The grant", GrantModel)},
    example={"role": "support", "permission": "actions.read", "note": "asked for by Ann"},
)
async def set_grant(
    call: Call, body: Annotated[GrantBody, Body()], query: Annotated[ScopeQuery, Query()]
) -> Response:
    """Give a role a permission, or take it away; a second setting replaces the first."""
    grant = await call.app.grants.set(
        body.role,
        body.permission,
        body.tenant,
        body.allowed,
        by=call.by,
        note=body.note,
        authority=call.caller.authority,
    )
    location = call.path_to(f"/api/grants/{grant.id}")
    return json_response(shallow(grant), 201, {"Location": location})


@ACCESS.change(
    "DELETE",
    "/api/grants/{id}",
    "admin",
    {204: Answer("Removed"), 200: Answer("The grant that was", GrantModel)},
    problems=(404,),
)
async def remove_grant(call: Call, id: Id, query: Annotated[NoteQuery, Query()]) -> Response:
    """Delete a grant: what else is granted to the role counts again."""
    grant = await call.app.grants.remove(
        call.id_or(GrantNotFound),
        tenant=call.scope,
        by=call.by,
        note=query.note,
        authority=call.caller.authority,
    )
    return done_response(call, shallow(grant))


# -- API keys -------------------------------------------------------------------------------------


@ACCESS.read("/api/api-keys", "admin", Answer("The keys", ApiKeysDocument))
async def get_api_keys(call: Call, query: Annotated[ScopeQuery, Query()]) -> Response:
    """The API keys, without their secrets."""
    found = await call.app.api_keys.list(tenant=call.scope)
    return json_response({"items": [shallow(key) for key in found]})


@ACCESS.change(
    "POST",
    "/api/api-keys",
    "admin",
    {201: Answer("The key, whose text is shown this once", CreatedApiKeyModel)},
    example={"name": "the shop's till", "roles": ["support"], "tenant": "acme"},
)
async def create_api_key(
    call: Call, body: Annotated[ApiKeyBody, Body()], query: Annotated[ScopeQuery, Query()]
) -> Response:
    """Make an API key. Its `key` is shown in this answer only."""
    key = await call.app.api_keys.create(
        body.name,
        body.roles,
        body.tenant,
        body.expires_at,
        by=call.by,
        note=body.note,
        authority=call.caller.authority,
    )
    location = call.path_to(f"/api/api-keys/{key.id}")
    headers = {"Location": location, "Cache-Control": "no-store"}
    return json_response(shallow(key), 201, headers)


@ACCESS.change(
    "DELETE",
    "/api/api-keys/{id}",
    "admin",
    {204: Answer("Revoked"), 200: Answer("The key that was", ApiKeyModel)},
    problems=(404,),
)
async def revoke_api_key(call: Call, id: Id, query: Annotated[NoteQuery, Query()]) -> Response:
    """Revoke an API key: the next request with it is refused."""
    key = await call.app.api_keys.revoke(
        call.id_or(ApiKeyNotFound), tenant=call.scope, by=call.by, note=query.note
    )
    return done_response(call, shallow(key))
