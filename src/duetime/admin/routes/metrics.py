"""The route of metrics, which Prometheus reads."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from duetime.admin.arguments import ScopeQuery
from duetime.admin.call import Call
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.problems import RequestRefused
from duetime.errors import ConfigError
from duetime.telemetry.prometheus import CONTENT_TYPE, prometheus_text

METRICS = RouteTable()


@METRICS.read(
    "/metrics",
    "metrics.read",
    Answer("The metrics of this process", media_type="text/plain"),
    limit=None,
)
async def get_metrics(call: Call, query: Annotated[ScopeQuery, Query()]) -> Response:
    """What this process has counted since it was first asked, or since its SDK was set up."""
    try:
        text = await asyncio.to_thread(prometheus_text)
    except ConfigError as error:
        raise RequestRefused(503, "metrics-unavailable", str(error)) from None
    return Response(text, media_type=CONTENT_TYPE)
