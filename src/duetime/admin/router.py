"""Builds the router of an administration from the tables of its routes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Security
from fastapi.security import HTTPBearer
from starlette.convertors import PathConvertor, register_url_convertor
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
from duetime.admin.routes.metrics import METRICS
from duetime.admin.routes.notifications import NOTIFICATIONS
from duetime.admin.routes.queues import QUEUES
from duetime.admin.routes.recurrences import RECURRENCES
from duetime.admin.routes.series import SERIES
from duetime.admin.routes.service import METHODS, SERVICE
from duetime.admin.routes.subscriptions import SUBSCRIPTIONS
from duetime.admin.routes.transitions import TRANSITIONS
from duetime.errors import ConfigError

ALL_TABLES: Sequence[RouteTable] = (
    *(SERVICE, BULKS, ACTIONS, JOBS, RECURRENCES, TRANSITIONS),
    *(QUEUES, AUDIT, HEALTH, SERIES, METRICS, ACCESS),
    *(SUBSCRIPTIONS, NOTIFICATIONS),
)
DOCUMENT_PATH = "/api/openapi.json"
OTHER_PATHS = "/api/{path:path}"
# Also those that are still to be invented: a route without methods takes them all.
ALL_METHODS: Collection[str] = ()


class AnyText(PathConvertor):
    """What is left of a path. That of Starlette ends at a line break, and a path with one would be
    outside of the API, where nobody asks who sends it."""

    regex = "(?s:.*)"


register_url_convertor("duetime_text", AnyText())


def to_template(path: str) -> str:
    """Return the path of a declaration as routes match it."""
    return path.replace(":path}", ":duetime_text}")


# Documents how to authenticate; the gate has decided before FastAPI looks at it.
BEARER = Security(HTTPBearer(auto_error=False, scheme_name="bearer"))


def make_router(desk: Desk, *, prefix: str, tag: str) -> APIRouter:
    router = APIRouter(prefix=prefix, tags=[tag], route_class=route_class(desk))
    endpoints = [*all_endpoints(), _document_of(router)]
    known = KnownPaths([declaration_of(endpoint) for endpoint in endpoints])
    for path in known.shadowed:
        _refuse(router, path, known, set(METHODS) - set(known.methods_of(path)))
    for endpoint in endpoints:
        _add_route(router, endpoint)
    _refuse(router, OTHER_PATHS, known, ALL_METHODS)
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
        to_template(declaration.path),
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


class KnownPaths:
    """Which methods the paths of an API take."""

    def __init__(self, declarations: Sequence[RouteDeclaration]) -> None:
        # Such as `/api/jobs/bulk`, at which other methods would find a job of that name.
        self.shadowed = [path for path in _literal(declarations) if _finds(path, declarations)]
        # With the fewest names to fill in first: a path that has a route of its own is no name.
        nearest = sorted(declarations, key=lambda declaration: declaration.path.count("{"))
        self._known = [(_regex(each.path), each) for each in nearest]

    def methods_of(self, path: str) -> list[str]:
        found = [declaration for regex, declaration in self._known if regex.match(path)]
        return sorted({each.method for each in found if each.path == found[0].path})


def _literal(declarations: Sequence[RouteDeclaration]) -> list[str]:
    return sorted({each.path for each in declarations if "{" not in each.path})


def _finds(path: str, declarations: Sequence[RouteDeclaration]) -> bool:
    """Return whether a route with names to fill in takes the path, too."""
    others = {each.path for each in declarations} - {path}
    return any(_regex(other).match(path) for other in others)


def _regex(path: str) -> re.Pattern[str]:
    return compile_path(to_template(path))[0]


def _refuse(router: APIRouter, template: str, known: KnownPaths, methods: Collection[str]) -> None:
    """Add the route that answers for paths and methods that there are not, to those who are known:
    others learn nothing of which there are."""
    table = RouteTable()

    @table.add(
        RouteDeclaration(method="GET", path=template, needs=ANY_IDENTITY, answers={}, exists=False)
    )
    async def refuse(call: Call) -> Response:
        path = template.replace(":path}", "}").format(**call.request.path_params)
        allowed = known.methods_of(path)
        if not allowed:
            raise RequestRefused(404, "not-found", "the API has no such path")
        names = ", ".join(allowed)
        raise RequestRefused(
            405, "method-not-allowed", f"this path takes {names}", {"Allow": names}
        )

    router.add_api_route(
        to_template(template),
        refuse,
        methods=list(methods),
        operation_id=f"refuse {template}",
        include_in_schema=False,
        response_model=None,
    )
