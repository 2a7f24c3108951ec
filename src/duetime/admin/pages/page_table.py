"""What each page declares beside its endpoint: its permission before all."""

from __future__ import annotations

from collections.abc import Callable

from duetime.admin.declarations import (
    READ_LIMIT_SECONDS,
    Endpoint,
    Needed,
    RouteDeclaration,
    RouteTable,
)


class PageTable(RouteTable):
    """The pages of a noun, and the acts of their forms, in the order in which they are tried."""

    def show(
        self, path: str, needs: Needed, *, limit: float | None = READ_LIMIT_SECONDS
    ) -> Callable[[Endpoint], Endpoint]:
        """Declare a page that is read, and changes nothing."""
        return self.add(
            RouteDeclaration(method="GET", path=path, needs=needs, answers={}, limit=limit)
        )

    def act(self, path: str, needs: Needed) -> Callable[[Endpoint], Endpoint]:
        """Declare what a form does. It holds the page's `form_token`."""
        return self.add(
            RouteDeclaration(method="POST", path=path, needs=needs, answers={}, takes_body=True)
        )
