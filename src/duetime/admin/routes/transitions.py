"""The routes of row transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from duetime.admin.arguments import NO_NOTE, Note, NoteBody, RequestModel, ScopeQuery
from duetime.admin.call import Call, json_response
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import Document, model_of, page, page_of, shallow
from duetime.api.arguments import to_act
from duetime.model.transition import UNSET, ParkedRow, Pending, Report, TransitionView

if TYPE_CHECKING:
    from duetime.app import Duetime

TRANSITIONS = RouteTable()

NOTHING: frozenset[str] = frozenset()
TransitionModel = model_of(TransitionView, "Transition", maybe=frozenset({"from_", "to"}))
PendingModel = model_of(Pending, "Pending", maybe=NOTHING)
ReportModel = model_of(Report, "Report", maybe=NOTHING)


ParkedRowModel = model_of(ParkedRow, "ParkedRow", maybe=NOTHING)
ParkedPage = page_of(ParkedRowModel)


class FindParked(ScopeQuery):
    model: str | None = None
    column: str | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: str | None = None


class RetryRowsBody(RequestModel):
    """Which parked rows to try again."""

    model: str | None = None
    column: str | None = None
    ids: list[Any] | None = None
    note: Note = None


NO_ROWS = RetryRowsBody()


class RetriedDocument(BaseModel):
    """How many rows are tried again."""

    count: int


class TransitionsDocument(BaseModel):
    """Every transition that this process declares."""

    items: list[TransitionModel]  # type: ignore[valid-type]


class PendingDocument(BaseModel):
    """The backlog of each transition."""

    items: list[PendingModel]  # type: ignore[valid-type]


@TRANSITIONS.read(
    "/api/transitions", "transitions.read", Answer("The transitions", TransitionsDocument)
)
async def get_transitions(call: Call, query: Annotated[ScopeQuery, Query()]) -> Response:
    """The transitions that this process declares."""
    views = call.app.transitions.list() if has_transitions(call.app) else []
    return json_response({"items": [_transition(view) for view in views]})


@TRANSITIONS.read(
    "/api/transitions/pending", "transitions.read", Answer("The backlog", PendingDocument)
)
async def get_pending(call: Call, query: Annotated[ScopeQuery, Query()]) -> Response:
    """How many rows of each transition are due, and when the next one is."""
    pending = await call.app.transitions.pending() if has_transitions(call.app) else []
    return json_response({"items": [shallow(item) for item in pending]})


@TRANSITIONS.read(
    "/api/transitions/parked", "transitions.read", Answer("A page of rows", ParkedPage)
)
async def find_parked_rows(call: Call, query: Annotated[FindParked, Query()]) -> Response:
    """Rows that failed for good, and still have the time at which they did."""
    if not has_transitions(call.app):
        return json_response(page([], None))
    found = await call.app.transitions.parked(
        query.model, query.column, limit=query.limit, cursor=query.cursor
    )
    return json_response(page([_parked(row) for row in found], found.next_cursor))


@TRANSITIONS.change(
    "POST",
    "/api/transitions/parked/retry",
    "transitions.manage",
    {202: Answer("How many rows are tried again", RetriedDocument)},
    example={"model": "Order", "note": "the disk is back"},
)
async def retry_parked_rows(
    call: Call,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[RetryRowsBody, Body()] = NO_ROWS,
) -> Response:
    """Let parked rows be tried again at once: all of them, those of a model or a column, or those
    of the given primary keys."""
    count, act = 0, to_act(call.by, body.note)
    if has_transitions(call.app):
        count = await call.app.transitions.retry(
            body.model, body.column, ids=body.ids, by=act.by, note=act.note
        )
    return json_response({"count": count}, 202)


@TRANSITIONS.change(
    "POST", "/api/transitions/sweep", "transitions.manage", {202: Answer("Its report", ReportModel)}
)
async def sweep_transitions(
    call: Call,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[NoteBody, Body()] = NO_NOTE,
) -> Response:
    """Apply one batch of due rows of each transition now."""
    report, act = Report(), to_act(call.by, body.note)
    if has_transitions(call.app):
        report = await call.app.transitions.sweep(by=act.by, note=act.note)
    return json_response(shallow(report), 202)


def has_transitions(app: Duetime) -> bool:
    """Whether the app has any: asking for them would import SQLAlchemy."""
    return "transitions" in vars(app)


def _transition(view: TransitionView) -> Document:
    document: dict[str, Any] = shallow(view)
    for name in ("from_", "to"):
        if document[name] is UNSET:
            del document[name]
        else:
            document[name] = _plain(document[name])
    return document


def _plain(value: object) -> object:
    """A value of a column: as JSON has it, or as text."""
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _parked(row: ParkedRow) -> Document:
    document = shallow(row)
    document["id"] = _key(row.id)
    return document


def _key(key: object) -> object:
    """The primary key of a row: a list if it has several columns."""
    return [_plain(part) for part in key] if isinstance(key, tuple) else _plain(key)
