"""The routes of queues and workers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Query
from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.arguments import (
    NO_NOTE,
    NO_PAUSE,
    CountQuery,
    NoteBody,
    PauseBody,
    QueueName,
    ScopeQuery,
)
from duetime.admin.call import Call, done_response, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import WorkerModel, model_of, shallow
from duetime.model.health.queues import PausedQueue, Queue

QUEUES = RouteTable()

QueueModel = model_of(Queue, "Queue", maybe=frozenset())
PausedQueueModel = model_of(PausedQueue, "PausedQueue", maybe=frozenset())


class QueuesDocument(BaseModel):
    """Every queue that has actions, is paused or is served, by name."""

    items: list[QueueModel]  # type: ignore[valid-type]


class ResumedDocument(BaseModel):
    """Whether the queue was paused."""

    resumed: bool


class WorkersDocument(BaseModel):
    """The living workers of all apps, by id."""

    items: list[WorkerModel]  # type: ignore[valid-type]


@QUEUES.read("/api/queues", "queues.read", Answer("The queues", QueuesDocument))
async def get_queues(call: Call, query: Annotated[CountQuery, Query()]) -> Response:
    """The queues, with what waits and runs in each."""
    queues = await call.app.queues.list(most=query.most)
    return json_response({"items": [shallow(queue) for queue in queues]})


@QUEUES.change(
    "POST",
    "/api/queues/{name:path}/pause",
    "queues.manage",
    {204: Answer("Paused"), 200: Answer("The pause, and who serves the queue", PausedQueueModel)},
    example={"note": "the bank is down", "until": "2130-01-31T09:00:00+01:00"},
)
async def pause_queue(
    call: Call,
    name: QueueName,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[PauseBody, Body()] = NO_PAUSE,
) -> Response:
    """Start nothing more of a queue until it is resumed, or until an instant."""
    paused = await call.app.queues.pause(name, by=call.by, note=body.note, until=body.until)
    return done_response(call, shallow(paused))


@QUEUES.change(
    "POST",
    "/api/queues/{name:path}/resume",
    "queues.manage",
    {204: Answer("Claimed from again"), 200: Answer("Whether it was paused", ResumedDocument)},
)
async def resume_queue(
    call: Call,
    name: QueueName,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[NoteBody, Body()] = NO_NOTE,
) -> Response:
    """Let workers claim from a queue again."""
    resumed = await call.app.queues.resume(name, by=call.by, note=body.note)
    return done_response(call, {"resumed": resumed})


@QUEUES.read("/api/workers", "workers.read", Answer("The workers", WorkersDocument))
async def get_workers(call: Call, query: Annotated[ScopeQuery, Query()]) -> Response:
    """The workers that were seen recently."""
    return json_response({"items": [shallow(worker) for worker in await call.app.workers.list()]})
