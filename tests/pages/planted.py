"""Pages as the dashboard will have them, planted into an administration."""

from typing import Any

from fastapi import FastAPI
from starlette.responses import Response

from duetime import Duetime
from duetime.admin.asgi import AdminArguments, AdminParts
from duetime.admin.declarations import ANY_IDENTITY
from duetime.admin.pages.page_call import ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.router import ALL_PAGES, make_page_router
from duetime.admin.problems import RequestRefused

PLANTED = PageTable()
# What the acts of the last test were called with.
calls: list[tuple[str, object]] = []


@PLANTED.show("/", "stats.read")
async def show_start(page: ThisPage) -> Response:
    return page.render("signed_in.html")


@PLANTED.show("/queues", "queues.read")
async def show_queues(page: ThisPage) -> Response:
    calls.append(("show", page.scope))
    return page.render("signed_in.html")


@PLANTED.act("/queues/{name}/pause", "queues.manage")
async def pause_queue(page: ThisPage, name: str) -> Response:
    await page.app.queues.pause(name, by=page.by, note=page.field("note"))
    return page.send_to(page.url("/queues"))


@PLANTED.show("/me", ANY_IDENTITY)
async def show_reader(page: ThisPage) -> Response:
    rights = f"{page.by} may pause: {page.allows('queues.manage')} {page.form_token}"
    return Response(rights, media_type="text/plain")


@PLANTED.show("/fails", "queues.read")
async def fail(page: ThisPage) -> Response:
    raise RuntimeError("the password is hunter2")


@PLANTED.show("/teapot", "queues.read")
async def brew(page: ThisPage) -> Response:
    raise RequestRefused(418, "teapot", "no coffee <b>")


def parts_of(app: Duetime, **arguments: Any) -> AdminParts:
    defaults: dict[str, Any] = {
        "identify": None,
        "oidc": None,
        "admin_roles": {"operators"},
        "prefix": None,
        "tag": None,
        "required_role": None,
        "development": False,
        "base_url": None,
    }
    return AdminParts(app, app._setup, AdminArguments(**defaults | arguments))


def with_planted_pages(app: Duetime, **arguments: Any) -> FastAPI:
    """An administration with these pages and our own."""
    calls.clear()
    parts = parts_of(app, **arguments)
    asgi = FastAPI(openapi_url=None)
    tables = [PLANTED, *ALL_PAGES]
    asgi.include_router(make_page_router(parts.page_desk(), prefix=parts.prefix, tables=tables))
    return asgi
