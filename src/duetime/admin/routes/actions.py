"""The routes of actions."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from duetime.admin.action_filter import FindActions
from duetime.admin.arguments import (
    NO_NOTE,
    Duration,
    Id,
    Instant,
    Note,
    NoteBody,
    NoteQuery,
    RequestModel,
    ScopeQuery,
)
from duetime.admin.call import AdminCall, Call, done_response, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import (
    ActionModel,
    ActionPage,
    Documents,
    RunModel,
    ScheduledModel,
    model_of,
    page,
    shallow,
)
from duetime.admin.idempotency import NewAnswer, act_once
from duetime.admin.problems import InvalidItem
from duetime.api.requests import Request
from duetime.errors import InvalidPayload, UnknownKind, WaitTimeout
from duetime.model.actions.action import Action
from duetime.model.reason import Reason

ACTIONS = RouteTable()

MAX_WAIT_SECONDS = 30
MAX_MANY = 1000

Priority = Literal["low", "normal", "high", "critical"]
IfExists = Literal["return", "replace", "raise"]
On = Literal["succeeded", "failed", "finished"]


ReasonModel = model_of(Reason, "Reason", maybe=frozenset())


class NewActionBody(RequestModel):
    """An action to schedule: at an instant, after a delay, or now."""

    kind: str
    payload: Any
    at: Instant | None = None
    delay: Duration | None = None
    correlation_id: str | None = None
    key: str | None = None
    priority: Priority = "normal"
    queue: str | None = None
    after: UUID | None = None
    on: On | None = None
    expires: Instant | None = None


class ScheduleBody(NewActionBody):
    if_exists: IfExists = "return"
    note: Note = None


class ScheduleManyBody(RequestModel):
    """Actions to schedule, all or none."""

    actions: Annotated[list[NewActionBody], Field(max_length=MAX_MANY)]
    if_exists: IfExists = "return"
    note: Note = None


class RescheduleBody(RequestModel):
    """The new time of an action."""

    at: Instant | None = None
    delay: Duration | None = None
    note: Note = None


class RunsQuery(ScopeQuery):
    limit: Annotated[int, Field(ge=1, le=200)] = 200
    before: Annotated[UUID | None, Field(description="the first run of the page before")] = None


class CancelQuery(NoteQuery):
    running: bool = False


class WaitQuery(ScopeQuery):
    wait: Annotated[
        float | None,
        Field(ge=0, le=MAX_WAIT_SECONDS, description="answer when it has finished, or after this"),
    ] = None


SCHEDULE_EXAMPLE = {
    "kind": "send-reminder",
    "payload": {"order": 42},
    "delay": 3600,
    "correlation_id": "order-42",
}


class RunsDocument(BaseModel):
    """The runs of an action, oldest first."""

    items: list[RunModel]  # type: ignore[valid-type]


class ReasonsDocument(BaseModel):
    """What keeps an action from running; the first reason is the one to look at."""

    reasons: list[ReasonModel]  # type: ignore[valid-type]


class ManyDocument(BaseModel):
    """Actions in the order in which they were asked for."""

    items: list[ScheduledModel]  # type: ignore[valid-type]


# -- reading --------------------------------------------------------------------------------------


@ACTIONS.read("/api/actions", "actions.read", Answer("A page of actions", ActionPage))
async def find_actions(call: Call, query: Annotated[FindActions, Query()]) -> Response:
    """Actions that match, newest first, a page at a time."""
    found = await call.app.find(**query.given(), tenant=call.scope)
    documents = Documents(call.app, call.caller)
    return json_response(page([documents.action(item) for item in found], found.next_cursor))


@ACTIONS.read(
    "/api/actions/{id}",
    "actions.read",
    Answer("The action", ActionModel),
    subject="action",
    limit=None,
)
async def get_action(call: Call, id: Id, query: Annotated[WaitQuery, Query()]) -> Response:
    """One action. With `wait`, the answer comes once it has finished, or after that many
    seconds."""
    if query.wait:
        with suppress(WaitTimeout):
            await call.app.wait(call.action_id, timeout=query.wait, tenant=call.scope)
    return _action(call, await call.app.get(call.action_id, tenant=call.scope))


@ACTIONS.read(
    "/api/actions/{id}/runs",
    "actions.read",
    Answer("The runs, oldest first", RunsDocument),
    subject="action",
)
async def get_runs(call: Call, id: Id, query: Annotated[RunsQuery, Query()]) -> Response:
    """Every run of an action, oldest first."""
    action = await call.app.get(call.action_id, tenant=call.scope)
    runs = await call.app.runs(action.id, limit=query.limit, before=query.before, tenant=call.scope)
    documents = Documents(call.app, call.caller)
    return json_response({"items": [documents.run(run, action.kind) for run in runs]})


@ACTIONS.read(
    "/api/actions/{id}/why",
    "actions.read",
    Answer("What stands in its way", ReasonsDocument),
    subject="action",
)
async def get_reasons(call: Call, id: Id, query: Annotated[ScopeQuery, Query()]) -> Response:
    """Why an action does not run, and what to do about it."""
    reasons = await call.app.why(call.action_id, tenant=call.scope)
    documents = Documents(call.app, call.caller)
    return json_response({"reasons": [shallow(documents.reason(reason)) for reason in reasons]})


# -- changing -------------------------------------------------------------------------------------


@ACTIONS.change(
    "POST",
    "/api/actions",
    "actions.schedule",
    {
        201: Answer("The new action", ScheduledModel),
        200: Answer("The unfinished action that holds the key", ScheduledModel),
    },
    problems=(404, 409),
    creates=True,
    example=SCHEDULE_EXAMPLE,
)
async def schedule_action(
    call: Call, body: Annotated[ScheduleBody, Body()], query: Annotated[ScopeQuery, Query()]
) -> Response:
    """Schedule an action."""
    operation = call.verbs.actions.schedule(
        payload_of(call, body),
        **_when_and_how(body),
        if_exists=body.if_exists,
        tenant=call.tenant,
        by=call.by,
        note=body.note,
    )
    return await act_once(call, operation, lambda action: _created(call, action))


@ACTIONS.change(
    "POST",
    "/api/actions/many",
    "actions.schedule",
    {201: Answer("The actions, in the order given", ManyDocument)},
    problems=(404, 409),
    creates=True,
    example={"actions": [SCHEDULE_EXAMPLE]},
)
async def schedule_many_actions(
    call: Call, body: Annotated[ScheduleManyBody, Body()], query: Annotated[ScopeQuery, Query()]
) -> Response:
    """Schedule up to 1,000 actions, all or none."""
    requests = [_request(call, index, item) for index, item in enumerate(body.actions)]
    operation = call.verbs.actions.schedule_many(requests, if_exists=body.if_exists, note=body.note)
    documents = Documents(call.app, call.caller)

    def answer(actions: list[Action]) -> NewAnswer:
        items = [documents.action(action, created=action.created) for action in actions]
        return NewAnswer({"items": items}, 201)

    return await act_once(call, operation, answer)


@ACTIONS.change(
    "DELETE",
    "/api/actions/{id}",
    "actions.cancel",
    {204: Answer("Cancelled, or asked to stop"), 200: Answer("The action", ActionModel)},
    problems=(404, 409),
    subject="action",
)
async def cancel_action(call: Call, id: Id, query: Annotated[CancelQuery, Query()]) -> Response:
    """Cancel a scheduled action; with `running`, ask a running one to stop."""
    action = await call.app.cancel(
        call.action_id, running=query.running, tenant=call.scope, by=call.by, note=query.note
    )
    return done_response(call, Documents(call.app, call.caller).action(action))


@ACTIONS.change(
    "PUT",
    "/api/actions/{id}/reschedule",
    "actions.reschedule",
    {200: Answer("The action at its new time", ActionModel)},
    problems=(404, 409),
    subject="action",
    example={"at": "2030-01-31T09:00:00+01:00", "note": "the shop is closed before"},
)
async def reschedule_action(
    call: Call,
    id: Id,
    body: Annotated[RescheduleBody, Body()],
    query: Annotated[ScopeQuery, Query()],
) -> Response:
    """Move a scheduled action to another time."""
    action = await call.app.reschedule(
        call.action_id,
        at=body.at,
        delay=body.delay,
        tenant=call.scope,
        by=call.by,
        note=body.note,
    )
    return _action(call, action)


@ACTIONS.change(
    "POST",
    "/api/actions/{id}/retry",
    "actions.retry",
    {202: Answer("The action, scheduled again", ActionModel)},
    problems=(404, 409),
    subject="action",
    example={"note": "the bank is back"},
)
async def retry_action(
    call: Call,
    id: Id,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[NoteBody, Body()] = NO_NOTE,
) -> Response:
    """Schedule a failed action again, due now."""
    action = await call.app.retry(call.action_id, tenant=call.scope, by=call.by, note=body.note)
    return _action(call, action, 202)


# -- shared steps ---------------------------------------------------------------------------------


def payload_of(call: AdminCall, body: NewActionBody) -> Any:
    """Return the typed payload of the body."""
    return call.app.runtime.payloads.parse(body.kind, json.dumps(body.payload))


def _request(call: AdminCall, index: int, body: NewActionBody) -> Request:
    try:
        payload = payload_of(call, body)
    except (InvalidPayload, UnknownKind) as error:
        raise InvalidItem(f"/actions/{index}", error) from error
    return Request(payload, **_when_and_how(body), tenant=call.tenant, by=call.by)


def _when_and_how(body: NewActionBody) -> dict[str, Any]:
    return {
        name: getattr(body, name)
        for name in NewActionBody.model_fields
        if name not in ("kind", "payload")
    }


def _action(call: AdminCall, action: Action, status: int = 200) -> Response:
    return json_response(Documents(call.app, call.caller).action(action), status)


def _created(call: AdminCall, action: Action) -> NewAnswer:
    document = Documents(call.app, call.caller).action(action, created=action.created)
    location = call.path_to(f"/api/actions/{action.id}")
    return NewAnswer(document, 201 if action.created else 200, location)
