"""One call of a page: what its endpoint knows of the reader, and how it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, cast
from urllib.parse import quote, urlencode

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from duetime.admin.call import AdminCall, current_call
from duetime.admin.identity.access import Access
from duetime.admin.identity.cookies import FORM_COOKIE, LANGUAGE_COOKIE, SESSION_COOKIE, Cookies
from duetime.admin.identity.failed_attempts import FailedAttempts
from duetime.admin.identity.readers import Readers
from duetime.admin.identity.refusals import Refusals
from duetime.admin.identity.request_facts import RequestFacts
from duetime.admin.identity.sign_in import SignIns
from duetime.admin.pages.catalogue import text_of
from duetime.admin.pages.form_tokens import ANCHOR, form_token, is_form_token, new_anchor
from duetime.admin.pages.forms import Form
from duetime.admin.pages.headers import PAGE_HEADERS
from duetime.admin.pages.languages import (
    LANGUAGE_NAMES,
    Language,
    language_asked_for,
    to_language,
)
from duetime.admin.pages.page_table import LiveView
from duetime.admin.pages.places import Place
from duetime.admin.pages.rendering import rendered
from duetime.admin.pages.snapshots import Snapshots
from duetime.admin.pages.static_files import static_path
from duetime.admin.pages.unread import UnreadCounts
from duetime.admin.problems import RequestRefused
from duetime.errors import NotAuthenticated, RateLimited
from duetime.model.access.identity import KEY_USER, LINK_USER
from duetime.model.access.refusal import RefusalReason
from duetime.model.access.sessions import SESSION_LIFETIME
from duetime.model.clock import SECOND

YEAR_SECONDS = 365 * 86_400
SESSION_SECONDS = SESSION_LIFETIME // SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSite:
    """What all pages of one administration share."""

    prefix: str
    readers: Readers
    sign_ins: SignIns
    refusals: Refusals
    base_url: str | None
    # The address of a trace, with {trace_id} in it.
    trace_url: str | None
    development: bool
    # Where a reader goes who did not say where to.
    landing: str
    places: Sequence[Place]
    views: Mapping[str, LiveView]
    snapshots: Snapshots
    unread: UnreadCounts
    # The links of messages that were none of ours, by the address that followed them.
    link_failures: FailedAttempts


@dataclass(slots=True, kw_only=True)
class PageCall(AdminCall):
    """A call of a page. `access` is the reader's, or None on a public page."""

    site: PageSite
    facts: RequestFacts
    cookies: Cookies
    language: Language
    form: Form = field(default_factory=dict)
    # Set-Cookie headers to send with the answer.
    cookies_to_set: list[str] = field(default_factory=list)
    _anchor: str | None = None

    # -- the reader --------------------------------------------------------------------

    def allows(self, permission: str) -> bool:
        """Return whether the reader has a permission: what they may not do is not shown."""
        return self.access is not None and self.access.allows(permission)

    @property
    def reader_name(self) -> str:
        """What the reader is called; ids of keys and of links say nothing to people."""
        if self.by.startswith(LINK_USER):
            return self.text("reader_by_link")
        return self.text("reader_by_key") if self.by.startswith(KEY_USER) else self.by

    async def find_reader(self) -> Access | None:
        """Return the access of the reader of a public page, if they are known."""
        try:
            return await self.site.readers.access(self.facts)
        except (NotAuthenticated, RateLimited):
            return None

    async def refused(self, reason: RefusalReason, permission: str | None = None) -> None:
        """Write into the audit log that signing in was refused."""
        await self.site.refusals.write(
            reason,
            f"{self.declaration.method} {self.declaration.path}",
            source="dashboard",
            address=self.site.readers.address(self.facts),
            permission=permission,
        )

    # -- addresses ---------------------------------------------------------------------

    def url(self, path: str) -> str:
        """Return a path of the administration as the browser sees it."""
        return f"{mount_point(self.request, self.site.prefix)}{path}"

    def static(self, name: str) -> str:
        """Return the path of a file in `static`."""
        return self.url(static_path(name))

    @property
    def address(self) -> str:
        """The path and query of this page, as the browser sees them."""
        query = self.request.scope.get("query_string", b"").decode("latin-1")
        return quote(self.path_here) + (f"?{query}" if query else "")

    def with_query(self, **changes: str) -> str:
        """Return the address of this page, with some parameters set."""
        query = [pair for pair in self.request.query_params.multi_items() if pair[0] not in changes]
        return f"?{urlencode([*query, *changes.items()])}"

    # -- forms -------------------------------------------------------------------------

    @property
    def form_token(self) -> str:
        """The token that every form holds, in the field `token`."""
        return form_token(self.anchor)

    @property
    def anchor(self) -> str:
        """What forms of this reader are bound to: the session, or else a cookie for this."""
        if self.access is not None and self.access.session is not None:
            return self.access.session
        if self._anchor is None:
            self._anchor = self._sent_anchor() or self._new_anchor()
        return self._anchor

    def _sent_anchor(self) -> str | None:
        found = (text for text in self.cookies.found(self.facts, FORM_COOKIE))
        return next((text for text in found if ANCHOR.fullmatch(text)), None)

    def _new_anchor(self) -> str:
        anchor = new_anchor()
        self.cookies_to_set.append(self.cookies.set(FORM_COOKIE, anchor, SESSION_SECONDS))
        return anchor

    def check_form_token(self) -> None:
        """Raise RequestRefused unless the form is of a page that was shown to this reader."""
        if not is_form_token(self.field("token") or "", self.anchor):
            raise RequestRefused(403, "cross-site-request", self.text("form_is_stale"))

    def field(self, name: str) -> str | None:
        """Return a field of the form; None if it is missing."""
        values = self.form.get(name, ())
        if len(values) > 1:
            raise RequestRefused(422, "invalid-form", f"send the field {name} once")
        return values[0] if values else None

    # -- answers -----------------------------------------------------------------------

    def text(self, key: str, **values: object) -> str:
        """Return a text of the catalogue in the reader's language."""
        return text_of(key, self.language, **values)

    def render(
        self,
        template: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: object,
    ) -> Response:
        """Answer with a template. It has `page`, which is this call, `t` for texts, and values."""
        known = {"page": self, "t": self.text, "languages": LANGUAGE_NAMES}
        text = rendered(template, known | values)
        return Response(text, status, headers, media_type="text/html; charset=utf-8")

    def send_to(self, path: str) -> Response:
        """Answer that the browser should get another page: a path as the browser sees it."""
        return Response(status_code=303, headers={"Location": path})

    def finish(self, response: Response) -> Response:
        """Return the answer with the headers that every page has, and with its cookies."""
        for name, value in PAGE_HEADERS.items():
            response.headers.setdefault(name, value)
        for cookie in self.cookies_to_set:
            response.headers.append("Set-Cookie", cookie)
        return response

    def open_session(self, session: str) -> None:
        self.cookies_to_set.append(self.cookies.set(SESSION_COOKIE, session, SESSION_SECONDS))

    def close_session(self) -> None:
        self.cookies_to_set.append(self.cookies.set(SESSION_COOKIE, "", 0))

    def remember_language(self) -> None:
        cookie = self.cookies.set(LANGUAGE_COOKIE, self.language, YEAR_SECONDS)
        self.cookies_to_set.append(cookie)


def current_page(request: Request) -> PageCall:
    return cast("PageCall", current_call(request))


# What endpoints of pages take.
ThisPage = Annotated[PageCall, Depends(current_page)]


def mount_point(request: Request, prefix: str) -> str:
    """Return the path below which all pages are, as the browser sees it; empty at the root."""
    return quote(f"{request.scope.get('root_path', '').rstrip('/')}{prefix}")


def language_of(request: Request, facts: RequestFacts, cookies: Cookies) -> Language:
    """Return the reader's choice, made now or before, or else what the browser asks for."""
    chosen = to_language(request.query_params.get("lang"))
    remembered = map(to_language, cookies.found(facts, LANGUAGE_COOKIE))
    before = next((language for language in remembered if language), None)
    return chosen or before or language_asked_for(request.headers.get("accept-language"))
