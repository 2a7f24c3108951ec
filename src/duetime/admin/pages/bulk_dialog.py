"""The dialog of an act on many actions: what it would change, and how far it has come."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from duetime.admin.pages.action_row import ActionRow, rows_of
from duetime.admin.pages.page import FramedPage
from duetime.admin.routes.bulks import VERB_PERMISSIONS, BulkVerb
from duetime.errors import InvalidArgument
from duetime.model.bulk import changed_state

BULK_DIALOG = "bulk"
# More rows than a page has.
MAX_SELECTED = 200
UNITS: Mapping[str, int] = {"minutes": 60, "hours": 3600, "days": 86_400}
SELECTED: Literal["ids"] = "ids"

Selected = Literal["ids", "filter"]
# How many actions there are: more than any store holds, and few enough digits to be written.
MAX_FIGURE = 10**12
Figure = Annotated[int, Field(ge=0, le=MAX_FIGURE)]


class BulkQuery(BaseModel):
    """What the address says of the dialog: the verb, and whether it is about the selected actions
    or all that the filter matches; of a bulk that goes on, its next step and what it did."""

    bulk: BulkVerb = "cancel"
    of: Selected = SELECTED
    ids: Annotated[list[UUID] | None, Field(max_length=MAX_SELECTED)] = None
    step: str | None = None
    count: Figure = 0
    changed: Figure = 0
    skipped: Figure = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkDialog:
    """What a bulk would change, or has changed so far."""

    query: BulkQuery
    count: int
    capped: bool = False
    sample: Sequence[ActionRow] = ()
    units: Sequence[str] = tuple(UNITS)

    @property
    def goes_on(self) -> bool:
        return self.query.step is not None

    @property
    def ids(self) -> Sequence[UUID]:
        return (self.query.ids or ()) if self.query.of == SELECTED else ()


def allowed_verbs(page: FramedPage, states: Collection[str] | None = None) -> list[BulkVerb]:
    """Return what the reader may do with many actions, as far as it applies to one of the states
    that are listed."""
    if not page.allows("actions.bulk"):
        return []
    return [
        verb
        for verb, permission in VERB_PERMISSIONS.items()
        if page.allows(permission) and (not states or changed_state(verb) in states)
    ]


async def bulk_dialog(page: FramedPage, filter: Mapping[str, Any]) -> BulkDialog | None:
    """Return the dialog if it is open, and the reader may do what it is about."""
    if page.dialog != BULK_DIALOG:
        return None
    query = page.query(BulkQuery)
    if query.bulk not in allowed_verbs(page):
        return None
    if query.step is not None:
        return BulkDialog(query=query, count=query.count)
    try:
        counted = await page.app.bulk(
            query.bulk, **selection(query, filter), dry_run=True, tenant=page.scope
        )
    except InvalidArgument:
        # No row is selected, no filter is set, or it is about states to which the verb does not
        # apply: the dialog says so in the reader's language.
        return BulkDialog(query=query, count=0)
    return BulkDialog(
        query=query, count=counted.count, capped=counted.capped, sample=rows_of(counted.sample)
    )


def selection(query: BulkQuery, filter: Mapping[str, Any]) -> dict[str, Any]:
    """Return the argument of `bulk` that says which actions it is about."""
    return {"ids": query.ids or []} if query.of == SELECTED else {"filter": dict(filter)}
