"""What each page declares beside its endpoint: its permission before all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from duetime.admin.declarations import (
    PUBLIC,
    READ_LIMIT_SECONDS,
    Endpoint,
    Needed,
    RouteDeclaration,
    RouteTable,
)

if TYPE_CHECKING:
    from duetime.admin.pages.page import FramedPage
    from duetime.admin.pages.places import PlaceName

ShowPage = Callable[..., Awaitable[Response]]
BuildView = Callable[["FramedPage"], Awaitable[Any]]
FORM_PAGE_ATTRIBUTE = "form_page"


@dataclass(frozen=True, slots=True)
class LiveView:
    """The part of a page that scripts keep up to date: a template of elements with ids, what builds
    the value `view` that it shows, and the path of the page. Readers who may see the same share a
    value for `every` seconds."""

    needs: Needed
    template: str
    build: BuildView
    path: str
    every: float


class PageTable(RouteTable):
    """The pages of a noun, and the acts of their forms, in the order in which they are tried."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[PlaceName, ShowPage]] = []
        self.live_views: dict[str, LiveView] = {}

    def show(
        self,
        path: str,
        needs: Needed,
        *,
        place: PlaceName | None = None,
        limit: float | None = READ_LIMIT_SECONDS,
        polled: bool = False,
    ) -> Callable[[Endpoint], Endpoint]:
        """Declare a page that is read, and changes nothing. The navigation leads to a `place`."""
        add = self.add(
            RouteDeclaration(
                method="GET", path=path, needs=needs, answers={}, limit=limit, polled=polled
            )
        )

        def declare(endpoint: Endpoint) -> Endpoint:
            if place is not None:
                self.places.append((place, endpoint))
            return add(endpoint)

        return declare

    def act(
        self, path: str, needs: Needed, *, on: ShowPage | None = None
    ) -> Callable[[Endpoint], Endpoint]:
        """Declare what a form does. It holds the page's `form_token`. `on` shows the page of the
        form, again if what was sent is not valid."""
        add = self.add(
            RouteDeclaration(method="POST", path=path, needs=needs, answers={}, takes_body=True)
        )

        def declare(endpoint: Endpoint) -> Endpoint:
            setattr(endpoint, FORM_PAGE_ATTRIBUTE, on)
            return add(endpoint)

        return declare

    def follow(self, path: str) -> Callable[[Endpoint], Endpoint]:
        """Declare what the button of a page does whose path has a token that nobody else knows.
        Programs that read mails may send it, too: what a form holds is not read."""
        return self.add(
            RouteDeclaration(method="POST", path=path, needs=PUBLIC, answers={}, proven=True)
        )

    def live(
        self, name: str, needs: Needed, template: str, path: str, *, every: float = 1.0
    ) -> Callable[[BuildView], BuildView]:
        """Declare what builds the live part of the page at `path`, which `/live?view=name` answers
        with. Arguments of the path are in its query."""

        def declare(build: BuildView) -> BuildView:
            self.live_views[name] = LiveView(needs, template, build, path, every)
            return build

        return declare
