"""The page about one action, and what may be done with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from markupsafe import Markup
from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.call import to_json_bytes
from duetime.admin.documents import Document, Documents
from duetime.admin.pages.action_row import ActionRow, row_of, rows_of
from duetime.admin.pages.actions import ACTIONS_PATH
from duetime.admin.pages.charts.attempts import AttemptSpan, attempts_chart
from duetime.admin.pages.charts.state_path import PathStep, state_path
from duetime.admin.pages.formats.json_text import pretty_json
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.errors import ActionNotFound
from duetime.model.actions.action import Action, Run
from duetime.model.reason import Reason
from duetime.model.state import Outcome, State
from duetime.model.trace import trace_id_of

ACTION_PAGE = PageTable()

MAX_RUNS_SHOWN = 50
MAX_CHILDREN_SHOWN = 20
MAX_ENTRIES_SHOWN = 20
MAX_ERROR_LENGTH = 2000
ENDS = {
    Outcome.succeeded: State.succeeded,
    Outcome.failed: State.failed,
    Outcome.cancelled: State.cancelled,
}


class RunsPage(BaseModel):
    """Which runs are shown: the newest, or those before one."""

    before: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A run with how long it waited and ran, and its error as far as the reader may see it."""

    run: Run
    ran: timedelta | None
    error: str | None
    traceback: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionView:
    """An action as far as the reader may see it. `document` is what the API shows of it."""

    row: ActionRow
    action: Action
    document: Document
    runs: Sequence[ShownRun]
    older: UUID | None
    reasons: Sequence[Reason]
    path: Markup
    attempts: Markup
    late_by: timedelta | None
    trace_id: str | None
    trace_link: str | None
    data: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relatives:
    """The action after which an action runs, if it is still there, and those that run after it."""

    parent: ActionRow | None
    children: Sequence[ActionRow]
    more: bool


@ACTION_PAGE.live("action", "actions.read", "action_live.html", "/actions/{id}")
async def action_view(page: FramedPage) -> ActionView:
    """The action, read for this reader alone: others may see less of it."""
    app, scope = page.app, page.scope
    action = await app.get(_id(page), tenant=scope)
    before = page.query(RunsPage).before
    runs = await app.runs(action.id, limit=MAX_RUNS_SHOWN, before=before, tenant=scope)
    reasons = [] if action.state.finished else await app.why(action.id, tenant=scope)
    documents = Documents(app, page.caller)
    document = documents.action(action)
    trace_id = trace_id_of(action.trace)
    return ActionView(
        row=row_of(action),
        action=action,
        document=document,
        runs=[_shown_run(run, documents.run(run, action.kind)) for run in reversed(runs)],
        older=runs[0].id if len(runs) == MAX_RUNS_SHOWN else None,
        reasons=[documents.reason(reason).in_language(page.language) for reason in reasons],
        path=_path_chart(page, action, runs),
        attempts=_attempts_chart(page, action, runs),
        late_by=runs[-1].late_by if runs and before is None else None,
        trace_id=trace_id,
        trace_link=_trace_link(page, trace_id),
        data=[*_data(page, document, ("result", "progress"))],
    )


def _trace_link(page: FramedPage, trace_id: str | None) -> str | None:
    address = page.site.trace_url
    if trace_id is None or address is None:
        return None
    return address.replace("{trace_id}", trace_id)


@ACTION_PAGE.show("/actions/{id}", "actions.read")
async def show_action(page: ThisPage) -> Response:
    """One action, what it holds, what it belongs to, and what was done with it."""
    view = await action_view(page)
    return page.render(
        "action.html",
        view=view,
        payload=[*_data(page, view.document, ("payload",))],
        relatives=await _relatives(page, view.action),
        entries=await _entries(page, view.action),
    )


@ACTION_PAGE.act("/actions/{id}/cancel", "actions.cancel", on=show_action)
async def cancel_action(page: ThisPage) -> Response:
    """Cancel an action. Where the page showed that it runs, its handler is asked to stop."""
    running = page.field("running") is not None
    await page.app.cancel(_id(page), running=running, by=page.by, note=page.note, tenant=page.scope)
    return page.done(_back(page), "done_stop_action" if running else "done_cancel_action")


@ACTION_PAGE.act("/actions/{id}/retry", "actions.retry", on=show_action)
async def retry_action(page: ThisPage) -> Response:
    """Schedule a failed action again, due now."""
    await page.app.retry(_id(page), by=page.by, note=page.note, tenant=page.scope)
    return page.done(_back(page), "done_retry_action")


@ACTION_PAGE.act("/actions/{id}/reschedule", "actions.reschedule", on=show_action)
async def reschedule_action(page: ThisPage) -> Response:
    """Move a scheduled action to another time."""
    at = page.instant("at")
    if at is None:
        raise page.invalid("at", "", "action_at_missing")
    await page.app.reschedule(_id(page), at=at, by=page.by, note=page.note, tenant=page.scope)
    return page.done(_back(page), "done_reschedule_action", at=page.exact(at))


@ACTION_PAGE.act("/actions/{id}/repeat", "actions.schedule", on=show_action)
async def repeat_action(page: ThisPage) -> Response:
    """Schedule a finished action anew, and show the new one."""
    finished = await page.app.get(_id(page), tenant=page.scope)
    text = (page.field("payload") or "").strip()
    payload = page.app.runtime.payloads.parse(finished.kind, text) if text else None
    new = await page.app.repeat(
        finished.id,
        at=page.instant("at"),
        payload=payload,
        by=page.by,
        note=page.note,
        tenant=page.scope,
    )
    return page.done_at(f"{ACTIONS_PATH}/{new.id}", "done_repeat_action")


# -- steps ----------------------------------------------------------------------------------------


def _id(page: FramedPage) -> UUID:
    """Return the id that the address names. What is no UUID is the id of nothing."""
    text: Any = page.argument("id")
    try:
        return UUID(text)
    except ValueError:
        raise ActionNotFound(text) from None


def _back(page: FramedPage) -> str:
    """Return where the reader came from: the list, or the page of the action."""
    return ACTIONS_PATH if page.field("back") == "list" else f"{ACTIONS_PATH}/{_id(page)}"


def _shown_run(run: Run, document: Document) -> ShownRun:
    ended, started = run.finished_at, run.started_at
    return ShownRun(
        run=run,
        ran=ended - started if ended is not None and started is not None else None,
        error=_cut(document["error"]),
        traceback=document.get("traceback"),
    )


def _cut(text: str | None) -> str | None:
    long = text is not None and len(text) > MAX_ERROR_LENGTH
    return f"{text[:MAX_ERROR_LENGTH]}…" if text is not None and long else text


def _data(page: FramedPage, document: Document, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of what an action holds, and its reader may see."""
    for name in names:
        if document.get(name) is not None:
            yield name, pretty_json(to_json_bytes(document[name]).decode(), page.language)


def _path_chart(page: FramedPage, action: Action, runs: Sequence[Run]) -> Markup:
    label = page.text("action_path")
    return state_path([*_steps(action, runs)], page.now, label, page.zone.zone, page.language)


def _steps(action: Action, runs: Sequence[Run]) -> Iterator[PathStep]:
    """Yield the states that the action was in, and what comes next."""
    yield PathStep(state=State.scheduled, at=action.created_at)
    for run in runs:
        if run.started_at is not None:
            yield PathStep(state=State.running, at=run.started_at)
        if run.outcome is not None:
            yield from _ended(run, action, is_last=run is runs[-1])
    if action.state is State.scheduled and action.due_at is not None:
        yield PathStep(state=State.running, at=action.due_at, expected=True)
    elif action.state.finished and (not runs or runs[-1].finished_at != action.finished_at):
        yield PathStep(state=action.state, at=action.finished_at)


def _ended(run: Run, action: Action, *, is_last: bool) -> Iterator[PathStep]:
    """Yield the state after a run; of one that was retried later by hand, the one before, too."""
    end = ENDS.get(run.outcome) if run.outcome is not None else None
    if end is not None:
        yield PathStep(state=end, at=run.finished_at)
    if end is None or not is_last or not action.state.finished:
        yield PathStep(state=State.scheduled, at=run.finished_at if end is None else None)


def _attempts_chart(page: FramedPage, action: Action, runs: Sequence[Run]) -> Markup:
    spans = [_span(run, action.created_at) for run in runs]
    if action.state is State.scheduled and action.due_at is not None:
        spans.append(AttemptSpan(number=action.attempt + 1, ready_at=action.due_at))
    label = page.text("action_attempts")
    return attempts_chart(spans, page.now, label, page.zone.zone, page.language)


def _span(run: Run, created_at: datetime) -> AttemptSpan:
    started, waited = run.started_at, run.late_by
    ready = created_at if started is None else started - max(waited or timedelta(), timedelta())
    return AttemptSpan(
        number=run.attempt,
        ready_at=ready,
        started_at=started,
        ended_at=run.finished_at,
        outcome=run.outcome,
    )


async def _relatives(page: FramedPage, action: Action) -> Relatives:
    children = await page.app.find(
        after=action.id, sort="created_at", limit=MAX_CHILDREN_SHOWN, tenant=page.scope
    )
    more = children.next_cursor is not None
    return Relatives(parent=await _parent(page, action), children=rows_of(children), more=more)


async def _parent(page: FramedPage, action: Action) -> ActionRow | None:
    if action.after is None:
        return None
    try:
        return row_of(await page.app.get(action.after, tenant=page.scope))
    except ActionNotFound:
        # Pruned after its retention, or of another tenant.
        return None


async def _entries(page: FramedPage, action: Action) -> list[Document]:
    """Return what was done with the action, newest first, to those who may read it."""
    if not page.allows("audit.read"):
        return []
    found = await page.app.audit.find(subject=action.id, limit=MAX_ENTRIES_SHOWN, tenant=page.scope)
    documents = Documents(page.app, page.caller)
    return [documents.entry(entry) for entry in found]
