"""The methods of an app that make its administration. Importing this loads no web framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from fastapi import APIRouter

    from duetime.admin.identity.authenticator import Identify
    from duetime.admin.identity.oidc import Oidc
    from duetime.api.setup import CurrentSetup
    from duetime.app import Duetime

# Frameworks and servers each have types of their own for the scope, the receiver and the sender. A
# callable with those of one, such as Starlette's, could not be passed to another, such as a2wsgi.
ASGIApp = Callable[[Any, Any, Any], Awaitable[None]]


class Administered:
    """An app that can be administered over HTTP."""

    _setup: CurrentSetup

    def admin(
        self,
        *,
        identify: Identify | None = None,
        oidc: Oidc | None = None,
        admin_roles: Collection[str] = (),
        prefix: str | None = None,
        tag: str | None = None,
        required_role: str | None = None,
        dashboard: bool = True,
        development: bool = False,
        base_url: str | None = None,
        trace_url: str | None = None,
    ) -> ASGIApp:
        """The HTTP API and its pages as an ASGI application, to mount or to serve.

        Requests are known by API keys; besides, `oidc` names a provider of tokens, and
        `identify(request)` says who sends a request: an Identity, or None. Roles in `admin_roles`
        may do everything; `required_role` is needed beside each permission. `dashboard=False`
        leaves the pages out. `development=True` lets everybody on this machine do everything.
        Pages link to the trace of an action at `trace_url`, such as
        "https://jaeger.example/trace/{trace_id}".
        """
        from duetime.admin.asgi import AdminArguments, make_admin

        arguments = AdminArguments(
            identify,
            oidc,
            admin_roles,
            prefix,
            tag,
            required_role,
            development,
            base_url,
            trace_url,
        )
        return make_admin(cast("Duetime", self), self._setup, arguments, dashboard=dashboard)

    def admin_router(
        self,
        *,
        identify: Identify | None = None,
        oidc: Oidc | None = None,
        admin_roles: Collection[str] = (),
        prefix: str | None = None,
        tag: str | None = None,
        required_role: str | None = None,
        development: bool = False,
        base_url: str | None = None,
    ) -> APIRouter:
        """The HTTP API as a FastAPI router, for `include_router`: its routes then stand in the
        host's OpenAPI document. Takes the arguments of `admin`."""
        from duetime.admin.asgi import AdminArguments, make_admin_router

        arguments = AdminArguments(
            identify, oidc, admin_roles, prefix, tag, required_role, development, base_url
        )
        return make_admin_router(cast("Duetime", self), self._setup, arguments)
