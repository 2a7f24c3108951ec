"""The page about row transitions: what each does, its backlog, the last report, parked rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.documents import Documents
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.routes.transitions import has_transitions
from duetime.errors import shown
from duetime.model.actions.action import Page
from duetime.model.kept_report import KeptReport
from duetime.model.tenant import Scope
from duetime.model.transition import (
    UNSET,
    Effect,
    ParkedRow,
    Pending,
    Report,
    Tally,
    TransitionView,
)

if TYPE_CHECKING:
    from duetime.app import Duetime

TRANSITIONS_PAGE = PageTable()

TRANSITIONS_PATH = "/transitions"
MAX_ERROR_LENGTH = 2000


class ParkedQuery(BaseModel):
    """Which parked rows are shown: those of a transition, or of all."""

    model: str | None = None
    column: str | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class DeclaredTransition:
    """A transition, and its backlog."""

    view: TransitionView
    pending: Pending


@dataclass(frozen=True, slots=True)
class LastSweep:
    """The figures of the last report, without its errors, which may quote data."""

    at: datetime
    worker: str
    tally: Tally
    truncated: bool


@dataclass(frozen=True, slots=True)
class ReadTransitions:
    """What all readers of the page share."""

    declared: Sequence[DeclaredTransition]
    last: LastSweep | None


@dataclass(frozen=True, slots=True)
class TransitionsView:
    """The transitions in the reader's words, and whether they may sweep and retry."""

    declared: Sequence[DeclaredTransition]
    words: Sequence[str]
    last: LastSweep | None
    manages: bool


@TRANSITIONS_PAGE.live("transitions", "transitions.read", "transitions_live.html", TRANSITIONS_PATH)
async def transitions_view(page: FramedPage) -> TransitionsView:
    read = await page.read(read_transitions)
    words = [", ".join(_words(page, item.view)) for item in read.declared]
    return TransitionsView(read.declared, words, read.last, page.allows("transitions.manage"))


async def read_transitions(app: Duetime, scope: Scope) -> ReadTransitions:
    """Rows are of all tenants, as is the permission to see their transitions."""
    if not has_transitions(app):
        return ReadTransitions((), None)
    pairs = zip(app.transitions.list(), await app.transitions.pending(), strict=True)
    kept = await app.transitions.last_report()
    return ReadTransitions([DeclaredTransition(*pair) for pair in pairs], _last_sweep(kept))


@TRANSITIONS_PAGE.show(TRANSITIONS_PATH, "transitions.read", place="transitions")
async def show_transitions(page: ThisPage) -> Response:
    """The transitions, the errors of the last report, and a page of the parked rows."""
    kept = None
    parked: Page[ParkedRow] = Page([])
    if has_transitions(page.app):
        kept = await page.app.transitions.last_report()
        parked = await _parked(page)
    return page.render(
        "transitions.html",
        view=await transitions_view(page),
        errors=() if kept is None else kept.report.errors,
        parked=parked,
        filtered=page.query(ParkedQuery).model is not None,
        seen_error=Documents(page.app, page.caller).error,
        max_error=MAX_ERROR_LENGTH,
    )


@TRANSITIONS_PAGE.act("/transitions/sweep", "transitions.manage", on=show_transitions)
async def sweep_now(page: ThisPage) -> Response:
    """Apply one batch of due rows of each transition now."""
    report = Report()
    if has_transitions(page.app):
        report = await page.app.transitions.sweep(by=page.by, note=page.note)
    figures = {name: page.whole(getattr(report, name)) for name in Tally.__slots__}
    return page.done(TRANSITIONS_PATH, "done_sweep", **figures)


@TRANSITIONS_PAGE.act("/transitions/retry", "transitions.manage", on=show_transitions)
async def retry_rows(page: ThisPage) -> Response:
    """Try parked rows of a transition again: all of them, or the one that the form names."""
    model, column = page.required("model"), page.required("column")
    count, row = 0, page.field("row")
    if has_transitions(page.app):
        ids = None if row is None else await _keys(page, model, column, row)
        if ids != []:
            count = await page.app.transitions.retry(
                model, column, ids=ids, by=page.by, note=page.note
            )
    return page.done(TRANSITIONS_PATH, "done_retry_rows", count=page.whole(count))


# -- steps ----------------------------------------------------------------------------------------


async def _parked(page: FramedPage) -> Page[ParkedRow]:
    """Return the parked rows that the address asks for."""
    query = page.query(ParkedQuery)
    return await page.app.transitions.parked(query.model, query.column, cursor=query.cursor)


async def _keys(page: FramedPage, model: str, column: str, row: str) -> list[object]:
    """Return the key of the row that the form names, as its database has it; none if the row is not
    on its page any more. A form has only its text."""
    return [
        found.id
        for found in await _parked(page)
        if (found.model, found.column, str(found.id)) == (model, column, row)
    ]


def _last_sweep(kept: KeptReport | None) -> LastSweep | None:
    if kept is None:
        return None
    report = kept.report
    tally = Tally(report.updated, report.deleted, report.skipped, report.failed)
    return LastSweep(kept.at, kept.worker, tally, report.truncated)


def _words(page: FramedPage, view: TransitionView) -> Iterator[str]:
    """Yield what a transition does, as `TransitionView.words` says it in English."""
    said = page.text(f"effect_{view.effect.value}", field=view.field, to=shown(view.to))
    if view.effect is Effect.set_field and view.from_ is not UNSET:
        said += f" {page.text('effect_if', value=shown(view.from_))}"
    yield said
    if view.action and view.effect is not Effect.action:
        yield page.text("effect_action")
    if view.clear:
        yield page.text("effect_clear")
