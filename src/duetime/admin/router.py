"""Builds the router of an administration from the tables of its routes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Security
from fastapi.security import HTTPBearer
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path

from duetime.admin.arguments import ScopeQuery
from duetime.admin.call import Call, json_response
from duetime.admin.declarations import (
    ANY_IDENTITY,
    PUBLIC,
    Answer,
    RouteDeclaration,
    RouteTable,
    declaration_of,
)
from duetime.admin.desk import Desk
from duetime.admin.gated_route import GatedRoute, route_class
from duetime.admin.openapi import extra_of, make_document, responses_of
from duetime.admin.problems import RequestRefused
from duetime.admin.routes.access import ACCESS
from duetime.admin.routes.actions import ACTIONS
from duetime.admin.routes.audit import AUDIT
from duetime.admin.routes.bulks import BULKS
from duetime.admin.routes.health import HEALTH
from duetime.admin.routes.jobs import JOBS
from duetime.admin.routes.queues import QUEUES
from duetime.admin.routes.recurrences import RECURRENCES
from duetime.admin.routes.service import SERVICE
from duetime.admin.routes.transitions import TRANSITIONS
from duetime.errors import ConfigError

ALL_TABLES: Sequence[RouteTable] = (
    *(SERVICE, BULKS, ACTIONS, JOBS, RECURRENCES, TRANSITIONS),
    *(QUEUES, AUDIT, HEALTH, ACCESS),
)
DOCUMENT_PATH = "/api/openapi.json"
OTHER_PATHS = "/api/{path:path}"
ALL_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]

# Documents how to authenticate; the gate has decided before FastAPI looks at it.
BEARER = Security(HTTPBearer(auto_error=False, scheme_name="bearer"))


def make_router(desk: Desk, *, prefix: str, tag: str) -> APIRouter:
    router = APIRouter(prefix=prefix, tags=[tag], route_class=route_class(desk))
    endpoints = [*all_endpoints(), _document_of(router)]
    for endpoint in endpoints:
        _add_route(router, endpoint)
    _refuse_other_paths(router, [declaration_of(endpoint) for endpoint in endpoints])
    check_routes(router)
    return router


def all_endpoints() -> list[Callable[..., Any]]:
    return [endpoint for table in ALL_TABLES for endpoint in table.endpoints]


def check_routes(router: APIRouter) -> None:
    """Raise ConfigError for a route that nobody guards."""
    for route in router.routes:
        if not isinstance(route, GatedRoute):
            raise ConfigError(f"{route!r} declares no permission: add it to a RouteTable")


def _add_route(router: APIRouter, endpoint: Callable[..., Any]) -> None:
    declaration = declaration_of(endpoint)
    first, *_ = declaration.answers
    router.add_api_route(
        declaration.path,
        endpoint,
        methods=[declaration.method],
        name=endpoint.__name__,
        summary=endpoint.__name__.replace("_", " ").capitalize(),
        description=endpoint.__doc__,
        operation_id=endpoint.__name__,
        status_code=first,
        responses=responses_of(declaration),
        response_model=None,
        response_class=_response_class(declaration.answers[first]),
        dependencies=[] if declaration.needs == PUBLIC else [BEARER],
        openapi_extra=extra_of(declaration),
    )


def _response_class(answer: Answer) -> type[Response]:
    """Return the class of the response without a media type of its own, if JSON is not it."""
    return JSONResponse if answer.media_type == JSONResponse.media_type else Response


def _document_of(router: APIRouter) -> Callable[..., Any]:
    """Return the endpoint that shows the router's own document."""
    table = RouteTable()

    @table.read(DOCUMENT_PATH, ANY_IDENTITY, Answer("This document", dict[str, Any]))
    async def get_openapi_document(call: Call, query: Annotated[ScopeQuery, Query()]) -> Response:
        """This document, of the routes where they are mounted."""
        server = call.path_to("").removesuffix(router.prefix)
        return json_response(make_document(router.routes, server or "/"))

    return get_openapi_document


def _refuse_other_paths(router: APIRouter, declarations: Sequence[RouteDeclaration]) -> None:
    """Add the route that answers for paths and methods that there are not, to those who are known:
    others learn nothing of which there are."""
    known = [
        (declaration.method, compile_path(declaration.path)[0]) for declaration in declarations
    ]
    table = RouteTable()

    @table.add(
        RouteDeclaration(
            method="GET", path=OTHER_PATHS, needs=ANY_IDENTITY, answers={}, in_schema=False
        )
    )
    async def refuse(path: str) -> Response:
        allowed = sorted({method for method, regex in known if regex.match(f"/api/{path}")})
        if not allowed:
            raise RequestRefused(404, "not-found", "the API has no such path")
        names = ", ".join(allowed)
        raise RequestRefused(
            405, "method-not-allowed", f"this path takes {names}", {"Allow": names}
        )

    router.add_api_route(
        OTHER_PATHS, refuse, methods=ALL_METHODS, include_in_schema=False, response_model=None
    )
