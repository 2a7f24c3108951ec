"""Exports: many documents as JSON Lines, a page after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from duetime.admin.call import AdminCall, to_json_bytes
from duetime.admin.documents import Document
from duetime.model.actions.action import Page

T = TypeVar("T")

JSON_LINES = "application/jsonl"
MAX_EXPORTED = 10_000
EXPORT_PAGE = 200

# Reads a page of what is exported: the first for None, else the one of a cursor.
FindPage = Callable[[str | None], Awaitable[Page[T]]]


class ExportResponse(StreamingResponse):
    """Documents, one on each line, until all are sent or the client has gone."""

    def __init__(self, lines: AsyncIterator[bytes], end: Callable[[], None]) -> None:
        super().__init__(lines, media_type=JSON_LINES)
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._end()


async def export(
    call: AdminCall, find: FindPage[T], to_document: Callable[[T], Document]
) -> ExportResponse:
    """Answer with the newest 10,000. What is wrong with the request is raised before the first
    byte."""
    identity = call.caller.identity
    end = call.exports.take((identity.user, identity.tenant))
    try:
        first = await find(None)
    except BaseException:
        end()
        raise
    return ExportResponse(_lines(first, find, to_document), end)


async def _lines(
    found: Page[T], find: FindPage[T], to_document: Callable[[T], Document]
) -> AsyncIterator[bytes]:
    exported = 0
    while True:
        yield b"".join(to_json_bytes(to_document(item)) + b"\n" for item in found)
        exported += len(found)
        if found.next_cursor is None or exported >= MAX_EXPORTED:
            return
        found = await find(found.next_cursor)
