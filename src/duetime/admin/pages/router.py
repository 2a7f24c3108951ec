"""Builds the router of the pages from their tables."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from duetime.admin.declarations import RouteTable, declaration_of
from duetime.admin.gated_route import route_class
from duetime.admin.pages.action import ACTION_PAGE
from duetime.admin.pages.action_bulks import ACTION_BULKS
from duetime.admin.pages.actions import ACTIONS_PAGE
from duetime.admin.pages.alerts import ALERTS_PAGE
from duetime.admin.pages.audit import AUDIT_PAGE
from duetime.admin.pages.job import JOB_PAGE
from duetime.admin.pages.jobs import JOBS_PAGE
from duetime.admin.pages.live import LIVE
from duetime.admin.pages.message_links import MESSAGE_LINKS
from duetime.admin.pages.now import NOW_PAGE
from duetime.admin.pages.page_desk import PageDesk
from duetime.admin.pages.page_table import LiveView, PageTable
from duetime.admin.pages.places import Place, places_of
from duetime.admin.pages.queues import QUEUES_PAGE
from duetime.admin.pages.schedule import SCHEDULE_PAGE
from duetime.admin.pages.settings import SETTINGS_PAGE
from duetime.admin.pages.sign_in import SIGN_IN
from duetime.admin.pages.static_route import STATIC
from duetime.admin.pages.subscriptions import SUBSCRIPTIONS_PAGE
from duetime.admin.pages.timeline import TIMELINE_PAGE
from duetime.admin.pages.transitions import TRANSITIONS_PAGE
from duetime.admin.pages.workers import WORKERS_PAGE
from duetime.admin.router import check_routes

ALL_PAGES: Sequence[PageTable] = (
    SIGN_IN,
    STATIC,
    LIVE,
    NOW_PAGE,
    TIMELINE_PAGE,
    ACTIONS_PAGE,
    ACTION_BULKS,
    ACTION_PAGE,
    JOBS_PAGE,
    JOB_PAGE,
    SCHEDULE_PAGE,
    TRANSITIONS_PAGE,
    WORKERS_PAGE,
    QUEUES_PAGE,
    AUDIT_PAGE,
    ALERTS_PAGE,
    SUBSCRIPTIONS_PAGE,
    MESSAGE_LINKS,
    SETTINGS_PAGE,
)
START_PAGE = "/"


def make_page_router(
    desk: PageDesk, *, prefix: str, tables: Sequence[PageTable] = ALL_PAGES
) -> APIRouter:
    router = APIRouter(prefix=prefix, route_class=route_class(desk))
    for table in tables:
        _add_pages(router, table)
    check_routes(router)
    return router


def landing_path() -> str:
    """Return where a reader goes who did not say where to: the start page, if there is one."""
    paths = {declaration_of(page).path for table in ALL_PAGES for page in table.endpoints}
    return START_PAGE if START_PAGE in paths else "/sign-in"


def places() -> list[Place]:
    """Return the places of the navigation."""
    return places_of(ALL_PAGES)


def live_views() -> dict[str, LiveView]:
    """Return the live parts of all pages, by name."""
    return {name: view for table in ALL_PAGES for name, view in table.live_views.items()}


def _add_pages(router: APIRouter, table: RouteTable) -> None:
    for endpoint in table.endpoints:
        declaration = declaration_of(endpoint)
        reads = declaration.method == "GET"
        router.add_api_route(
            declaration.path,
            endpoint,
            methods=["GET", "HEAD"] if reads else [declaration.method],
            name=endpoint.__name__,
            include_in_schema=False,
            response_model=None,
        )
