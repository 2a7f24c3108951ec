"""The routes of notifications in the app."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from duetime.admin.arguments import RequestModel, ScopeQuery
from duetime.admin.call import Call, done_response, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import Documents, NotificationPage, page
from duetime.api.notifications import MAX_READ, MAX_UNREAD

NOTIFICATIONS = RouteTable()


class FindNotifications(ScopeQuery):
    unread: Annotated[bool, Field(description="only those that you have not marked as read")] = (
        False
    )
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: str | None = None


class UnreadQuery(ScopeQuery):
    most: Annotated[int, Field(ge=1, le=MAX_UNREAD, description="count up to so many")] = 100


class ReadBody(RequestModel):
    """Which notifications to mark as read; all, if it names none."""

    ids: Annotated[list[UUID] | None, Field(max_length=MAX_READ)] = None


# An absent body.
ALL = ReadBody()


class UnreadDocument(BaseModel):
    """How many notifications the sender has not marked as read."""

    unread: int


class ReadDocument(BaseModel):
    """How many notifications were unread before."""

    read: int


@NOTIFICATIONS.read(
    "/api/notifications",
    "notifications.read",
    Answer("A page of notifications", NotificationPage),
)
async def get_notifications(call: Call, query: Annotated[FindNotifications, Query()]) -> Response:
    """Notifications in the app, newest first, a page at a time. `read` says whether the sender has
    marked them."""
    found = await call.app.notifications.list(
        unread=query.unread,
        reader=call.by,
        limit=query.limit,
        cursor=query.cursor,
        tenant=call.scope,
    )
    documents = Documents(call.app, call.caller)
    return json_response(page([documents.notification(each) for each in found], found.next_cursor))


@NOTIFICATIONS.read(
    "/api/notifications/unread",
    "notifications.read",
    Answer("How many are unread", UnreadDocument),
)
async def count_unread_notifications(
    call: Call, query: Annotated[UnreadQuery, Query()]
) -> Response:
    """How many notifications in the app the sender has not marked as read."""
    count = await call.app.notifications.unread(reader=call.by, tenant=call.scope, most=query.most)
    return json_response({"unread": count})


@NOTIFICATIONS.change(
    "POST",
    "/api/notifications/read",
    "notifications.read",
    {204: Answer("Marked"), 200: Answer("How many were unread", ReadDocument)},
    example={"ids": ["019a9e7c-3f10-7b52-9e55-0d5b9f3c1a2b"]},
)
async def read_notifications(
    call: Call,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[ReadBody, Body()] = ALL,
) -> Response:
    """Mark notifications in the app as read by the sender: these, or all."""
    read = await call.app.notifications.read(body.ids, reader=call.by, tenant=call.scope)
    return done_response(call, {"read": read})
