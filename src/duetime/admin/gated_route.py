"""The route class of the API: it decides who may call before anything of the request is parsed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from duetime.admin.declarations import declaration_of
from duetime.admin.desk import Desk

Handle = Callable[[Request], Awaitable[Response]]


class GatedRoute(APIRoute):
    """A route of one desk. FastAPI would read the body before any dependency could refuse."""

    desk: ClassVar[Desk]

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        declaration_of(endpoint)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Any]:
        handle, declaration = super().get_route_handler(), declaration_of(self.endpoint)

        async def gated(request: Request) -> Response:
            return await self.desk.answer(request, declaration, handle)

        return gated


def route_class(desk: Desk) -> type[GatedRoute]:
    return type("GatedRoute", (GatedRoute,), {"desk": desk})
