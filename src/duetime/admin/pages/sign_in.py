"""The pages that open and end a session."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel
from starlette.responses import Response

from duetime.admin.declarations import ANY_IDENTITY, PUBLIC
from duetime.admin.pages.local_paths import local_path
from duetime.admin.pages.page_call import PageCall, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.admin.problems import problem_of
from duetime.errors import NotAuthenticated, PermissionDenied, RateLimited

SIGN_IN = PageTable()

SIGN_IN_PATH = "/sign-in"


class SignInQuery(BaseModel):
    """Where to go afterwards, and the one-time link that was opened, if there is one."""

    next: str | None = None
    link: str | None = None


@SIGN_IN.show(SIGN_IN_PATH, PUBLIC)
async def show_sign_in(page: ThisPage, query: Annotated[SignInQuery, Query()]) -> Response:
    """The form. A link is only shown: what opens links to look at them must not use them up."""
    reader = await page.find_reader() if query.link is None else None
    if reader is not None and reader.session is not None:
        page.access = reader
        return _welcome(page, query.next)
    return _form(page, next_path=query.next, link=query.link)


@SIGN_IN.act(SIGN_IN_PATH, PUBLIC)
async def sign_in(page: ThisPage) -> Response:
    """Open a session by an API key or a one-time link."""
    if not page.cookies.carry_sessions:
        return _form(page)
    link, next_path = page.field("link"), page.field("next")
    try:
        page.open_session(await _session(page, link))
    except PermissionDenied as denied:
        await page.refused("permission", denied.permission)
        raise
    except (NotAuthenticated, RateLimited) as refused:
        await page.refused("rate" if isinstance(refused, RateLimited) else "credential")
        return _refused(page, refused, next_path, by_link=link is not None)
    return page.send_to(local_path(next_path) or page.url(page.site.landing))


async def _session(page: PageCall, link: str | None) -> str:
    """Return the text of a new session."""
    if link is not None:
        return await page.site.sign_ins.by_link(link.strip(), page.facts)
    return await page.site.sign_ins.by_key((page.field("key") or "").strip(), page.facts)


@SIGN_IN.act("/sign-out", ANY_IDENTITY)
async def sign_out(page: ThisPage) -> Response:
    """End the session. Readers whom the host knows have none, and stay who they are."""
    session = page.caller.session
    if session is not None:
        await page.site.sign_ins.sign_out(session, page.facts)
        page.close_session()
    return page.send_to(page.url(SIGN_IN_PATH))


def _welcome(page: PageCall, next_path: str | None) -> Response:
    """Send a reader on who is known already; to the start page, if there is one."""
    path = local_path(next_path)
    if path is None and page.site.landing == SIGN_IN_PATH:
        return page.render("signed_in.html")
    return page.send_to(path or page.url(page.site.landing))


def _form(
    page: PageCall,
    status: int = 200,
    headers: dict[str, str] | None = None,
    *,
    next_path: str | None = None,
    link: str | None = None,
    error: str | None = None,
) -> Response:
    if not page.cookies.carry_sessions:
        return page.render("sign_in_refused.html", 403)
    path = local_path(next_path)
    return page.render("sign_in.html", status, headers, next=path, link=link, error=error)


def _refused(
    page: PageCall, error: NotAuthenticated | RateLimited, next_path: str | None, *, by_link: bool
) -> Response:
    """Show the form for a key again. A link that was refused is of no more use."""
    text = page.text("link_refused" if by_link else "key_refused")
    if isinstance(error, RateLimited):
        text = page.text("too_many_failures", seconds=round(error.retry_after))
    problem = problem_of(error)
    return _form(page, problem.status, dict(problem.headers), next_path=next_path, error=text)
