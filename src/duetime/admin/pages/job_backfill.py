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
    """Return what the open dialog would do; None before both times are given."""
    given = {field: page.request.query_params.get(field) for field in FIELDS.values()}
    if page.dialog != "backfill" or None in given.values():
        return None
    try:
        start, end = (page.to_instant(field, text or "") for field, text in given.items())
        ticks = await page.app.jobs.backfill(name, start, end, dry_run=True, tenant=page.scope)
    except InvalidArgument as error:
        field = FIELDS.get(error.argument, error.argument)
        return BackfillPlan(wrong=(field, error_said(error, page.language)))
    return BackfillPlan(start=start, end=end, ticks=ticks)
