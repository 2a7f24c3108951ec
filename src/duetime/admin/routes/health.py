"""The routes of figures, workers and kinds."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from starlette.responses import Response

from duetime.admin.arguments import CountQuery, ScopeQuery
from duetime.admin.call import Call, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import Documents, StatsModel
from duetime.model.payloads.registry import PayloadType

HEALTH = RouteTable()


class KindDocument(BaseModel):
    """A kind that this process can schedule, with the JSON Schema of its payload."""

    kind: str
    version: int
    queue: str
    payload: dict[str, Any]


class KindsDocument(BaseModel):
    """Every kind, by name."""

    items: list[KindDocument]


@HEALTH.read("/api/stats", "stats.read", Answer("The figures", StatsModel))
async def get_stats(call: Call, query: Annotated[CountQuery, Query()]) -> Response:
    """Health figures: what waits, runs, is late, has failed."""
    stats = await call.app.stats(tenant=call.scope, most=query.most)
    return json_response(Documents(call.app, call.caller).stats(stats))


@HEALTH.read("/api/kinds", "actions.read", Answer("The kinds", KindsDocument))
async def get_kinds(call: Call, query: Annotated[ScopeQuery, Query()]) -> Response:
    """The kinds that this process can schedule, with the schemas of their payloads."""
    payloads = call.app.runtime.payloads
    entries = {entry.kind: entry for entry in map(payloads.named, payloads.kinds())}
    return json_response(
        {
            "items": [
                {
                    "kind": kind,
                    "version": entry.version,
                    "queue": entry.queue,
                    "payload": _schema(entry),
                }
                for kind, entry in sorted(entries.items())
            ]
        }
    )


def _schema(entry: PayloadType) -> dict[str, Any]:
    """Return the JSON Schema of payloads; one that allows all if a part of the type has none."""
    try:
        return entry.adapter.json_schema()
    except PydanticInvalidForJsonSchema:
        return {}
