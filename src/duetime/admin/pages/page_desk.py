"""Answers the requests for pages of one administration."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import Response

from duetime.admin.call import AdminCall
from duetime.admin.declarations import PUBLIC, RouteDeclaration, declaration_of
from duetime.admin.desk import Desk, Handle
from duetime.admin.gate import SAFE_METHODS, Gate
from duetime.admin.identity.cookies import (
    BROWSER_ZONE_COOKIE,
    THEME_COOKIE,
    ZONE_COOKIE,
    Cookies,
    connection_of,
)
from duetime.admin.identity.request_facts import facts_of_scope
from duetime.admin.pages.catalogue import CATALOGUE
from duetime.admin.pages.forms import read_form
from duetime.admin.pages.languages import to_language
from duetime.admin.pages.local_paths import MAX_PATH_LENGTH
from duetime.admin.pages.page import FramedPage
from duetime.admin.pages.page_call import PageSite, language_of, mount_point
from duetime.admin.pages.page_table import FORM_PAGE_ATTRIBUTE
from duetime.admin.pages.reader_zones import zone_of
from duetime.admin.pages.themes import to_theme
from duetime.admin.problems import INTERNAL_PROBLEM, ProblemDocument, RequestRefused
from duetime.errors import DuetimeError, InvalidArgument, NotAuthenticated, PermissionDenied
from duetime.model.act import Source
from duetime.words.languages import error_said

if TYPE_CHECKING:
    from duetime.api.setup import CurrentSetup
    from duetime.app import Duetime

# Of forms that anybody may send.
MAX_PUBLIC_FORM_BYTES = 16_384
# What another entry into the form may mend.
FORM_PROBLEMS = frozenset({404, 409, 412, 422})
# The declaration of what is not there.
NO_PAGE = RouteDeclaration(method="GET", path="/", needs=PUBLIC, answers={})


class PageDesk(Desk):
    """What all pages of one administration share. An error is a page, too, and readers whom nobody
    knows are sent to sign in."""

    source: ClassVar[Source] = "dashboard"

    def __init__(
        self, app: Duetime, setup: CurrentSetup, gate: Gate, polling: Gate, site: PageSite
    ) -> None:
        """`polling` admits open pages that ask what is new."""
        super().__init__(app, setup, gate)
        self._polling = polling
        self._site = site

    async def answer(
        self, request: Request, declaration: RouteDeclaration, handle: Handle
    ) -> Response:
        page = self._call(request, declaration)
        if to_language(request.query_params.get("lang")):
            page.remember_language()
        page.remember_choices()
        return page.finish(await self._answered(page, partial(_framed, page, handle)))

    def _gate_of(self, declaration: RouteDeclaration) -> Gate:
        return self._polling if declaration.polled else self._gate

    def refuse(self, request: Request, problem: ProblemDocument) -> Response:
        """Answer a request that no page is for."""
        page = self._call(request, NO_PAGE)
        return page.finish(_error_page(page, problem))

    def _call(self, request: Request, declaration: RouteDeclaration) -> FramedPage:
        facts = facts_of_scope(request.scope, request)
        connection = connection_of(facts, self._site.base_url)
        cookies = Cookies(connection, mount_point(request, self._site.prefix))
        query = request.query_params
        themes = (query.get("theme"), *cookies.found(facts, THEME_COOKIE))
        return FramedPage(
            **self._shared(request, declaration),
            site=self._site,
            facts=facts,
            cookies=cookies,
            language=language_of(request, facts, cookies),
            zone=zone_of(
                query.get("tz"),
                cookies.found(facts, ZONE_COOKIE),
                cookies.found(facts, BROWSER_ZONE_COOKIE),
            ),
            theme=next(filter(None, map(to_theme, themes)), "auto"),
            now=self._app.clock.now(),
        )

    async def _read(self, call: AdminCall) -> Request:
        """Read the form, and refuse one that another site had sent."""
        page = cast("FramedPage", call)
        if page.request.method in SAFE_METHODS or page.declaration.proven:
            return page.request
        is_public = page.declaration.needs == PUBLIC
        if is_public:
            self._gate.refuse_other_sites(page.facts, page.request.method)
        limit = MAX_PUBLIC_FORM_BYTES if is_public else self._max_body(page.declaration)
        page.form = await read_form(page.request, limit)
        page.check_form_token()
        return page.request

    async def _refused(self, call: AdminCall, error: Exception) -> Response:
        page = cast("FramedPage", call)
        if isinstance(error, NotAuthenticated):
            return page.send_to(_sign_in_path(page))
        if isinstance(error, PermissionDenied):
            # Those who may not read a page may still sign out, if the store answers.
            with suppress(DuetimeError):
                page.access = await page.find_reader()
        problem = _said(page, error, await self._problem(page, error))
        return await _form_again(page, problem) or _error_page(page, problem)


async def _framed(page: FramedPage, handle: Handle, request: Request) -> Response:
    """Find out what the frame shows beside the page, and call the endpoint."""
    await page.count_unread()
    return await handle(request)


def _said(page: FramedPage, error: Exception, problem: ProblemDocument) -> ProblemDocument:
    """Return the problem in the reader's language. What is in English is as the API says it."""
    if not isinstance(error, DuetimeError) or problem is INTERNAL_PROBLEM:
        return problem
    if isinstance(error, InvalidArgument) and error.remedy == page.remedy:
        return replace(problem, detail=f"{error.argument}: {error.remedy}")
    if page.language == "en":
        return problem
    return replace(problem, detail=error_said(error, page.language))


async def _form_again(page: FramedPage, problem: ProblemDocument) -> Response | None:
    """Return the page of the form, with what was typed and what was wrong with it; None for what
    no other entry would mend, or whose reader may not see that page."""
    show = getattr(page.request.scope.get("endpoint"), FORM_PAGE_ATTRIBUTE, None)
    if show is None or problem.status not in FORM_PROBLEMS:
        return None
    shown = declaration_of(show)
    if not page.may(shown.needs):
        return None
    page.problem, page.declaration = problem, shown
    try:
        response: Response = await show(page)
    except (DuetimeError, RequestRefused, RequestValidationError):
        # What the page is about is not there, or its address is not valid either.
        return None
    response.status_code = problem.status
    return response


def _error_page(page: FramedPage, problem: ProblemDocument) -> Response:
    key = f"error_{problem.status}"
    heading = page.text(key if key in CATALOGUE else "error_400")
    return page.render(
        "error.html", problem.status, problem.headers, heading=heading, problem=problem
    )


def _sign_in_path(page: FramedPage) -> str:
    """Return where to sign in, and to come back from: after an act, there is no way back."""
    here = page.address
    back = page.request.method in SAFE_METHODS and len(here) <= MAX_PATH_LENGTH
    return page.url("/sign-in") + (f"?next={quote(here, safe='')}" if back else "")
