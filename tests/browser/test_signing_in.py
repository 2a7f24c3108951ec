"""Signing in and out in a browser: by key, by link, and with cookies that scripts cannot read."""

import asyncio

import pytest
from playwright.sync_api import expect

from browser.chromium import OpenTab
from browser.shop import Shop, in_another_thread, signed_in
from duetime.admin.identity.sign_in import make_link
from duetime.model.ids import TimeOrderedIds

pytestmark = pytest.mark.main


def test_by_key_and_out_again(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    tab = open_tab(sqlite_shop.address)
    page = tab.open("/queues")
    page.get_by_label("API key").fill("dt_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("API key").fill(sqlite_shop.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1, name="Queues")).to_be_visible()
    assert "duetime=" not in page.evaluate("document.cookie")
    page.get_by_role("button", name="Sign out").click()
    tab.open("/queues")
    expect(page.get_by_role("heading", level=1, name="Sign in")).to_be_visible()


def test_by_a_link_once(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    link = link_of(sqlite_shop)
    page = open_tab(sqlite_shop.address).open(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="Now", exact=True)).to_be_visible()
    other = open_tab(sqlite_shop.address).open(link)
    other.get_by_role("button", name="Sign in").click()
    expect(other.get_by_role("alert")).to_be_visible()


def test_another_reader_is_not_signed_in(open_tab: OpenTab, sqlite_shop: Shop) -> None:
    signed_in(open_tab(sqlite_shop.address), sqlite_shop)
    page = open_tab(sqlite_shop.address).open("/actions")
    expect(page.get_by_role("heading", level=1, name="Sign in")).to_be_visible()


def link_of(shop: Shop) -> str:
    """The path of a new one-time link."""
    made = make_link(shop.app.store, TimeOrderedIds(), "ann")
    return f"/sign-in?link={in_another_thread(lambda: asyncio.run(made))}"
