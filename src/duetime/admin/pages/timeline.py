"""The page of the timeline: what ran, what is scheduled, and ticks to come, on one axis."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from markupsafe import Markup
from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.pages.charts.timeline import LEFT, RIGHT, timeline_chart
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.reader_zones import NoSuchLocalTime
from duetime.admin.pages.snapshots import kept_for
from duetime.model.clock import MAX_INSTANT, MIN_INSTANT, from_micros, to_micros
from duetime.model.tenant import Scope
from duetime.model.timeline import Timeline

if TYPE_CHECKING:
    from duetime.app import Duetime

TIMELINE_PAGE = PageTable()

# Before and after now, where the address names no time.
USUAL = timedelta(hours=24)
MAX_LENGTH, MIN_LENGTH = timedelta(days=366), timedelta(minutes=1)
# So much of each list is drawn, and so much written below the chart.
MAX_DRAWN, MAX_WRITTEN = 300, 20
KEPT_SECONDS = 3.0


class AskedTime(BaseModel):
    """From when to when: instants with an offset, or times in the reader's zone."""

    start: str | None = None
    end: str | None = None


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The time that is shown, and those to which a reader goes from it."""

    start: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        return self.end - self.start

    @property
    def closer(self) -> TimeRange:
        """The middle half."""
        return _around(self, max(self.length / 2, MIN_LENGTH))

    @property
    def wider(self) -> TimeRange:
        """As much again, half of it on each side."""
        return _around(self, min(self.length * 2, MAX_LENGTH))

    @property
    def earlier(self) -> TimeRange:
        return _moved(self, -self.length / 2)

    @property
    def later(self) -> TimeRange:
        return _moved(self, self.length / 2)


@dataclass(frozen=True, slots=True)
class Tick:
    """A coming tick of a job."""

    at: datetime
    job: str


@dataclass(frozen=True, slots=True)
class TimelineView:
    """The timeline as a chart, and its lists, of which the first are written below it."""

    range: TimeRange
    timeline: Timeline
    ticks: list[Tick]
    chart: Markup
    # Where the axis of the chart begins and ends.
    left: float = LEFT
    right: float = RIGHT
    most: int = MAX_WRITTEN

    @property
    def is_empty(self) -> bool:
        return not (self.timeline.ran or self.timeline.scheduled or self.timeline.ticks)

    @property
    def is_capped(self) -> bool:
        shown = self.timeline
        return shown.ran_capped or shown.scheduled_capped or shown.ticks_capped


@TIMELINE_PAGE.live("timeline", "actions.read", "timeline_live.html", "/timeline")
async def timeline_view(page: FramedPage) -> TimelineView:
    span = _asked(page)
    sees_jobs = page.allows("jobs.read")
    timeline = await page.read(read_timeline, span.start, span.end, sees_jobs)
    chart = timeline_chart(
        timeline,
        page.text("place_timeline"),
        page.zone.zone,
        page.language,
        action_path=lambda action: _action_path(page, action),
        job_path=(lambda job: page.link(f"/jobs/{job}")) if page.can_open("jobs") else None,
    )
    return TimelineView(span, timeline, _ticks(timeline), chart)


@kept_for(KEPT_SECONDS)
async def read_timeline(
    app: Duetime, scope: Scope, start: datetime, end: datetime, ticks: bool
) -> Timeline:
    return await app.timeline(start, end, limit=MAX_DRAWN, ticks=ticks, tenant=scope)


@TIMELINE_PAGE.show("/timeline", "actions.read", place="timeline")
async def show_timeline(page: ThisPage) -> Response:
    """A day back and a day ahead, or the time that the address names."""
    return page.render("timeline.html", view=await timeline_view(page))


def _action_path(page: FramedPage, action: UUID) -> str:
    return page.link(f"/actions/{action}")


def _ticks(timeline: Timeline) -> list[Tick]:
    found = [Tick(at, coming.job) for coming in timeline.ticks for at in coming.ticks]
    return sorted(found, key=lambda tick: (tick.at, tick.job))


# -- the time that is shown ------------------------------------------------------------


def _asked(page: FramedPage) -> TimeRange:
    """Return the time that the address names."""
    query = page.query(AskedTime)
    now = page.now.replace(second=0, microsecond=0)
    start = _instant(page, "start", query.start)
    end = _instant(page, "end", query.end)
    if start is None:
        start = now - USUAL if end is None else _shifted(end, -2 * USUAL)
    if end is None:
        end = _shifted(start, 2 * USUAL)
    if not MIN_LENGTH <= end - start <= MAX_LENGTH:
        raise page.invalid("end", end, "timeline_length", days=MAX_LENGTH.days)
    return TimeRange(start, end)


def _instant(page: FramedPage, name: str, text: str | None) -> datetime | None:
    """Return an instant of the address, by the reader's zone if it has no offset."""
    if text is None:
        return None
    try:
        given = datetime.fromisoformat(text)
        instant = page.zone.instant(text) if given.tzinfo is None else given
        return from_micros(to_micros(instant))
    except NoSuchLocalTime:
        error = page.invalid(name, text, "no_such_local_time", zone=page.zone.name, text=text)
    except (ValueError, OverflowError):
        error = page.invalid(name, text, "not_an_instant", text=text)
    raise error


def _around(shown: TimeRange, length: timedelta) -> TimeRange:
    start = _shifted(shown.start, (shown.length - length) / 2)
    return TimeRange(start, _shifted(start, length))


def _moved(shown: TimeRange, by: timedelta) -> TimeRange:
    return TimeRange(_shifted(shown.start, by), _shifted(shown.end, by))


def _shifted(instant: datetime, by: timedelta) -> datetime:
    """Return an instant later by so much, at most the first or last that there is."""
    micros = to_micros(instant) + by // timedelta(microseconds=1)
    return from_micros(min(max(micros, MIN_INSTANT), MAX_INSTANT))
