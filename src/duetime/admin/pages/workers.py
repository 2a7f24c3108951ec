"""The page about workers: who is alive, how busy they are, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from markupsafe import Markup
from starlette.responses import Response

from duetime.admin.pages.charts.slots import slots_bar
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.model.health.problems import is_stalled
from duetime.model.health.stats import LivingWorker
from duetime.model.tenant import Scope

if TYPE_CHECKING:
    from duetime.app import Duetime

WORKERS_PAGE = PageTable()

# Of longer lists of kinds and queues, the others are folded away.
MAX_NAMED = 4


@dataclass(frozen=True, slots=True)
class ReadWorkers:
    """The living workers, and when they were read."""

    at: datetime
    workers: list[LivingWorker]


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker as the page shows it."""

    worker: LivingWorker
    stalled: bool


@dataclass(frozen=True, slots=True)
class WorkersView:
    """The workers, the stalled ones first, and how many slots they have together."""

    workers: list[WorkerRow]
    slots_chart: Markup
    most_named: int = MAX_NAMED

    @property
    def stalled(self) -> int:
        return sum(seen.stalled for seen in self.workers)

    @property
    def versions(self) -> list[str]:
        return sorted({seen.worker.version for seen in self.workers if seen.worker.version})


@WORKERS_PAGE.live("workers", "workers.read", "workers_live.html", "/workers")
async def workers_view(page: FramedPage) -> WorkersView:
    read = await page.read(read_workers)
    sweep = page.app.settings.sweep
    seen = [WorkerRow(worker, is_stalled(worker, read.at, sweep)) for worker in read.workers]
    together = slots_chart(page, read.workers)
    return WorkersView(sorted(seen, key=lambda worker: not worker.stalled), together)


async def read_workers(app: Duetime, scope: Scope) -> ReadWorkers:
    """Workers are of all tenants, as is the permission to see them."""
    workers = await app.workers.list()
    return ReadWorkers(app.runtime.clock.now(), workers)


@WORKERS_PAGE.show("/workers", "workers.read", place="workers")
async def show_workers(page: ThisPage) -> Response:
    """The workers that are alive."""
    return page.render("workers.html", view=await workers_view(page))


def slots_chart(page: FramedPage, workers: Iterable[LivingWorker]) -> Markup:
    """Return the slots of all workers together, as their last sweeps told."""
    known = list(workers)
    used = sum(worker.slots_used or 0 for worker in known)
    total = sum(worker.slots or worker.concurrency for worker in known)
    return slots_bar(used, total, page.text("workers_slots"), page.language)
