"""What a backfill of a job would do: a dry run of the times that the address names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from duetime.admin.pages.page import FramedPage
from duetime.errors import InvalidArgument
from duetime.words.languages import error_said

MAX_SAMPLE = 5
# Which field of the page an argument is.
FIELDS = {"start": "first", "end": "last"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """The ticks without an occurrence from `start` until `end`, or what is wrong with a field."""

    start: datetime | None = None
    end: datetime | None = None
    ticks: Sequence[datetime] = ()
    wrong: tuple[str, str] | None = None

    @property
    def sample(self) -> Sequence[datetime]:
        return self.ticks[:MAX_SAMPLE]


async def planned_backfill(page: FramedPage, name: str) -> BackfillPlan | None:
    """Return what the open dialog would do; None before any time is given."""
    asked = page.request.query_params
    if page.dialog != "backfill" or not any(asked.get(field) for field in FIELDS.values()):
        return None
    try:
        start, end = _asked(page, "first"), _asked(page, "last")
        ticks = await page.app.jobs.backfill(name, start, end, dry_run=True, tenant=page.scope)
    except InvalidArgument as error:
        field = FIELDS.get(error.argument, error.argument)
        return BackfillPlan(wrong=(field, error_said(error, page.language)))
    return BackfillPlan(start=start, end=end, ticks=ticks)


def _asked(page: FramedPage, field: str) -> datetime:
    instant = page.asked_instant(field)
    if instant is None:
        raise InvalidArgument(field, "", page.text("backfill_missing"))
    return instant
