"""The page about actions: those that a filter matches, with counts, or grouped by their error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from starlette.responses import Response

from duetime.admin.action_filter import ActionFilter
from duetime.admin.pages.action_row import ActionRow, rows_of
from duetime.admin.pages.bulk_dialog import allowed_verbs, bulk_dialog
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.snapshots import kept_for
from duetime.api.find_arguments import SortArgument
from duetime.errors import PermissionDenied
from duetime.model.groups import Group, GroupField, Groups
from duetime.model.state import FINISHED, State
from duetime.model.tenant import Scope

if TYPE_CHECKING:
    from duetime.app import Duetime

ACTIONS_PAGE = PageTable()

ACTIONS_PATH = "/actions"
# Each with the parameter that it filters by.
FACETS: Mapping[GroupField, str] = {"state": "state", "kind": "kind", "queue": "queue"}
MAX_CHOICES = 20
# Of each state, so many of the newest are counted.
MAX_COUNTED = 1_000
KEPT_SECONDS = 5.0
FLAGS = ("overdue", "retrying", "waiting", "parked")
# Those with a list of choices; the others of a filter are shown as what is set.
CHOSEN = frozenset({*FACETS.values(), *FLAGS})


class ActionsQuery(ActionFilter):
    """What the address of the page asks for."""

    by: str | None = None
    sort: SortArgument | None = None
    cursor: str | None = None
    group: Literal["error"] | None = None

    def filter(self) -> dict[str, Any]:
        return self.model_dump(exclude={"sort", "cursor", "group"}, exclude_unset=True)

    def counted(self, without: str = "") -> dict[str, Any]:
        """The filter as `groups` takes it: there, `by` says what is counted."""
        return {name: value for name, value in self.filter().items() if name not in ("by", without)}

    @property
    def sorts(self) -> frozenset[str]:
        """The columns by which actions of these states can be sorted."""
        states = {State(state) for state in self.state or ()}
        found = {"created_at"}
        if not states & FINISHED:
            found.add("due_at")
        if states <= FINISHED:
            found.add("finished_at")
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class ActionsView:
    """A page of actions, or the groups of their errors."""

    rows: Sequence[ActionRow]
    next_cursor: str | None
    groups: Groups | None
    sorts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Facet:
    """What a parameter may be set to, the most frequent value first, with counts."""

    parameter: str
    choices: Sequence[Group]


@ACTIONS_PAGE.live("actions", "actions.read", "actions_live.html", "/actions")
async def actions_view(page: FramedPage) -> ActionsView:
    query = page.query(ActionsQuery)
    if query.group is not None and not page.allows("payload.read"):
        # Groups are named by texts of errors, which may quote data.
        raise PermissionDenied("payload.read", page.caller.identity.tenant)
    return await page.read(read_actions, query.model_dump_json(exclude_unset=True))


async def read_actions(app: Duetime, scope: Scope, written: str) -> ActionsView:
    query = ActionsQuery.model_validate_json(written)
    if query.group is not None:
        groups = await app.groups(by=query.group, **query.counted(), tenant=scope)
        return ActionsView((), None, groups, query.sorts)
    found = await app.find(
        **query.filter(), sort=query.sort, cursor=query.cursor, limit=50, tenant=scope
    )
    return ActionsView(rows_of(found), found.next_cursor, None, query.sorts)


@kept_for(KEPT_SECONDS)
async def read_facets(app: Duetime, scope: Scope, written: str) -> list[Facet]:
    """What the filter could be changed to, each counted as if it were not set yet."""
    query = ActionsQuery.model_validate_json(written)
    facets = []
    for by, parameter in FACETS.items():
        others = query.counted(without=parameter)
        found = await app.groups(by=by, most=MAX_COUNTED, **others, tenant=scope)
        facets.append(Facet(parameter, found.groups[:MAX_CHOICES]))
    return facets


@ACTIONS_PAGE.show(ACTIONS_PATH, "actions.read", place="actions")
async def show_actions(page: ThisPage) -> Response:
    """The actions, beside what they can be filtered by; in a dialog, an act on one or many."""
    query = page.query(ActionsQuery)
    written = query.model_dump_json(exclude_unset=True)
    return page.render(
        "actions.html",
        view=await actions_view(page),
        facets=await page.read(read_facets, written),
        flags=FLAGS,
        further=_further(query),
        filtered=bool(query.filter()),
        grouped=query.group is not None,
        bulk=await bulk_dialog(page, query.filter()),
        bulk_verbs=allowed_verbs(page, query.state),
    )


def _further(query: ActionsQuery) -> dict[str, str]:
    """Return what else is set in the filter."""
    return {name: str(value) for name, value in query.filter().items() if name not in CHOSEN}
