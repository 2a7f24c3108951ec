"""The start page: how late work is, what waits, runs and fails, and what needs attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from markupsafe import Markup
from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.pages.charts.outcome_bars import OutcomeCounts, outcome_bars
from duetime.admin.pages.charts.sparkline import sparkline
from duetime.admin.pages.figures import (
    GroupFigures,
    RecentFigures,
    Span,
    read_failed_since,
    read_group_figures,
    read_recent_figures,
)
from duetime.admin.pages.next_due import NextDue, soonest
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.problems import add_problem_acts, lead_of, read_stats, seen_problems
from duetime.admin.pages.queues import read_queues
from duetime.admin.pages.workers import slots_chart
from duetime.model.health.checks import Level
from duetime.model.health.problems import Problem, overdue_level
from duetime.model.health.queues import Queue
from duetime.model.health.stats import Stats
from duetime.words.habits import NO_NUMBER

NOW_PAGE = PageTable()

NOW_PATH = "/"
ACTS_PATH = "/now"


class NowQuery(BaseModel):
    """The time of which figures are shown, up to now."""

    span: Literal["hour", "day"] = "hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class NowView:
    """What the reader may know of now; None and empty where they may not."""

    span: Span
    stats: Stats
    problems: list[Problem]
    leads: list[str | None]
    figures: RecentFigures
    failed_today: int
    midnight: datetime
    kinds: Sequence[GroupFigures]
    queues: Sequence[GroupFigures]
    queue_counts: dict[str, Queue]
    next_due: list[NextDue]
    lateness_chart: Markup
    outcomes_chart: Markup
    slots_chart: Markup | None
    acts: str = ACTS_PATH

    @property
    def overdue_tone(self) -> str:
        """The tone of the card about overdue work."""
        level = overdue_level(self.stats.oldest_overdue or 0.0)
        return {Level.warning: "late", Level.failure: "bad"}.get(level, "")


@NOW_PAGE.live("now", "stats.read", "now_live.html", "/")
async def now_view(page: FramedPage) -> NowView:
    span: Span = page.query(NowQuery).span
    stats, problems = await page.read(read_stats), await seen_problems(page)
    figures = await page.read(read_recent_figures, span)
    midnight = _midnight(page)
    reads_actions = page.allows("actions.read")
    return NowView(
        span=span,
        stats=stats,
        problems=problems,
        leads=[lead_of(page, problem) for problem in problems],
        figures=figures,
        failed_today=await page.read(read_failed_since, midnight),
        midnight=midnight,
        kinds=await page.read(read_group_figures, "kind", span) if reads_actions else (),
        queues=await page.read(read_group_figures, "queue", span) if reads_actions else (),
        queue_counts=await _queue_counts(page),
        next_due=await soonest(page),
        lateness_chart=_lateness_chart(page, figures),
        outcomes_chart=_outcomes_chart(page, figures.outcomes),
        slots_chart=slots_chart(page, stats.workers) if page.allows("workers.read") else None,
    )


@NOW_PAGE.show(NOW_PATH, "stats.read", place="now")
async def show_now(page: ThisPage) -> Response:
    """How things are now; in a dialog, what to say when a failing job is paused."""
    return page.render("now.html", view=await now_view(page))


add_problem_acts(NOW_PAGE, NOW_PATH, ACTS_PATH, show_now)


def _midnight(page: FramedPage) -> datetime:
    """Return when this day began for the reader."""
    local = page.now.astimezone(page.zone.zone)
    return local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


async def _queue_counts(page: FramedPage) -> dict[str, Queue]:
    if not page.allows("queues.read"):
        return {}
    return {queue.name: queue for queue in await page.read(read_queues)}


def _lateness_chart(page: FramedPage, figures: RecentFigures) -> Markup:
    p99 = figures.lateness_p99
    value = NO_NUMBER if p99 is None else page.duration(p99)
    return sparkline(figures.lateness_line, page.text("now_lateness_chart", value=value))


def _outcomes_chart(page: FramedPage, outcomes: Sequence[OutcomeCounts]) -> Markup:
    return outcome_bars(outcomes, page.text("now_outcomes"), page.zone.zone, page.language)
