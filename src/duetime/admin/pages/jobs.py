"""The page about jobs: those that a filter matches, and pausing or resuming several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from starlette.responses import Response

from duetime.admin.documents import Documents
from duetime.admin.jobs_filter import JobsFilter
from duetime.admin.pages.charts.outcome_strip import StripOutcome, outcome_strip
from duetime.admin.pages.job_outcomes import MAX_ROW_OUTCOMES, read_last_outcomes
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.rule_preview import within_span
from duetime.errors import DuetimeError, InvalidArgument
from duetime.model.jobs.bulk import JobBulk
from duetime.model.jobs.view import Job, JobState
from duetime.model.recurrence.serialize import from_text

JOBS_PAGE = PageTable()

JOBS_PATH = "/jobs"
MAX_ROWS = 25
# Of the filter, those that the page has no field or choice for: they are shown as what is set.
FURTHER = ("enabled", "due_before")


class JobsQuery(JobsFilter):
    """What the address of the page asks for."""

    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """What a row says of a job: its rule in words, how its last runs ended, and its last error as
    far as the reader may see it."""

    job: Job
    words: str
    error: str | None
    last_runs: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsView:
    """A page of jobs, as far as the reader may see them."""

    rows: Sequence[JobRow]
    next_cursor: str | None
    filtered: bool


@JOBS_PAGE.live("jobs", "jobs.read", "jobs_live.html", JOBS_PATH, every=2.0)
async def jobs_view(page: FramedPage) -> JobsView:
    """The jobs, with their errors as far as this reader may see them."""
    given = page.query(JobsQuery).model_dump(exclude_unset=True)
    found = await page.app.jobs.list(**given, limit=MAX_ROWS, tenant=page.scope)
    outcomes = await page.read(read_last_outcomes, tuple(job.name for job in found))
    documents = Documents(page.app, page.caller)
    return JobsView(
        rows=[
            JobRow(
                job=job,
                words=_words(page, job),
                error=documents.job(job)["last_error"],
                last_runs=_strip(page, outcomes[job.name]),
            )
            for job in found
        ],
        next_cursor=found.next_cursor,
        filtered=bool(given.keys() - {"sort"}),
    )


@JOBS_PAGE.show(JOBS_PATH, "jobs.read", place="jobs")
async def show_jobs(page: ThisPage) -> Response:
    """The jobs, above them what they can be filtered by; in a dialog, an act on the chosen ones."""
    given = page.query(JobsQuery).model_dump(exclude_unset=True)
    return page.render(
        "jobs.html",
        view=await jobs_view(page),
        states=list(JobState),
        further={name: str(given[name]) for name in FURTHER if name in given},
        chosen=page.request.query_params.getlist("of"),
    )


# No job has the name `chosen`: names of jobs have two words.
@JOBS_PAGE.act("/jobs/chosen/pause", "jobs.pause", on=show_jobs)
async def pause_jobs(page: ThisPage) -> Response:
    """Stop the ticks of the chosen jobs, until an instant or until they are resumed."""
    done = await page.app.jobs.bulk(
        "pause",
        _chosen(page),
        by=page.by,
        note=page.note,
        until=page.instant("until"),
        tenant=page.scope,
    )
    return page.done(JOBS_PATH, "done_pause_jobs", **_counts(done))


@JOBS_PAGE.act("/jobs/chosen/resume", "jobs.pause", on=show_jobs)
async def resume_jobs(page: ThisPage) -> Response:
    """Let the chosen jobs tick again, from now on."""
    done = await page.app.jobs.bulk(
        "resume", _chosen(page), by=page.by, note=page.note, tenant=page.scope
    )
    return page.done(JOBS_PATH, "done_resume_jobs", **_counts(done))


# -- steps ----------------------------------------------------------------------------------------


def _words(page: FramedPage, job: Job) -> str:
    """Return when a job ticks, in words; the text of a rule that only other versions can read."""
    try:
        return within_span(from_text(job.recurrence, job.tz), job).describe(page.language)
    except DuetimeError:
        return job.recurrence


def _strip(page: FramedPage, outcomes: Sequence[StripOutcome]) -> Markup:
    label, room = page.text("job_last_runs"), MAX_ROW_OUTCOMES
    return outcome_strip(outcomes, label, page.zone.zone, page.language, focusable=False, room=room)


def _chosen(page: FramedPage) -> list[str]:
    names = list(page.form.get("job", ()))
    if not names:
        raise InvalidArgument("job", "", page.text("jobs_choose_first"))
    return names


def _counts(done: JobBulk) -> dict[str, str]:
    """Return how many were changed, were so already, and could not be."""
    return {
        "n": str(len(done.changed)),
        "same": str(len(done.unchanged)),
        "missing": str(len(done.not_found) + len(done.unreadable)),
    }
