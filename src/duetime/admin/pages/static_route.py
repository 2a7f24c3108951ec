"""The route of the files that pages load."""

from __future__ import annotations

from starlette.responses import Response

from duetime.admin.declarations import PUBLIC
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.static_files import media_type, static_files, static_version
from duetime.admin.problems import RequestRefused

STATIC = PageTable()

FOR_EVER = "public, max-age=31536000, immutable"
# While a new version is deployed, a page of the other version may ask for its files.
NOT_NOW = "no-cache"


@STATIC.show("/static/{path:path}", PUBLIC)
async def show_file(path: str) -> Response:
    """A file, which browsers may keep as long as its path names what is in it."""
    version, _, name = path.partition("/")
    content = static_files().get(name)
    if content is None:
        raise RequestRefused(404, "not-found", "there is no such file")
    kept = FOR_EVER if version == static_version() else NOT_NOW
    return Response(content, headers={"Cache-Control": kept}, media_type=media_type(name))
