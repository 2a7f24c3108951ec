"""The gate: decides whether a request may pass, before anything else of it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from starlette.requests import Request

from duetime.admin.declarations import ANY_IDENTITY, PUBLIC, RouteDeclaration
from duetime.admin.identity.access import Access
from duetime.admin.identity.refusals import Refusals
from duetime.admin.identity.request_facts import RequestFacts, facts_of_scope
from duetime.admin.problems import RequestRefused
from duetime.errors import NotAuthenticated, PermissionDenied, RateLimited
from duetime.model.access.refusal import RefusalReason
from duetime.model.act import Source
from duetime.model.tenant import Scope

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Of Authorization, those with which browsers answer for their user.
BROWSER_SCHEMES = frozenset({"basic", "digest", "negotiate", "ntlm"})


@dataclass(frozen=True, slots=True)
class Admission:
    """A caller, and the rows that the request is about."""

    access: Access
    scope: Scope


class FindsAccess(Protocol):
    """Finds out who sent a request."""

    async def access(self, facts: RequestFacts) -> Access: ...
    def address(self, facts: RequestFacts) -> str | None: ...


class Gate:
    """Admits callers to the routes of one administration."""

    def __init__(
        self,
        senders: FindsAccess,
        refusals: Refusals,
        *,
        required_role: str | None,
        base_url: str | None,
        source: Source = "api",
    ) -> None:
        self._senders = senders
        self._refusals = refusals
        self._source = source
        self._required_role = required_role
        self._base_url = base_url

    async def admit(self, request: Request, route: RouteDeclaration) -> Admission:
        """Raises RateLimited, NotAuthenticated, PermissionDenied, or RequestRefused for what
        another site made a browser send."""
        facts = facts_of_scope(request.scope, request)
        access = await self._authenticated(facts, route)
        if not route.exists:
            # No route of that path or method: this is said before permissions are looked at.
            return Admission(access, access.scope)
        self.refuse_other_sites(facts, request.method)
        try:
            return Admission(access, self._scope_of(request, access, route))
        except PermissionDenied as denied:
            await self._record("permission", route, access.address, access, denied.permission)
            raise

    async def _authenticated(self, facts: RequestFacts, route: RouteDeclaration) -> Access:
        """Return the sender's access. What was sent as a credential and is none is recorded."""
        try:
            return await self._senders.access(facts)
        except (NotAuthenticated, RateLimited) as refused:
            if facts.all("authorization"):
                limited = isinstance(refused, RateLimited)
                address = self._senders.address(facts)
                await self._record("rate" if limited else "credential", route, address)
            raise

    def _scope_of(self, request: Request, access: Access, route: RouteDeclaration) -> Scope:
        role = self._required_role
        if role is not None and role not in access.identity.roles:
            raise PermissionDenied(f"role {role}")
        if route.needs not in (PUBLIC, ANY_IDENTITY):
            access.require(route.needs)
        return _scope_asked_for(request, access)

    async def _record(
        self,
        reason: RefusalReason,
        route: RouteDeclaration,
        address: str | None,
        access: Access | None = None,
        permission: str | None = None,
    ) -> None:
        await self._refusals.write(
            reason,
            f"{route.method} {route.path}",
            source=self._source,
            address=address,
            identity=None if access is None else access.identity,
            permission=permission,
        )

    def refuse_other_sites(self, facts: RequestFacts, method: str) -> None:
        """Refuse what a browser may have sent on the order of another site: it adds cookies and
        passwords, by which the host knows its user, but no token; and it tells the origin."""
        unsafe = method not in SAFE_METHODS
        if unsafe and _is_of_browser(facts) and not is_same_origin(facts, self._base_url):
            raise RequestRefused(
                403,
                "cross-site-request",
                "a request with a cookie or an Origin must come from a page of this origin, as "
                "Sec-Fetch-Site or Origin says; other programs send a key or a token instead",
            )


def _is_of_browser(facts: RequestFacts) -> bool:
    """Return whether a browser may have sent this with what it knows of the user by itself."""
    given = facts.all("authorization")
    if not given:
        return bool(facts.all("cookie") or facts.all("origin"))
    schemes = {text.partition(" ")[0].lower() for text in given}
    return bool(facts.all("origin")) and not schemes.isdisjoint(BROWSER_SCHEMES)


def is_same_origin(facts: RequestFacts, base_url: str | None) -> bool:
    """Return whether a page of this origin sent the request, as browsers say."""
    site, origin = facts.header("sec-fetch-site"), facts.header("origin")
    if site is not None:
        return site == "same-origin"
    if origin is None:
        return False
    if base_url is not None:
        ours = urlsplit(base_url)
        return origin == f"{ours.scheme}://{ours.netloc}"
    _, _, netloc = origin.partition("://")
    return netloc == facts.header("host")


def _scope_asked_for(request: Request, access: Access) -> Scope:
    """Return which rows the request is about. An empty tenant means rows without one."""
    asked = request.query_params.getlist("tenant")
    if not asked:
        return access.scope
    if len(asked) > 1:
        raise PermissionDenied("admin")
    return access.scope_for(asked[0]) or None
