"""The routes that are about the API itself, and the answer to paths that it does not have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.arguments import ScopeQuery
from duetime.admin.call import Call, json_response
from duetime.admin.declarations import (
    ANY_IDENTITY,
    PUBLIC,
    Answer,
    Method,
    RouteTable,
)
from duetime.model.access.permissions import PERMISSIONS

SERVICE = RouteTable()

METHODS: tuple[Method, ...] = ("GET", "POST", "PUT", "PATCH", "DELETE")


class HealthDocument(BaseModel):
    """That the process answers, or that its store does, too."""

    status: str


class MeDocument(BaseModel):
    """Who calls, and what they may do."""

    user: str
    roles: list[str]
    tenant: str | None
    administrator: bool
    permissions: list[str]


@SERVICE.read("/api/health", PUBLIC, Answer("The process answers", HealthDocument))
async def health() -> Response:
    """Whether this process answers; it asks nothing of the store."""
    return json_response({"status": "ok"})


@SERVICE.read("/api/ready", PUBLIC, Answer("The store answers", HealthDocument))
async def ready(call: Call) -> Response:
    """Whether the store answers."""
    await call.app.find(limit=1, tenant=None)
    return json_response({"status": "ok"})


@SERVICE.read("/api/me", ANY_IDENTITY, Answer("Who you are", MeDocument))
async def me(call: Call, query: Annotated[ScopeQuery, Query()]) -> Response:
    """Who calls, and what they may do."""
    caller = call.caller
    return json_response(
        {
            "user": caller.identity.user,
            "roles": sorted(caller.identity.roles),
            "tenant": caller.identity.tenant,
            "administrator": caller.administrator,
            "permissions": [name for name in PERMISSIONS if caller.allows(name)],
        }
    )
