"""The ASGI application of an administration, and the router for a host's own application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from duetime.config import check_setting
from duetime.errors import ConfigError

try:
    from fastapi import APIRouter, FastAPI
except ImportError as missing:
    raise ConfigError("app.admin() needs FastAPI: pip install 'duetime[api]'") from missing
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from duetime.admin.cors import allow_origins
from duetime.admin.desk import Desk, problem_response
from duetime.admin.gate import FindsAccess, Gate
from duetime.admin.identity.authenticator import (
    AuthenticationOptions,
    Identify,
    RequestAuthenticator,
)
from duetime.admin.identity.failed_attempts import FailedAttempts
from duetime.admin.identity.oidc import Oidc
from duetime.admin.identity.readers import PollingReaders, Readers
from duetime.admin.identity.refusals import Refusals
from duetime.admin.identity.sign_in import SignIns
from duetime.admin.problems import ProblemDocument
from duetime.admin.router import make_router
from duetime.logs import get_log
from duetime.model.access.identity import to_roles
from duetime.model.act import Source
from duetime.model.ids import TimeOrderedIds

if TYPE_CHECKING:
    from duetime.admin.pages.page_desk import PageDesk
    from duetime.api.setup import CurrentSetup
    from duetime.app import Duetime

log = get_log("duetime.admin")

# Stands for the id in the address of a trace.
TRACE_ID = "{trace_id}"
DEVELOPMENT_WARNING = (
    "development=True: whoever can use this machine may do everything over HTTP; never set it "
    "where others can"
)


@dataclass(frozen=True, slots=True)
class AdminArguments:
    """The arguments of `app.admin`; settings fill what is None."""

    identify: Identify | None
    oidc: Oidc | None
    admin_roles: Collection[str]
    prefix: str | None
    tag: str | None
    required_role: str | None
    development: bool
    base_url: str | None
    trace_url: str | None = None


def make_admin(
    app: Duetime, setup: CurrentSetup, arguments: AdminArguments, *, dashboard: bool
) -> FastAPI:
    """Return the application, with pages if `dashboard` is true. It needs no lifespan: the store
    opens with the first request that needs it."""
    parts, desk = AdminParts(app, setup, arguments), None
    asgi = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    # Not by `include_router`, which would build each route once more.
    asgi.router.routes.extend(parts.api_router().routes)
    if dashboard:
        from duetime.admin.pages.router import make_page_router

        desk = parts.page_desk()
        asgi.router.routes.extend(make_page_router(desk, prefix=parts.prefix).routes)
    asgi.add_exception_handler(HTTPException, _refuser(desk))
    if app.settings.cors_origins:
        allow_origins(asgi, app.settings.cors_origins)
    return asgi


def make_admin_router(app: Duetime, setup: CurrentSetup, arguments: AdminArguments) -> APIRouter:
    return AdminParts(app, setup, arguments).api_router()


class AdminParts:
    """What the API and the pages of one administration are made of."""

    def __init__(self, app: Duetime, setup: CurrentSetup, arguments: AdminArguments) -> None:
        self._app = app
        self._setup = setup
        self._development = arguments.development
        self.prefix: str = _setting(app, "route_prefix", arguments.prefix)
        self._tag = _setting(app, "tag", arguments.tag)
        self._base_url = _setting(app, "base_url", arguments.base_url)
        self._trace_url = to_trace_url(arguments.trace_url)
        self._required_role = _setting(app, "required_role", arguments.required_role)
        self._admin_roles = to_roles(arguments.admin_roles)
        self._authenticator = self._make_authenticator(arguments)
        self._refusals = Refusals(lambda: app.store, app.clock)
        if arguments.development:
            log.warning(DEVELOPMENT_WARNING)

    def api_router(self) -> APIRouter:
        gate = self._gate(self._authenticator, "api")
        return make_router(Desk(self._app, self._setup, gate), prefix=self.prefix, tag=self._tag)

    def page_desk(self) -> PageDesk:
        from duetime.admin.pages.page_call import PageSite
        from duetime.admin.pages.page_desk import PageDesk
        from duetime.admin.pages.router import landing_path, live_views, places
        from duetime.admin.pages.snapshots import Snapshots
        from duetime.admin.pages.unread import UnreadCounts

        sign_ins = self._sign_ins()
        readers = Readers(self._authenticator, sign_ins, self._base_url)
        site = PageSite(
            prefix=self.prefix,
            readers=readers,
            sign_ins=sign_ins,
            refusals=self._refusals,
            base_url=self._base_url,
            trace_url=self._trace_url,
            development=self._development,
            landing=landing_path(),
            places=places(),
            views=live_views(),
            snapshots=Snapshots(self._app),
            unread=UnreadCounts(self._app),
            link_failures=FailedAttempts(self._app.clock),
        )
        polling = PollingReaders(self._authenticator, sign_ins, self._base_url)
        gates = self._gate(readers, "dashboard"), self._gate(polling, "dashboard")
        return PageDesk(self._app, self._setup, *gates, site)

    def _make_authenticator(self, arguments: AdminArguments) -> RequestAuthenticator:
        options = AuthenticationOptions(
            admin_roles=self._admin_roles,
            oidc=arguments.oidc,
            identify=arguments.identify,
            development=arguments.development,
            trusted_proxies=self._app.settings.trusted_proxies,
        )
        return RequestAuthenticator(lambda: self._app.store, self._app.clock, options)

    def _sign_ins(self) -> SignIns:
        return SignIns(
            lambda: self._app.store,
            TimeOrderedIds(),
            self._authenticator,
            self._admin_roles,
            self._required_role,
        )

    def _gate(self, senders: FindsAccess, source: Source) -> Gate:
        return Gate(
            senders,
            self._refusals,
            required_role=self._required_role,
            base_url=self._base_url,
            source=source,
        )


def to_trace_url(given: object) -> str | None:
    """Return the address of a trace, checked: the link on a page must lead to where it says."""
    if given is None:
        return None
    text = given if isinstance(given, str) else ""
    parts = urlsplit(text)
    reachable = parts.scheme in ("http", "https") and parts.hostname
    if not reachable or text.count(TRACE_ID) != 1:
        raise ConfigError(
            f"option trace_url={given!r} is not valid: give the address of a trace where you look "
            f"at traces, with {TRACE_ID} in it: https://jaeger.example/trace/{TRACE_ID}"
        )
    return text


def _setting(app: Duetime, name: str, given: object) -> Any:
    """Return what was given, checked, or else what the app's settings say."""
    return getattr(app.settings, name) if given is None else check_setting(name, given)


def _refuser(desk: PageDesk | None) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what answers for paths and methods that there are not, outside of the API."""

    async def refuse(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = error.headers if isinstance(error, HTTPException) else None
        name = {404: "not-found", 405: "method-not-allowed"}.get(status, "refused")
        problem = ProblemDocument(status, name, headers=headers or {})
        return problem_response(problem) if desk is None else desk.refuse(request, problem)

    return refuse
