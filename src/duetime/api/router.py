"""Routers: declarations of modules that have no app at hand, included into apps later."""

from __future__ import annotations

from duetime.api.declarations import Declarations
from duetime.api.registrar import Declare, Registrar, RouterDeclarations, Site
from duetime.errors import ConfigError, shown
from duetime.events.bus import Events
from duetime.model.payloads.registry import Payloads
from duetime.registry.handlers import Handlers
from duetime.registry.jobs import DeclaredJobs
from duetime.registry.middleware import Middleware, refuse_repeated


class IncludesRouters(Declarations):
    """What an app and a router declare, and the routers that they include."""

    def include(self, router: Router) -> None:
        """Add everything that a router declares, or nothing if any of it is refused. A router may
        be included in several apps, once in each; it is complete once it is included."""
        if not isinstance(router, Router):
            raise ConfigError(
                f"{shown(router)} is not a router: give the duetime.Router() of a module"
            )
        if router is self:
            raise ConfigError("a router cannot include itself")
        site = Site.of_caller()
        self._declare(site, lambda to: to.include(router.declared, site))
        router.complete(site)


class Router(IncludesRouters):
    """Declares handlers, jobs, payloads and subscribers for apps that include it.

    Arguments are checked at once. What depends on the app is checked when an app includes the
    router: kinds and names that are taken, types that the app provides, transactions of its store.
    """

    def __init__(self) -> None:
        payloads = Payloads()
        self._registrar = Registrar(
            payloads=payloads,
            handlers=Handlers(payloads, complete=False),
            jobs=DeclaredJobs(),
            events=Events(),
        )
        self.declared = RouterDeclarations()
        self._included_at: Site | None = None

    def complete(self, included_at: Site) -> None:
        """Refuse further declarations: the app that has included the router would miss them."""
        self._included_at = self._included_at or included_at

    def _declare(self, site: Site, declare: Declare) -> None:
        self._refuse_late()
        declare(self._registrar)
        self.declared.declarations.append((site, declare))

    def _add_middleware(self, site: Site, function: Middleware) -> None:
        self._refuse_late()
        refuse_repeated([*self.declared.middleware, function])
        self.declared.middleware.append(function)

    def _refuse_late(self) -> None:
        if self._included_at is not None:
            raise ConfigError(
                f"this router was included already, at {self._included_at}, where this "
                "declaration would be missing: declare first, include afterwards"
            )
