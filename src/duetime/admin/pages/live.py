"""The route that keeps open pages up to date: the live part of one, if it has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

from starlette.responses import Response

from duetime.admin.declarations import ANY_IDENTITY
from duetime.admin.pages.page import PATH_ARGUMENT, FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.problems import RequestRefused
from duetime.errors import PermissionDenied
from duetime.model.access.permissions import PERMISSIONS

LIVE = PageTable()

# A browser asks again each time, and nothing between keeps what one reader may see.
LIVE_HEADERS = {"Cache-Control": "private, no-cache", "Vary": "Cookie, Accept-Language"}


@LIVE.show("/live", ANY_IDENTITY, polled=True)
async def show_live(page: ThisPage) -> Response:
    """The live part of the page that `view` names, with the parameters of that page."""
    view = page.site.views.get(page.request.query_params.get("view", ""))
    if view is None:
        raise RequestRefused(404, "not-found", "there is no such view")
    if not page.may(view.needs):
        raise PermissionDenied(view.needs, page.caller.identity.tenant)
    for name in PATH_ARGUMENT.findall(view.path):
        page.argument(name)
    page.live_path = view.path
    seen = _seen(page)
    shared = page.site.snapshots.shared((view.path, seen), lambda: view.build(page), view.every)
    text = page.part(view.template, view=await shared) + page.part("unread.html")
    tag = _tag(seen, text)
    headers = LIVE_HEADERS | {"ETag": tag}
    if tag in (page.request.headers.get("if-none-match") or "").split(", "):
        return Response(status_code=304, headers=headers)
    return Response(text, headers=headers, media_type="text/html; charset=utf-8")


def _seen(page: FramedPage) -> tuple[Hashable, ...]:
    """Return all that the live part of a page depends on: readers to whom it is equal see the
    same."""
    return (
        *(page.scope, page.caller.scope, page.caller.administrator),
        tuple(name for name in PERMISSIONS if page.allows(name)),
        *(page.language, page.zone.name, page.url("")),
        tuple(page.request.query_params.multi_items()),
    )


def _tag(seen: tuple[Hashable, ...], text: str) -> str:
    """Return the ETag: of what is shown, to whom it may be shown, and how."""
    return (
        f'"{hashlib.sha256(repr((seen, text)).encode(errors="backslashreplace")).hexdigest()[:32]}"'
    )
