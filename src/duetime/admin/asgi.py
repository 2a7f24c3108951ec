"""The ASGI application of an administration, and the router for a host's own application."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from duetime.config import check_setting
from duetime.errors import ConfigError

try:
    from fastapi import APIRouter, FastAPI
except ImportError as missing:
    raise ConfigError("app.admin() needs FastAPI: pip install 'duetime[api]'") from missing
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from duetime.admin.desk import Desk, problem_response
from duetime.admin.gate import Gate
from duetime.admin.identity.authenticator import (
    AuthenticationOptions,
    Identify,
    RequestAuthenticator,
)
from duetime.admin.identity.oidc import Oidc
from duetime.admin.identity.refusals import Refusals
from duetime.admin.problems import ProblemDocument
from duetime.admin.router import make_router
from duetime.model.access.identity import to_roles

if TYPE_CHECKING:
    from duetime.api.setup import CurrentSetup
    from duetime.app import Duetime


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


def make_admin(app: Duetime, setup: CurrentSetup, arguments: AdminArguments) -> FastAPI:
    """Return the application. It needs no lifespan: the store opens with the first request that
    needs it."""
    asgi = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    asgi.include_router(make_admin_router(app, setup, arguments))
    asgi.add_exception_handler(HTTPException, _answer_elsewhere)
    return asgi


def make_admin_router(app: Duetime, setup: CurrentSetup, arguments: AdminArguments) -> APIRouter:
    prefix = _setting(app, "route_prefix", arguments.prefix)
    base_url = _setting(app, "base_url", arguments.base_url)
    options = AuthenticationOptions(
        admin_roles=to_roles(arguments.admin_roles),
        oidc=arguments.oidc,
        identify=arguments.identify,
        development=arguments.development,
        trusted_proxies=app.settings.trusted_proxies,
    )
    gate = Gate(
        RequestAuthenticator(lambda: app.store, app.clock, options),
        Refusals(lambda: app.store, app.clock),
        required_role=_setting(app, "required_role", arguments.required_role),
        base_url=base_url,
    )
    return make_router(
        Desk(app, setup, gate), prefix=prefix, tag=_setting(app, "tag", arguments.tag)
    )


def _setting(app: Duetime, name: str, given: object) -> Any:
    """Return what was given, checked, or else what the app's settings say."""
    return getattr(app.settings, name) if given is None else check_setting(name, given)


async def _answer_elsewhere(request: Request, error: Exception) -> Response:
    """Answer for paths outside of the API."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    name = {404: "not-found", 405: "method-not-allowed"}.get(status, "refused")
    return problem_response(ProblemDocument(status, name))
