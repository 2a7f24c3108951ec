"""The act on many actions: as many steps as a moment allows, then a page that goes on."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from duetime.admin.pages.actions import ACTIONS_PATH, ActionsQuery, show_actions
from duetime.admin.pages.bulk_dialog import BULK_DIALOG, UNITS, BulkQuery, selection
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.routes.bulks import VERB_PERMISSIONS
from duetime.errors import InvalidArgument
from duetime.model.bulk import BulkResult
from duetime.model.clock import monotonic

ACTION_BULKS = PageTable()

# How long a request goes on with the next thousand before it answers.
PATIENCE_SECONDS = 1.0
# What a dialog has counted.
COUNTED = re.compile(r"[0-9]{1,12}")


@ACTION_BULKS.act("/actions/chosen/bulk", "actions.bulk", on=show_actions)
async def change_actions(page: ThisPage) -> Response:
    """Cancel, retry or move the actions that the dialog of the page was about, or go on with it."""
    query = page.query(BulkQuery)
    page.caller.require(VERB_PERMISSIONS[query.bulk])
    until = monotonic() + PATIENCE_SECONDS
    result = await _first_step(page, query) if query.step is None else await _step(page, query)
    changed, skipped = query.changed + result.changed, query.skipped + result.skipped
    while result.next_cursor is not None and monotonic() < until:
        result = await _step(page, query, result.next_cursor)
        changed, skipped = changed + result.changed, skipped + result.skipped
    if result.next_cursor is None:
        counts = {"changed": page.whole(changed), "skipped": page.whole(skipped)}
        return page.done(ACTIONS_PATH, "done_bulk", **counts)
    progress = {"step": result.next_cursor, "changed": changed, "skipped": skipped}
    return _to_progress(page, query, progress | {"count": _count(page, query)})


async def _first_step(page: FramedPage, query: BulkQuery) -> BulkResult:
    return await page.app.bulk(
        query.bulk,
        **selection(query, page.query(ActionsQuery).filter()),
        **_time(page, query),
        by=page.by,
        note=page.note,
        tenant=page.scope,
    )


async def _step(page: FramedPage, query: BulkQuery, cursor: str | None = None) -> BulkResult:
    """Take the next step of a bulk, whose first call fixed all but the note of this one."""
    return await page.app.bulk(
        query.bulk, cursor=cursor or query.step, by=page.by, note=page.note, tenant=page.scope
    )


def _time(page: FramedPage, query: BulkQuery) -> dict[str, Any]:
    """Return when to, or by how much, as the form says."""
    if query.bulk == "reschedule":
        at = page.instant("at")
        if at is None:
            raise InvalidArgument("at", "", page.text("action_at_missing"))
        return {"at": at}
    if query.bulk != "shift":
        return {}
    amount, unit = page.field("amount") or "", page.field("unit") or ""
    try:
        return {"seconds": float(amount) * UNITS[unit]}
    except (KeyError, ValueError):
        raise InvalidArgument("amount", amount, page.text("bulk_amount_missing")) from None


def _count(page: FramedPage, query: BulkQuery) -> int:
    """Return what the dialog counted, to show how far the bulk has come."""
    counted = page.field("count") or ""
    return int(counted) if COUNTED.fullmatch(counted) else query.count


def _to_progress(page: FramedPage, query: BulkQuery, progress: dict[str, Any]) -> Response:
    parameters = {"dialog": BULK_DIALOG, "bulk": query.bulk, "of": query.of, **progress}
    address = urlencode([*page.kept_query, *parameters.items()])
    return page.send_to(f"{page.url(ACTIONS_PATH)}?{address}")
