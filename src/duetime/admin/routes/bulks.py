"""The routes of many actions: groups, exports, bulks; and of an action that is repeated."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from duetime.admin.action_filter import BulkFilter, ExportActions, GroupActions
from duetime.admin.arguments import Duration, Id, Instant, Note, RequestModel, ScopeQuery, Switch
from duetime.admin.call import AdminCall, Call, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import (
    ActionModel,
    Document,
    Documents,
    ScheduledModel,
    model_of,
)
from duetime.admin.exports import EXPORT_PAGE, JSON_LINES, export
from duetime.admin.idempotency import NewAnswer, act_once
from duetime.model.access.permissions import PermissionName
from duetime.model.actions.action import Action
from duetime.model.bulk import MAX_BULK_IDS, BulkResult
from duetime.model.groups import Group

BULKS = RouteTable()

NOTHING: frozenset[str] = frozenset()
GroupModel = model_of(Group, "Group", maybe=NOTHING)
BulkVerb = Literal["cancel", "retry", "reschedule", "shift"]
# What a bulk needs beside `actions.bulk`.
VERB_PERMISSIONS: dict[BulkVerb, PermissionName] = {
    "cancel": "actions.cancel",
    "retry": "actions.retry",
    "reschedule": "actions.reschedule",
    "shift": "actions.reschedule",
}


class GroupsDocument(BaseModel):
    """Groups, the largest first; all actions created since `examined_since` were counted."""

    groups: list[GroupModel]  # type: ignore[valid-type]
    examined_since: Instant | None


class BulkBody(RequestModel):
    """What to do with which actions: those of these ids, or those that a filter matches."""

    verb: BulkVerb
    ids: Annotated[list[UUID] | None, Field(max_length=MAX_BULK_IDS)] = None
    filter: BulkFilter | None = None
    at: Annotated[Instant | None, Field(description="for reschedule")] = None
    seconds: Annotated[float | None, Field(strict=True, description="for shift")] = None
    dry_run: Switch = False
    cursor: str | None = None
    note: Note = None


class BulkDocument(BaseModel):
    """What a dry run counted, or what a step changed."""

    count: int | None = None
    capped: bool | None = None
    sample: list[ActionModel] | None = None  # type: ignore[valid-type]
    changed: int | None = None
    skipped: int | None = None
    next_cursor: str | None = None


class RepeatBody(RequestModel):
    """When to do a finished action again, and with which payload if not with its own."""

    at: Instant | None = None
    delay: Duration | None = None
    payload: Any = None
    note: Note = None


NO_REPEAT = RepeatBody()


@BULKS.read("/api/actions/groups", "actions.read", Answer("The groups", GroupsDocument))
async def group_actions(call: Call, query: Annotated[GroupActions, Query()]) -> Response:
    """How many of the actions that match have the same error, kind, queue or state. Without
    `payload.read`, errors are counted by class."""
    groups = await call.app.groups(**({"by": query.by} | query.given()), tenant=call.scope)
    return json_response(Documents(call.app, call.caller).groups(query.by, groups))


@BULKS.read(
    "/api/actions/export",
    "actions.read",
    Answer("One action on each line", media_type=JSON_LINES),
    limit=None,
)
async def export_actions(call: Call, query: Annotated[ExportActions, Query()]) -> Response:
    """The newest 10,000 actions that match, as JSON Lines."""
    return await export(
        call,
        lambda cursor: call.app.find(
            **query.given(), limit=EXPORT_PAGE, cursor=cursor, tenant=call.scope
        ),
        Documents(call.app, call.caller).action,
    )


@BULKS.change(
    "POST",
    "/api/actions/bulk",
    "actions.bulk",
    {200: Answer("What a dry run counted, or what this step changed", BulkDocument)},
    problems=(409,),
    example={"verb": "retry", "filter": {"kind": ["send-reminder"]}, "dry_run": True},
)
async def bulk_actions(
    call: Call, body: Annotated[BulkBody, Body()], query: Annotated[ScopeQuery, Query()]
) -> Response:
    """Change many actions, a thousand with each call, until `next_cursor` is null. Needs the
    permission of its verb, too."""
    call.caller.require(VERB_PERMISSIONS[body.verb])
    result = await call.app.bulk(
        body.verb,
        ids=body.ids,
        filter=None if body.filter is None else body.filter.given(),
        at=body.at,
        seconds=body.seconds,
        by=call.by,
        note=body.note,
        dry_run=body.dry_run,
        cursor=body.cursor,
        tenant=call.scope,
    )
    return json_response(_bulk(call, result, dry_run=body.dry_run))


@BULKS.change(
    "POST",
    "/api/actions/{id}/repeat",
    "actions.schedule",
    {201: Answer("The new action", ScheduledModel)},
    problems=(409,),
    subject="action",
    creates=True,
    example={"delay": 60, "note": "cancelled by mistake"},
)
async def repeat_action(
    call: Call,
    id: Id,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[RepeatBody, Body()] = NO_REPEAT,
) -> Response:
    """Schedule a finished action anew, now unless a time is given."""
    finished = await call.app.get(call.action_id, tenant=call.scope)
    operation = call.verbs.actions.repeat(
        finished.id,
        at=body.at,
        delay=body.delay,
        payload=_payload(call, body, finished),
        by=call.by,
        note=body.note,
        tenant=call.scope,
    )
    documents = Documents(call.app, call.caller)

    def answer(action: Action) -> NewAnswer:
        location = call.path_to(f"/api/actions/{action.id}")
        return NewAnswer(documents.action(action, created=True), 201, location)

    return await act_once(call, operation, answer)


def _payload(call: AdminCall, body: RepeatBody, finished: Action) -> Any:
    """Return the payload of the body; None for that of the finished action."""
    if "payload" not in body.model_fields_set:
        return None
    return call.app.runtime.payloads.parse(finished.kind, json.dumps(body.payload))


def _bulk(call: AdminCall, result: BulkResult, *, dry_run: bool) -> Document:
    if not dry_run:
        names = ("changed", "skipped", "next_cursor")
        return {name: getattr(result, name) for name in names}
    documents = Documents(call.app, call.caller)
    sample = [documents.action(action) for action in result.sample]
    return {"count": result.count, "capped": result.capped, "sample": sample}
