"""Shortcuts, as the help lists them."""

import pytest
from playwright.sync_api import expect

from browser.chromium import OpenTab
from browser.page_paths import PLACES
from browser.shop import Shop, signed_in

pytestmark = pytest.mark.main


def test_help_search_rows_and_places(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    tab = signed_in(open_tab(sqlite_shop.address), sqlite_shop)
    page = tab.open("/actions")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    first = page.locator("[data-rows] tbody tr").first
    expect(first.locator("a").first).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
    page.keyboard.type("customer-7")
    page.keyboard.press("Enter")
    expect(page.locator("[data-rows] tbody tr")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="broken")).to_be_visible()
    for place in PLACES:
        # Keys that are pressed before the page's script listens lead nowhere, as for people.
        page.wait_for_load_state("load")
        page.keyboard.press("g")
        page.keyboard.press(place.key)
        expect(page.locator(".rail [aria-current=page]")).to_have_attribute("data-key", place.key)


def test_letters_that_are_typed_are_no_shortcuts(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    page = signed_in(open_tab(sqlite_shop.address), sqlite_shop).open("/actions")
    page.keyboard.press("/")
    page.keyboard.type("?gq/")
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("?gq/")
    expect(page.get_by_role("dialog")).to_have_count(0)
