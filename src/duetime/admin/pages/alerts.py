"""The page about alerts: what needs somebody's attention now, and notifications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.problems import add_problem_acts, lead_of, seen_problems
from duetime.admin.pages.subscriptions import SUBSCRIPTIONS_PATH
from duetime.model.health.problems import Problem
from duetime.model.notifications.notification import Notification
from duetime.model.notifications.subscription import IN_APP, SubscriptionTerms
from duetime.notifications.rendering import NotificationWords, describe

ALERTS_PAGE = PageTable()

ALERTS_PATH = "/alerts"
PAGE_SIZE = 25


class AlertsQuery(BaseModel):
    """Which notifications the address asks for."""

    unread: bool = False
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class AlertsView:
    """The problems of now that the reader may know of, and where to look at each."""

    problems: list[Problem]
    leads: list[str | None]
    acts: str = ALERTS_PATH


@dataclass(frozen=True, slots=True)
class NotificationLine:
    """What a notification says of one of its events, and the address of the page about it."""

    text: str
    lead: str | None


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """A notification in the words of the reader."""

    notification: Notification
    words: NotificationWords
    lines: Sequence[NotificationLine]

    @property
    def more(self) -> int:
        """How many events the notification does not list."""
        return self.notification.count - len(self.notification.events)


@ALERTS_PAGE.live("alerts", "notifications.read", "alerts_live.html", "/alerts")
async def alerts_view(page: FramedPage) -> AlertsView:
    problems = await seen_problems(page)
    return AlertsView(problems, [lead_of(page, problem) for problem in problems])


@ALERTS_PAGE.show(ALERTS_PATH, "notifications.read", place="alerts")
async def show_alerts(page: ThisPage) -> Response:
    """What needs attention, and notifications; in a dialog, what to say when a failing job is
    paused."""
    query = page.query(AlertsQuery)
    await page.count_unread(now=True)
    found = await page.app.notifications.list(
        unread=query.unread,
        reader=page.by,
        limit=PAGE_SIZE,
        cursor=query.cursor,
        tenant=page.scope,
    )
    return page.render(
        "alerts.html",
        view=await alerts_view(page),
        rows=[_row(page, notification) for notification in found],
        next_cursor=found.next_cursor,
        query=query,
        subscriptions=page.link(SUBSCRIPTIONS_PATH) if page.may("subscriptions.manage") else None,
    )


@ALERTS_PAGE.act("/alerts/read", "notifications.read", on=show_alerts)
async def read_notification(page: ThisPage) -> Response:
    """Mark a notification as read by this reader."""
    await page.app.notifications.read([page.required("id")], reader=page.by, tenant=page.scope)
    return page.done(ALERTS_PATH, "done_read")


@ALERTS_PAGE.act("/alerts/read-all", "notifications.read", on=show_alerts)
async def read_all_notifications(page: ThisPage) -> Response:
    """Mark all notifications as read by this reader."""
    await page.app.notifications.read(reader=page.by, tenant=page.scope)
    return page.done(ALERTS_PATH, "done_read_all")


add_problem_acts(ALERTS_PAGE, ALERTS_PATH, ALERTS_PATH, show_alerts)


# -- steps ----------------------------------------------------------------------------------------


def _row(page: FramedPage, notification: Notification) -> NotificationRow:
    words = describe(notification, _terms(page))
    lines = [NotificationLine(line.text, _lead(page, line.link)) for line in words.lines]
    return NotificationRow(notification, words, lines)


def _terms(page: FramedPage) -> SubscriptionTerms:
    """Return how notifications are worded for the reader, who may or may not read errors."""
    return SubscriptionTerms(
        topics=(),
        channel=IN_APP,
        language=page.language,
        zone=page.zone.name,
        show_errors=page.allows("payload.read"),
    )


def _lead(page: FramedPage, path: str | None) -> str | None:
    """Return the address of the page of an event, if the reader may open it."""
    if path is None or path == ALERTS_PATH or not page.can_open(path.split("/")[1]):
        return None
    return page.link(unquote(path))
