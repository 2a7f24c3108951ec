"""The paths of all pages, as the tables of the pages declare them."""

from duetime.admin.declarations import RouteDeclaration, declaration_of
from duetime.admin.pages.page_table import LiveView
from duetime.admin.pages.places import Place
from duetime.admin.pages.router import ALL_PAGES, live_views, places

# Answers that are no pages.
NO_PAGES = ("/static/", "/live", "/export")


def declared_pages() -> list[RouteDeclaration]:
    found = [declaration_of(endpoint) for table in ALL_PAGES for endpoint in table.endpoints]
    return [
        declaration
        for declaration in found
        if declaration.method == "GET"
        and declaration.exists
        and not any(part in declaration.path for part in NO_PAGES)
    ]


# As they are declared: `/actions/{id}` stands for each of them.
PAGE_PATHS: list[str] = [declaration.path for declaration in declared_pages()]
PLACES: list[Place] = places()
VIEWS: dict[str, LiveView] = live_views()
