"""The page about one job: when it ticks, how its runs ended, and what may be done with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from markupsafe import Markup
from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.call import to_json_bytes
from duetime.admin.documents import Document, Documents
from duetime.admin.pages.charts.outcome_strip import outcome_strip
from duetime.admin.pages.charts.sparkline import sparkline
from duetime.admin.pages.formats.json_text import pretty_json
from duetime.admin.pages.job_backfill import planned_backfill
from duetime.admin.pages.job_edit import (
    RuleEdit,
    ShownRule,
    can_edit,
    changed_since,
    kept_arguments,
    rule_edit,
    shown_rule,
    to_rule_of,
)
from duetime.admin.pages.job_outcomes import ended
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.errors import InvalidArgument, JobNameTaken
from duetime.model.jobs.occurrence import Occurrence
from duetime.model.jobs.view import Job

JOB_PAGE = PageTable()

JOB_PATH = "/jobs/{name}"
MAX_RUNS_SHOWN = 30
MAX_ENTRIES_SHOWN = 20
VERSION = re.compile(r"[1-9][0-9]{0,8}")


class OccurrencesPage(BaseModel):
    """Which occurrences are shown: the newest, or those before one."""

    before: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOccurrence:
    """An occurrence with its error as far as the reader may see it."""

    run: Occurrence
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPageView:
    """A job as far as the reader may see it. `document` is what the API shows of it."""

    job: Job
    document: Document
    rule: ShownRule | None
    runs: Sequence[ShownOccurrence]
    older: UUID | None
    outcomes: Markup
    durations: Markup
    edits: bool


@JOB_PAGE.live("job", "jobs.read", "job_live.html", JOB_PATH, every=2.0)
async def job_view(page: FramedPage) -> JobPageView:
    """The job, as far as this reader may see it."""
    job = await page.app.jobs.get(page.argument("name"), tenant=page.scope)
    before = page.query(OccurrencesPage).before
    runs = await page.app.jobs.runs(
        job.name, limit=MAX_RUNS_SHOWN, before=before, tenant=page.scope
    )
    documents = Documents(page.app, page.caller)
    rule = shown_rule(page, job)
    return JobPageView(
        job=job,
        document=documents.job(job),
        rule=rule,
        runs=[
            ShownOccurrence(run=run, error=documents.occurrence(run, job.kind)["error"])
            for run in runs
        ],
        older=runs[-1].action_id if len(runs) == MAX_RUNS_SHOWN else None,
        outcomes=_outcomes_chart(page, runs),
        durations=_durations_chart(page, runs),
        edits=rule is not None and can_edit(page, job),
    )


@JOB_PAGE.show(JOB_PATH, "jobs.read")
async def show_job(page: ThisPage) -> Response:
    """One job; in a dialog, an act on it and what it would do."""
    view = await job_view(page)
    may_backfill = page.allows("jobs.backfill")
    return page.render(
        "job.html",
        view=view,
        payload=_payload(page, view.document),
        edit=_edit(page, view),
        changed=changed_since(page, view.job) if _is_stale(page) else [],
        plan=await planned_backfill(page, view.job.name) if may_backfill else None,
        entries=await _entries(page, view.job),
    )


@JOB_PAGE.act("/jobs/{name}/pause", "jobs.pause", on=show_job)
async def pause_job(page: ThisPage) -> Response:
    """Stop the ticks of a job, until an instant or until it is resumed."""
    job = await page.app.jobs.pause(
        page.argument("name"),
        by=page.by,
        note=page.note,
        until=page.instant("until"),
        tenant=page.scope,
    )
    return page.done(f"/jobs/{job.name}", "done_pause_job")


@JOB_PAGE.act("/jobs/{name}/resume", "jobs.pause", on=show_job)
async def resume_job(page: ThisPage) -> Response:
    """Let a job tick again, from now on."""
    job = await page.app.jobs.resume(
        page.argument("name"), by=page.by, note=page.note, tenant=page.scope
    )
    return page.done(f"/jobs/{job.name}", "done_resume_job")


@JOB_PAGE.act("/jobs/{name}/trigger", "jobs.trigger", on=show_job)
async def trigger_job(page: ThisPage) -> Response:
    """Run a job once now, and show that run to those who may see it."""
    name = page.argument("name")
    action = await page.app.jobs.trigger(name, by=page.by, note=page.note, tenant=page.scope)
    if page.can_open("actions"):
        return page.done_at(f"/actions/{action.id}", "done_trigger_job", name=name)
    return page.done(f"/jobs/{name}", "done_trigger_job", name=name)


@JOB_PAGE.act("/jobs/{name}/backfill", "jobs.backfill", on=show_job)
async def backfill_job(page: ThisPage) -> Response:
    """Make occurrences of the past ticks that the dry run found."""
    name = page.argument("name")
    start, end = page.instant("start"), page.instant("end")
    if start is None or end is None:
        raise InvalidArgument("start", None, page.text("backfill_missing"))
    ticks = await page.app.jobs.backfill(
        name, start, end, dry_run=False, by=page.by, note=page.note, tenant=page.scope
    )
    return page.done(f"/jobs/{name}", "done_backfill_job", n=len(ticks))


@JOB_PAGE.act("/jobs/{name}/edit", "jobs.edit", on=show_job)
async def edit_job(page: ThisPage) -> Response:
    """Give a job another rule, if it still is as the reader saw it."""
    job = await page.app.jobs.get(page.argument("name"), tenant=page.scope)
    if job.declared:
        raise JobNameTaken(job.name, "declared in code")
    rule = to_rule_of(job, page.required("rule"), page.required("rule_zone"))
    await page.app.jobs.put(
        job.name,
        rule,
        **kept_arguments(job),
        by=page.by,
        note=page.note,
        version=_version(page),
    )
    return page.done(f"/jobs/{job.name}", "done_edit_job")


# -- steps ----------------------------------------------------------------------------------------


def _outcomes_chart(page: FramedPage, runs: Sequence[Occurrence]) -> Markup:
    path = (lambda action: page.link(f"/actions/{action}")) if page.can_open("actions") else None
    label = page.text("job_last_runs")
    return outcome_strip(ended(runs, path), label, page.zone.zone, page.language)


def _durations_chart(page: FramedPage, runs: Sequence[Occurrence]) -> Markup:
    took = [run.duration.total_seconds() for run in reversed(runs) if run.duration is not None]
    label = page.text("job_durations_none")
    if took:
        last, longest = page.duration(took[-1]), page.duration(max(took))
        label = page.text("job_durations_said", last=last, longest=longest)
    return sparkline(took, label)


def _edit(page: FramedPage, view: JobPageView) -> RuleEdit | None:
    wanted = page.dialog == "edit" and view.edits and view.rule is not None
    return rule_edit(page, view.job, view.rule) if wanted and view.rule is not None else None


def _is_stale(page: FramedPage) -> bool:
    return page.problem is not None and page.problem.status == 412


def _version(page: FramedPage) -> int:
    """Return the version of the job that the reader saw. None of them is 0: such an edit would
    make a job."""
    text = page.required("version")
    if not VERSION.fullmatch(text):
        raise InvalidArgument("version", text, page.text("form_is_stale"))
    return int(text)


def _payload(page: FramedPage, document: Document) -> str | None:
    if document.get("payload") is None:
        return None
    return pretty_json(to_json_bytes(document["payload"]).decode(), page.language)


async def _entries(page: FramedPage, job: Job) -> list[Document]:
    """Return what was done with the job, newest first, to those who may read it."""
    if not page.allows("audit.read"):
        return []
    found = await page.app.audit.find(subject=job.name, limit=MAX_ENTRIES_SHOWN, tenant=page.scope)
    documents = Documents(page.app, page.caller)
    # A queue may have the name of a job.
    return [documents.entry(entry) for entry in found if entry.subject == "job"]
