"""The routes of the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from duetime.admin.arguments import Instant, ScopeQuery
from duetime.admin.call import AdminCall, Call, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import AuditPage, Documents, page
from duetime.admin.exports import EXPORT_PAGE, JSON_LINES, export
from duetime.model.actions.action import Page
from duetime.model.audit import AuditEntry

AUDIT = RouteTable()


class AuditQuery(ScopeQuery):
    """The filter of audit entries."""

    subject: Annotated[str | None, Field(description="an action's id or a job's name")] = None
    by: str | None = None
    verb: str | None = None
    since: Instant | None = None
    before: Instant | None = None


class FindAudit(AuditQuery):
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: str | None = None


@AUDIT.read("/api/audit", "audit.read", Answer("A page of entries", AuditPage))
async def find_audit(call: Call, query: Annotated[FindAudit, Query()]) -> Response:
    """Who changed what, newest first, a page at a time."""
    found = await _find(call, query, limit=query.limit, cursor=query.cursor)
    documents = Documents(call.app, call.caller)
    return json_response(page([documents.entry(entry) for entry in found], found.next_cursor))


@AUDIT.read(
    "/api/audit/export",
    "audit.read",
    Answer("One entry on each line", media_type=JSON_LINES),
    limit=None,
)
async def export_audit(call: Call, query: Annotated[AuditQuery, Query()]) -> Response:
    """The newest 10,000 entries that match, as JSON Lines."""
    return await export(
        call,
        lambda cursor: _find(call, query, limit=EXPORT_PAGE, cursor=cursor),
        Documents(call.app, call.caller).entry,
    )


async def _find(
    call: AdminCall, query: AuditQuery, *, limit: int, cursor: str | None
) -> Page[AuditEntry]:
    return await call.app.audit.find(
        subject=query.subject,
        by=query.by,
        verb=query.verb,
        since=query.since,
        before=query.before,
        limit=limit,
        cursor=cursor,
        tenant=call.scope,
    )
