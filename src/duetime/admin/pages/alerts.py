"""The page about alerts: what needs somebody's attention now."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.problems import add_problem_acts, lead_of, seen_problems
from duetime.model.health.problems import Problem

ALERTS_PAGE = PageTable()

ALERTS_PATH = "/alerts"


@dataclass(frozen=True, slots=True)
class AlertsView:
    """The problems of now that the reader may know of, and where to look at each."""

    problems: list[Problem]
    leads: list[str | None]
    acts: str = ALERTS_PATH


@ALERTS_PAGE.live("alerts", "notifications.read", "alerts_live.html", "/alerts")
async def alerts_view(page: FramedPage) -> AlertsView:
    problems = await seen_problems(page)
    return AlertsView(problems, [lead_of(page, problem) for problem in problems])


@ALERTS_PAGE.show(ALERTS_PATH, "notifications.read", place="alerts")
async def show_alerts(page: ThisPage) -> Response:
    """What needs attention; in a dialog, what to say when a failing job is paused."""
    return page.render("alerts.html", view=await alerts_view(page))


add_problem_acts(ALERTS_PAGE, ALERTS_PATH, ALERTS_PATH, show_alerts)
