"""The page about queues: what waits in each, and its pause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import Response

from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.snapshots import live_every
from duetime.model.health.queues import Queue
from duetime.model.tenant import Scope

if TYPE_CHECKING:
    from duetime.app import Duetime

QUEUES_PAGE = PageTable()

QUEUES_PATH = "/queues"

# About how many unfinished actions pages count.
MOST_COUNTED = 10_000
LIVE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class QueuesView:
    """The queues, and whether the reader may pause them."""

    queues: list[Queue]
    manages: bool


@QUEUES_PAGE.live("queues", "queues.read", "queues_live.html", "/queues")
async def queues_view(page: FramedPage) -> QueuesView:
    return QueuesView(await page.read(read_queues), page.allows("queues.manage"))


@live_every(LIVE_SECONDS)
async def read_queues(app: Duetime, scope: Scope) -> list[Queue]:
    """Queues are of all tenants, as is the permission to see them."""
    return await app.queues.list(most=MOST_COUNTED)


@QUEUES_PAGE.show(QUEUES_PATH, "queues.read", place="queues")
async def show_queues(page: ThisPage) -> Response:
    """The queues; in a dialog, what to say when one is paused."""
    return page.render("queues.html", view=await queues_view(page))


@QUEUES_PAGE.act("/queues/pause", "queues.manage", on=show_queues)
async def pause_queue(page: ThisPage) -> Response:
    """Start nothing more of a queue, until an instant or until it is resumed."""
    name = page.required("queue")
    await page.app.queues.pause(name, by=page.by, note=page.note, until=page.instant("until"))
    return page.done(QUEUES_PATH, "done_pause_queue", name=name)


@QUEUES_PAGE.act("/queues/resume", "queues.manage", on=show_queues)
async def resume_queue(page: ThisPage) -> Response:
    """Let workers claim from a queue again."""
    name = page.required("queue")
    resumed = await page.app.queues.resume(name, by=page.by, note=page.note)
    return page.done(QUEUES_PATH, "done_resume_queue" if resumed else "not_paused_queue", name=name)
