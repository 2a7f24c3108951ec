"""The problems of now, as far as a reader may know of them, and the acts that solve them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import Response

from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable, ShowPage
from duetime.admin.pages.queues import MOST_COUNTED, read_queues
from duetime.admin.pages.snapshots import kept_for, live_every
from duetime.model.health.diagnosis import Diagnosis
from duetime.model.health.problems import (
    FailingJob,
    Problem,
    ProblemFacts,
    ProblemName,
    problems_of,
)
from duetime.model.health.stats import Stats
from duetime.model.tenant import Scope

if TYPE_CHECKING:
    from duetime.app import Duetime

# A diagnosis asks much of a database, and changes slowly.
DIAGNOSIS_SECONDS = 60.0
STATS_SECONDS = 2.0
# More failing jobs than this are shown without their figures.
MAX_FAILING = 100

# What is about the machines of all tenants, for those who may see these.
ABOUT_WORKERS: frozenset[ProblemName] = frozenset(
    {
        "no_worker",
        "worker_stalled",
        "worker_reports",
        "wakes_refused",
        "snapshot_held",
        "disk_full",
        "clock_differs",
    }
)


class Lead(NamedTuple):
    """Where to look at a problem: for whom, at which page, and with which parameters of it; the
    subject stands for `{}`."""

    needs: str
    path: str
    query: Mapping[str, str]


LEADS: Mapping[ProblemName, Lead] = {
    "worker_stalled": Lead("workers.read", "/workers", {}),
    "worker_reports": Lead("workers.read", "/workers", {}),
    "wakes_refused": Lead("workers.read", "/workers", {}),
    "overdue": Lead("actions.read", "/actions", {"overdue": "true"}),
    "leases_expired": Lead("actions.read", "/actions", {"state": "running"}),
    "ticks_overdue": Lead("jobs.read", "/jobs", {"sort": "next_due_at"}),
    "job_failing": Lead("jobs.read", "/jobs/{}", {}),
    "job_unreadable": Lead("jobs.read", "/jobs", {}),
    "kind_unknown": Lead("actions.read", "/actions", {"kind": "{}", "parked": "true"}),
    "version_unknown": Lead("actions.read", "/actions", {"kind": "{}", "parked": "true"}),
    "queue_paused": Lead("queues.read", "/queues", {}),
}


async def seen_problems(page: FramedPage) -> list[Problem]:
    """Return the problems that the reader may know of."""
    stats = await page.read(read_stats)
    see_queues = stats.paused_queues and page.allows("queues.read")
    see_jobs = stats.jobs.failing and page.allows("jobs.read")
    see_workers = page.allows("workers.read")
    facts = ProblemFacts(
        stats=stats,
        sweep=page.app.settings.sweep,
        queues=await page.read(read_queues) if see_queues else (),
        failing=await page.read(read_failing) if see_jobs else (),
        diagnosis=await page.read(read_diagnosis) if see_workers else Diagnosis(),
    )
    found = problems_of(facts)
    return [problem for problem in found if see_workers or problem.name not in ABOUT_WORKERS]


@live_every(STATS_SECONDS)
async def read_stats(app: Duetime, scope: Scope) -> Stats:
    return await app.stats(tenant=scope, most=MOST_COUNTED)


@live_every(STATS_SECONDS)
async def read_failing(app: Duetime, scope: Scope) -> list[FailingJob]:
    """Read the jobs that fail, without what they were given and what they said."""
    jobs = await app.jobs.list(failing=True, limit=MAX_FAILING, tenant=scope)
    return [FailingJob(job.name, job.consecutive_failures, job.last_finished_at) for job in jobs]


@kept_for(DIAGNOSIS_SECONDS)
async def read_diagnosis(app: Duetime, scope: Scope) -> Diagnosis:
    """Databases are of all tenants, as is the permission to see workers."""
    return await asyncio.to_thread(app.store.diagnose)


def lead_of(page: FramedPage, problem: Problem) -> str | None:
    """Return the address of the page that shows what a problem is about, if the reader may."""
    lead = LEADS.get(problem.name)
    if lead is None or not page.can_open(lead.path.split("/")[1]):
        return None
    query = {name: value.replace("{}", problem.subject) for name, value in lead.query.items()}
    return page.link(lead.path.replace("{}", problem.subject), **query)


def add_problem_acts(table: PageTable, path: str, acts: str, show: ShowPage) -> None:
    """Declare the acts of the problems that a page lists; they lead back to its path."""

    @table.act(f"{acts}/resume-queue", "queues.manage", on=show)
    async def resume_paused_queue(page: ThisPage) -> Response:
        """Let workers claim from a queue again."""
        name = page.required("queue")
        resumed = await page.app.queues.resume(name, by=page.by, note=page.note)
        return page.done(path, "done_resume_queue" if resumed else "not_paused_queue", name=name)

    @table.act(f"{acts}/pause-job", "jobs.pause", on=show)
    async def pause_failing_job(page: ThisPage) -> Response:
        """Stop the ticks of a job, until an instant or until it is resumed."""
        name = page.required("job")
        await page.app.jobs.pause(
            name, by=page.by, note=page.note, until=page.instant("until"), tenant=page.scope
        )
        return page.done(path, "done_pause_failing_job", name=name)
