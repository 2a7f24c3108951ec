"""The fixtures of these tests."""

import pytest

from browser.chromium import chromium, open_tab
from browser.shop import postgres_shop, shop, sqlite_shop, tab

__all__ = ["chromium", "open_tab", "postgres_shop", "shop", "sqlite_shop", "tab"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the browser, so that `make test` leaves it to `make browser`."""
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)
